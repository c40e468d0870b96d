"""Which notes were renamed, by what they say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgrecall.importers.markdown.renames import renamed_keys

NAMES = st.text("abc/", min_size=1, max_size=6)
PARTS = st.sets(st.sampled_from(["", "#one", "#two"]), min_size=1)


def test_a_note_and_its_parts_are_renamed_together() -> None:
    gone = {"yard": "The yard.", "yard#ropes": "Tar.", "tide": "The tide."}
    new = {"dock/yard": "The yard.", "dock/yard#ropes": "Tar.", "ebb": "The tide, edited."}
    assert renamed_keys(gone, new) == {"yard": "dock/yard", "yard#ropes": "dock/yard#ropes"}


def test_a_note_of_which_a_part_changed_is_not_renamed() -> None:
    assert renamed_keys({"a": "x", "a#p": "y"}, {"b": "x", "b#p": "z"}) == {}
    assert renamed_keys({"a": "x", "a#p": "y"}, {"b": "x", "b#q": "y"}) == {}


def test_notes_with_the_same_text_are_not_told_apart() -> None:
    assert renamed_keys({"a": "x", "b": "x"}, {"c": "x"}) == {}
    assert renamed_keys({"a": "x"}, {"b": "x", "c": "x"}) == {}


@given(st.dictionaries(NAMES, PARTS, max_size=8))
def test_a_moved_folder_is_found_whole(notes: dict[str, set[str]]) -> None:
    keys = [name + part for name, parts in notes.items() for part in parts]
    gone = {key: f"what {key} says" for key in keys}
    new = {f"moved/{key}": said for key, said in gone.items()}
    assert renamed_keys(gone, new) == {key: f"moved/{key}" for key in keys}


@given(st.dictionaries(NAMES, st.sampled_from("xyz")), st.dictionaries(NAMES, st.sampled_from("xyz")))
def test_each_new_key_has_the_text_and_is_given_once(gone: dict[str, str], new: dict[str, str]) -> None:
    found = renamed_keys(gone, new)
    assert all(gone[old] == new[key] for old, key in found.items())
    assert len(set(found.values())) == len(found)
