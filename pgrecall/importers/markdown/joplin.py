"""What Joplin exports as RAW: a file for each item, named by its id, with the fields of it at the end.

Notebooks, tags and attachments are items too, and so is each tag that a note has been given.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pgrecall.importers.encodings import decode
from pgrecall.importers.fields import ANY, Fields, Rules
from pgrecall.importers.files import MAX_BYTES, open_within
from pgrecall.importers.markdown.front_matter import FrontMatter
from pgrecall.importers.text import one_line, unique

OTHER_ITEMS = "notebooks, tags and attachments of Joplin, passed over"

_NAME = re.compile("[0-9a-f]{32}")
_FIELD = re.compile(r"([a-z_]+):(?: (.*))?")
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]+)\]\(:/([0-9a-f]{32})[^()\n]*\)")
_NOTE, _NOTE_TAG = "1", "6"
_KEPT = ("source_url", "todo_due", "todo_completed")
_NOTEBOOK = "notebook"


class Item(NamedTuple):
    """An item; its title is the first line of its text."""

    title: str
    body: str
    fields: dict[str, str]

    @property
    def is_note(self) -> bool:
        """Whether it is a note."""
        return self.fields["type_"] == _NOTE


def item_in(text: str, stem: str) -> Item | None:
    """The item in a file with this name; None if it is none."""
    if _NAME.fullmatch(stem) is None:
        return None
    rows = text.rstrip().split("\n")
    fields: dict[str, str] = {}
    while rows and (field := _FIELD.fullmatch(rows[-1])):
        fields[field[1]] = field[2] or ""
        rows.pop()
    if fields.get("id") != stem or "type_" not in fields:
        return None
    title, _, body = "\n".join(rows).partition("\n")
    return Item(one_line(title), body.strip("\n"), fields)


def read_item(item: Item, rules: Rules = ANY) -> tuple[FrontMatter, str]:
    """The fields of a note as front matter, and its text. Raises ValueError for what is no note to read."""
    if not item.is_note:
        raise ValueError("it is a notebook, a tag or an attachment of Joplin, and no note")
    if item.fields.get("encryption_applied") == "1":
        raise ValueError("it is encrypted; switch encryption off in Joplin, and export it again")
    fields = Fields({name: value for name, value in item.fields.items() if value}, rules)
    metadata = {name: item.fields[name] for name in _KEPT if item.fields.get(name, "0") not in ("", "0")}
    front = FrontMatter(
        title=item.title or None,
        author=fields.take("author"),
        occurred_at=fields.take("occurred_at", "user_created_time", "created_time"),
        metadata=metadata | {_NOTEBOOK: item.fields.get("parent_id", "")},
    )
    return front, _LINK.sub(r"[[\2|\1]]", item.body)


class Joplin:
    """The notebooks and tags of an export, by which its notes are completed."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._tags: dict[str, list[str]] = {}

    def takes(self, path: Path, root: Path | None) -> bool:
        """Whether a file, within ``root`` if that is given, is an item that is no note; it is remembered."""
        if _NAME.fullmatch(path.stem) is None:
            return False
        try:
            with open_within(path, root) as file:
                item = item_in(decode(file.read(MAX_BYTES)).text, path.stem)
        except (OSError, ValueError):  # the importer of notes reports it
            return False
        if item is None or item.is_note:
            return False
        if item.fields["type_"] == _NOTE_TAG:
            self._tags.setdefault(item.fields.get("note_id", ""), []).append(item.fields.get("tag_id", ""))
        self._items[path.stem] = item
        return True

    def completed(self, front: FrontMatter, stem: str) -> FrontMatter:
        """The fields of a note with its tags, and the names of its notebook and of those above it."""
        if _NAME.fullmatch(stem) is None or _NOTEBOOK not in front.metadata:
            return front
        names: list[str] = []
        at = self._items.get(front.metadata[_NOTEBOOK])
        while at is not None and len(names) < len(self._items):
            names.insert(0, at.title)
            at = self._items.get(at.fields.get("parent_id", ""))
        metadata = dict(front.metadata) | ({_NOTEBOOK: " / ".join(names)} if names else {})
        tags = [self._items[tag].title for tag in self._tags.get(stem, ()) if tag in self._items]
        return replace(front, tags=unique([*front.tags, *tags]), metadata=metadata)
