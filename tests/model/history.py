"""What the oracle keeps of the past: versions and the log of changes, as howto/history.md tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

SAID = ("title", "body", "role", "author", "tags", "aliases", "metadata", "occurred_at", "valid_from",
        "valid_until")  # fmt: skip
"""What a version holds."""

UNSAID = ("layer", "context", "source", "session_id", "expires_at")
"""What a rewriting can change besides."""

EMPTY: Mapping[str, Any] = {"title": "", "tags": [], "aliases": [], "metadata": {}}
KEPT = 20
"""Versions besides the present."""


def stored_fields(draft: Mapping[str, Any]) -> dict[str, Any]:
    """What a draft says, field by field."""
    return {name: draft.get(name) or EMPTY.get(name) for name in SAID}


@dataclass(frozen=True)
class Version:
    """What a memory said, since when and until when; nobody is recorded of what it said first."""

    number: int
    fields: Mapping[str, Any]
    written_at: datetime
    written_through: str | None
    replaced_at: datetime | None = None


@dataclass
class Past:
    """The versions of one memory, oldest first; the present is not among them."""

    since: datetime
    through: str | None = None
    versions: list[Version] = field(default_factory=list)

    def present(self, draft: Mapping[str, Any]) -> Version:
        number = self.versions[-1].number + 1 if self.versions else 1
        return Version(number, stored_fields(draft), self.since, self.through)

    def replace(
        self, draft: Mapping[str, Any], now: datetime, face: str, *, delete_oldest: bool = True
    ) -> None:
        """Keeps what this draft says, which another is about to replace."""
        old = self.present(draft)
        self.versions.append(
            Version(old.number, old.fields, old.written_at, old.written_through, replaced_at=now)
        )
        if delete_oldest:
            del self.versions[:-KEPT]
        self.since, self.through = now, face

    def take_back(self, draft: Mapping[str, Any], since: datetime) -> bool:
        """Drops the newest version if it says what this draft says and was kept at ``since`` or later."""
        if not self.versions or self.versions[-1].fields != stored_fields(draft):
            return False
        newest = self.versions[-1]
        if newest.replaced_at is None or newest.replaced_at < since:
            return False
        del self.versions[-1]
        self.since, self.through = newest.written_at, newest.written_through
        return True

    def then(self, draft: Mapping[str, Any], moment: datetime) -> Mapping[str, Any]:
        """What it said at a moment, or the oldest that is kept of the time after."""
        ended = ((each.replaced_at, each.fields) for each in self.versions)
        return next(
            (fields for end, fields in ended if end is not None and end > moment), stored_fields(draft)
        )


@dataclass(frozen=True)
class Change:
    """One line of the log."""

    at: datetime
    kind: str
    id: int
    other: int | None = None
    zone: str | None = None

    @property
    def order(self) -> tuple[datetime, str, int]:
        """Changes of one call have one time; their order among each other is not told."""
        return self.at, self.kind, self.id


@dataclass
class Changes:
    """All changes of a tenant, and those that its reader has not read."""

    log: list[Change] = field(default_factory=list)
    unread: list[Change] = field(default_factory=list)

    def add(self, kind: str, ids: Iterable[int], at: datetime, other: int | None = None) -> None:
        for one in ids:
            self.note(Change(at, kind, one, other))

    def note(self, change: Change) -> None:
        self.log.append(change)
        self.unread.append(change)

    def delete(self, memory_id: int, at: datetime) -> None:
        """Of what is deleted for good only this is left."""
        for kept in (self.log, self.unread):
            kept[:] = [change for change in kept if change.id != memory_id]
        self.add("deleted", [memory_id], at)
