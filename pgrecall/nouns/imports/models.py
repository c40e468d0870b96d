"""Imports that are kept, so that they can be undone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import of a source did when it ran, in memories. One that changed nothing is not kept.

    Attributes:
        id: its id, to undo it.
        source: the source that it imported.
        started_at: when its first change was stored.
        created: memories that it stored.
        changed: memories that it gave other texts or fields.
        archived: memories that it archived, because the source no longer held them.
        undone_at: when it was undone; None if it was not.
    """

    id: int
    source: str
    started_at: datetime
    created: int
    changed: int
    archived: int
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class UnusedImport:
    """A memory that an import added and that was never used since."""

    id: int
    key: str | None
    title: str
    source: str
    imported_at: datetime


@dataclass(frozen=True, slots=True)
class KeysRenamed:
    """How many memories an import gave new keys, and its id; None if nothing was noted yet."""

    renamed: int = 0
    import_id: int | None = None


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """A memory of an undone import that stays, and why: it was changed, pinned, used or linked since.

    One that was only used or linked is archived; the note says so.
    """

    id: int
    key: str | None
    title: str
    note: str


@dataclass(frozen=True, slots=True)
class ImportUndone:
    """The outcome of undoing an import, in memories.

    Attributes:
        id: the id of the import.
        source: its source.
        deleted: memories that it had created, and nothing has used or changed since.
        archived: memories that it had created, and that were used or linked since.
        given_back: memories with the text, fields and key from before the import.
        restored: memories that the import had archived.
        kept: memories that stay as they are, or are archived instead of deleted, each with the reason.
    """

    id: int
    source: str
    deleted: int
    archived: int
    given_back: int
    restored: int
    kept: tuple[KeptMemory, ...]
