"""What the book notes of one memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.model.history import Past
from tests.model.vitality import Event


@dataclass(frozen=True)
class Received:
    """A part of a use of another memory."""

    source: int
    amount: float
    at: datetime


@dataclass(frozen=True)
class Archived:
    at: datetime
    reason: str
    plan: int | None = None


@dataclass
class Noted:
    """A memory: its newest draft, and what happened to it."""

    id: int
    draft: dict[str, Any]
    created: datetime
    log: list[Event]
    past: Past
    embedded: bool = False
    pinned: bool = False
    received: list[Received] = field(default_factory=list)
    archived: Archived | None = None
    superseded_by: int | None = None
    superseded_at: datetime | None = None
    history: list[tuple[datetime, bool]] = field(default_factory=list)
    """When it was archived (True) and came back (False)."""
    zone_seen: str | None = None
    """Its zone when the job `vitality` last ran."""
    cut_size: int = 0
    """How many memories it held together when the graph was last looked at."""

    @property
    def key(self) -> str | None:
        return self.draft.get("key")

    @property
    def layer(self) -> str:
        return str(self.draft["layer"])

    @property
    def content(self) -> tuple[str, str]:
        return self.draft.get("title") or "", self.draft["body"]

    @property
    def happened(self) -> datetime:
        return self.draft.get("occurred_at") or self.created

    @property
    def born(self) -> datetime:
        """Nothing can have used it before."""
        return min(self.happened, self.created)

    def valid(self, now: datetime, archived: bool) -> bool:
        """Within its period, and not past the time at which it is to be archived, unless it is archived."""
        begin = self.draft.get("valid_from")
        expires = None if archived else self.draft.get("expires_at")
        ends = (self.draft.get("valid_until"), expires)
        return (begin is None or begin <= now) and all(end is None or now < end for end in ends)

    def archive(self, now: datetime, reason: str, plan: int | None = None) -> None:
        self.archived = Archived(now, reason, plan)
        self.history.append((now, True))

    def restore(self, now: datetime) -> None:
        self.archived = None
        self.history.append((now, False))

    def was_archived(self, then: datetime) -> bool:
        return next((gone for at, gone in reversed(self.history) if at <= then), False)
