"""What the oracle notes of one memory and of one link."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.oracle.history import Past
from tests.oracle.spread import Received
from tests.oracle.vitality import Event


@dataclass
class Noted:
    """A memory: its newest draft, and what happened to it."""

    id: int
    draft: dict[str, Any]
    created: datetime
    log: list[Event]
    past: Past
    embedded: bool = False
    received: list[Received] = field(default_factory=list)
    pinned: bool = False
    archived: datetime | None = None
    superseded_by: int | None = None
    superseded_at: datetime | None = None
    history: list[tuple[datetime, bool]] = field(default_factory=list)
    """When it was archived (True) and came back (False)."""
    zone_seen: str | None = None
    """Its zone when the job `vitality` last ran."""

    @property
    def key(self) -> str:
        return str(self.draft["key"])

    @property
    def layer(self) -> str:
        return str(self.draft["layer"])

    @property
    def happened(self) -> datetime:
        return self.draft.get("occurred_at") or self.created

    @property
    def born(self) -> datetime:
        return self.log[0].at

    def valid(self, now: datetime, archived: bool) -> bool:
        """Within its period, and not past the time at which it is to be archived, unless it is archived."""
        begin = self.draft.get("valid_from")
        expires = None if archived else self.draft.get("expires_at")
        ends = (self.draft.get("valid_until"), expires)
        return (begin is None or begin <= now) and all(end is None or now < end for end in ends)

    def archive(self, now: datetime, gone: bool) -> None:
        self.archived = now if gone else None
        self.history.append((now, gone))

    def was_archived(self, then: datetime) -> bool:
        return next((gone for at, gone in reversed(self.history) if at <= then), False)


@dataclass(frozen=True)
class Linked:
    """A link, and when it was made."""

    source: int
    target: int
    relation: str
    at: datetime
    merged_from: int | None = None
    """The memory whose link this is a copy of, for its keeper."""
