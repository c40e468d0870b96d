"""Editing on the page, without a browser: what is saved is a version, which an undo restores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pgrecall import Memory
from tests.acceptance.http.http_tools import Served, member
from tests.acceptance.page.page_tools import Page, sent
from tests.acceptance.page.test_page_actions import followed, note, shown


@pytest.fixture(scope="module")
def memory(url: str, served: Served) -> Iterator[Memory]:
    with member(url) as client:
        yield client


def test_a_text_is_edited_and_taken_back(served: Served, memory: Memory) -> None:
    number = note(memory, "ferry", "The ferry leaves at seven.\n\nAlways.", tags=("boats", "times"))
    before = memory.get(number)
    form = shown(served, f"/edit/{number}").form(f"/edit/{number}")
    assert form.fields["body"] == before.body
    assert form.fields["tags"] == "boats, times"
    typed = {
        "body": "The ferry leaves at eight.\r\n\r\nAlways.",
        "tags": "boats",
        "author": "Mira",
        "layer": "episodic",
        "expires_at": "2099-01-01 08:30",
    }
    saved = followed(served, sent(served.client, form, **typed))
    assert "Saved. See what changed" in saved.said
    after = memory.get(number)
    assert (after.body, after.tags, after.author, after.layer) == (
        "The ferry leaves at eight.\n\nAlways.",
        ("boats",),
        "Mira",
        "episodic",
    )
    undone = followed(served, sent(served.client, saved.form(f"/restore/{number}")))
    assert "Earlier version restored." in undone.said
    back = memory.get(number)
    for name in ("body", "title", "tags", "author", "metadata", "layer", "occurred_at", "expires_at"):
        assert getattr(back, name) == getattr(before, name), name
    assert [version.number for version in memory.history.versions(number)] == [3, 2, 1], (
        "it is a version itself"
    )
    followed(served, sent(served.client, undone.form(f"/restore/{number}")))
    again = memory.get(number)
    assert (again.body, again.layer, again.expires_at) == (after.body, after.layer, after.expires_at)


def test_an_edit_of_what_no_version_keeps_is_taken_back_too(served: Served, memory: Memory) -> None:
    number = note(memory, "lock")
    form = shown(served, f"/edit/{number}").form(f"/edit/{number}")
    saved = followed(served, sent(served.client, form, layer="episodic"))
    assert memory.get(number).layer == "episodic"
    assert "See what changed" not in saved.said, "no version was made"
    followed(served, sent(served.client, saved.form(f"/edit/{number}")))
    assert memory.get(number).layer == "knowledge"
    unchanged = followed(
        served, sent(served.client, form, expected=memory.get(number).updated_at.isoformat())
    )
    assert "No changes to save." in unchanged.said


def test_without_versions_an_edit_is_saved_and_has_no_undo(served: Served, memory: Memory) -> None:
    number = note(memory, "weir")
    memory.settings.set("versions.per_memory", 0)
    try:
        form = shown(served, f"/edit/{number}").form(f"/edit/{number}")
        saved = followed(served, sent(served.client, form, body="Written anew."))
    finally:
        memory.settings.reset("versions.per_memory")
    assert "Saved." in saved.said
    assert not [form for form in saved.forms if form.action == f"/restore/{number}"]


def test_versions_are_read_compared_and_restored(served: Served, memory: Memory) -> None:
    number = note(memory, "sluice", "The sluice opens at seven.\nIt is made of oak.", tags=("gates",))
    assert "Versions" not in shown(served, f"/memories/{number}").said, "there is but one"
    memory.edit(number, body="The sluice opens at eight.\nIt is made of oak.", tags=("gates", "times"))
    memory.edit(number, body="The sluice is closed.")
    page = shown(served, f"/memories/{number}")
    links = [element.attributes["href"] for element in page.all("a")]
    assert f"/versions/{number}/2" in links
    listed = shown(served, f"/versions/{number}")
    assert "Version 3 current" in listed.said
    first = shown(served, f"/versions/{number}/1")
    assert "The sluice opens at seven." in first.said
    assert "Differences from the current version" in first.said
    second = shown(served, f"/versions/{number}/1?with=2")
    assert "only before: seven only after: eight" in second.said
    assert "was: gates is: gates, times" in second.said
    present = shown(served, f"/versions/{number}/3")
    assert "Differences from version 2" in present.said
    assert not [form for form in present.forms if form.action.startswith("/restore")]
    back = followed(served, sent(served.client, first.form(f"/restore/{number}")))
    assert "Earlier version restored." in back.said
    assert memory.get(number).body == "The sluice opens at seven.\nIt is made of oak."
    stale = Page(sent(served.client, first.form(f"/restore/{number}")))
    assert stale.status == 422
    assert "so nothing was restored" in stale.said
    for path in (
        f"/versions/{number}/9",
        f"/versions/{number}/1?with=9",
        f"/versions/{number}/x",
        "/versions/0",
    ):
        assert served.client.get(path).status_code == 404, path
    assert served.client.get(f"/versions/{number}/1?with=x").status_code == 422


def test_an_edit_does_not_overwrite_what_somebody_else_saved(served: Served, memory: Memory) -> None:
    number = note(memory, "tide")
    form = shown(served, f"/edit/{number}").form(f"/edit/{number}")
    memory.edit(number, body="Somebody else was faster.")
    answer = sent(served.client, form, body="Mine.")
    page = Page(answer)
    assert answer.status_code == 422
    assert "was changed while you edited it" in page.said
    assert page.form(f"/edit/{number}").fields["body"] == "Mine.", "what was typed is kept"
    assert memory.get(number).body == "Somebody else was faster."


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"metadata": "{"}, "The metadata is not JSON."),
        ({"metadata": "[1]"}, "The metadata is not a JSON object."),
        ({"metadata": "[" * 5000}, "The metadata is not JSON."),
        ({"occurred_at": "yesterday"}, "Occurred at:"),
        ({"layer": "attic"}, "attic"),
        ({"body": "", "title": ""}, "body"),
    ],
)
def test_an_edit_that_cannot_be_saved_keeps_what_was_typed(
    served: Served, memory: Memory, typed: dict[str, str], said: str
) -> None:
    number = note(memory, "bad-edit")
    form = shown(served, f"/edit/{number}").form(f"/edit/{number}")
    answer = sent(served.client, form, **typed)
    assert answer.status_code == 422
    page = Page(answer)
    assert said in page.said
    again = page.form(f"/edit/{number}").fields
    assert all(again[name] == value for name, value in typed.items() if name != "layer")
