"""Versions of memories, differences between two versions, and changes in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

ChangeKind = Literal[
    "new", "rewritten", "archived", "restored", "superseded", "merged", "deleted", "risen", "faded"
]
WordChange = Literal["same", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Version:
    """The text and fields of a memory from ``written_at`` to ``replaced_at`` (None for the current version).

    Attributes:
        number: counted from 1 for each memory; the current version has the highest.
        title: its title.
        body: its text.
        role: the role of its author in a conversation.
        author: who said or wrote it.
        tags: its tags.
        aliases: its other names.
        metadata: its metadata.
        occurred_at: when it happened.
        valid_from: start of its validity.
        valid_until: end of its validity.
        written_at: when this version was written.
        written_by: the login role that wrote it; None if that was not recorded.
        written_through: the interface that wrote it: client, cli, http, mcp, page or sql; None if that was
            not recorded.
        replaced_at: when the next version was written; None for the current one.
    """

    number: int
    title: str
    body: str
    role: str | None
    author: str | None
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]
    occurred_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    written_at: datetime
    written_by: str | None
    written_through: str | None
    replaced_at: datetime | None


@dataclass(frozen=True, slots=True)
class DiffRun:
    """A run of words that both texts have, or one of them.

    Attributes:
        change: ``same``, ``removed`` from the earlier text, or ``added`` by the later one.
        text: the words, including the spaces between them.
    """

    change: WordChange
    text: str


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field in which two versions of a memory differ.

    Attributes:
        field: its name.
        earlier: its value in the earlier version.
        later: its value in the later version.
        words: the word-by-word difference of the title or body; without the removed words it is the later
        text,
            without the added ones the earlier text. Empty for other fields.
    """

    field: str
    earlier: Any
    later: Any
    words: tuple[DiffRun, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a memory.

    Attributes:
        cursor: pass it as ``since`` to read the changes after this one.
        kind: new, rewritten, archived, restored, superseded, merged, deleted (for good), risen or faded (to
            another zone).
        id: the id of the memory.
        at: when it changed.
        key: its key now; None if it has none or is deleted.
        layer: its layer now; None if it is deleted.
        title: its title now, or the start of its text; None if it is deleted.
        zone: the zone that it rose or faded to.
        other_id: the memory that superseded it, or that it was merged into.
    """

    cursor: str
    kind: ChangeKind
    id: int
    at: datetime
    key: str | None
    layer: str | None
    title: str | None
    zone: str | None
    other_id: int | None
