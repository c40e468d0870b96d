"""Which notes of a folder were renamed: the old key is gone, and its text is there under a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

Texts = tuple[tuple[str, str], ...]
"""What a note says: the text of each part, by the part's name, in order."""


def renamed_keys(gone: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """The new keys of memories by their old ones.

    A note counts as renamed if a new one has the same parts with the same texts. If several are gone or new
    with these texts, none of them does: nothing says which is which.

    Args:
        gone: texts by key, of the notes that are gone and of all their parts.
        new: texts by key, of the notes that are new and of all their parts.
    """
    before, after = _notes_by_texts(gone), _notes_by_texts(new)
    notes = {
        before[texts][0]: after[texts][0]
        for texts in before.keys() & after.keys()
        if len(before[texts]) == len(after[texts]) == 1
    }
    return {key: notes[note] + key[len(note) :] for key in gone if (note := note_of(key)) in notes}


def note_of(key: str) -> str:
    """The key of the note that a part belongs to; of a note, its own."""
    return key.partition("#")[0]


def _notes_by_texts(texts: Mapping[str, str]) -> dict[Texts, list[str]]:
    parts: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key, text in texts.items():
        note = note_of(key)
        parts[note].append((key[len(note) :], text))
    notes: defaultdict[Texts, list[str]] = defaultdict(list)
    for note, said in parts.items():
        notes[tuple(sorted(said))].append(note)
    return notes
