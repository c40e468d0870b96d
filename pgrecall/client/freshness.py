"""How recent a replica must be, given the positions of the primary and of a client's own writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic

PAUSE_SECONDS = 5.0
"""Seconds for which a server that failed is not asked again for what another one can do."""

MARKS_PER_LIMIT = 8
"""Marks that are kept over the time for which a replica may lag."""

TENANTS_KNOWN = 10_000
"""Tenants of which a client knows when they last wrote."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in the log of the primary, in bytes, and when it had been reached at the latest."""

    at: float
    position: int


class Freshness:
    """Marks of the primary's log: a replica that has replayed one has all that was committed before it.

    So nothing depends on clocks of servers, and an idle primary makes no replica look old. May be used by
    several threads. Times are in seconds of ``clock``.

    Args:
        limit: seconds that a replica may lag.
    """

    def __init__(self, limit: float, clock: Callable[[], float] = monotonic) -> None:
        self.limit = limit
        self._clock = clock
        self._marks: list[Mark] = []
        self._written: dict[str, float] = {}
        self._paused_until: dict[str, float] = {}
        self._lock = Lock()

    def note_write(self, tenant: str) -> None:
        """Notes that this client may have written for a tenant until now."""
        with self._lock:
            if tenant not in self._written and len(self._written) >= TENANTS_KNOWN:
                # The others have written before this moment, which then counts for all.
                self._written = {"*": self._clock()}
            self._written[tenant] = self._clock()

    def needs_mark(self, tenant: str) -> bool:
        """Whether the newest mark is too old for a search of this tenant."""
        with self._lock:
            newest = self._marks[-1].at if self._marks else float("-inf")
            return newest <= max(self._clock() - self.limit / MARKS_PER_LIMIT, self._last_write(tenant))

    def now(self) -> float:
        """The time. Read it before asking the primary for its position."""
        return self._clock()

    def add(self, mark: Mark) -> None:
        """Adds a mark. Of those older than the limit one stays, by which a late replica is known."""
        with self._lock:
            before = [one for one in self._marks if one.at < mark.at]
            recent = [one for one in before if one.at > self._clock() - self.limit]
            if len(recent) > 1 and recent[-1].at - recent[-2].at < self.limit / MARKS_PER_LIMIT / 2:
                recent.pop()
            old = [one for one in before if one.at <= self._clock() - self.limit][-1:]
            self._marks = [*old, *recent, mark]

    def forget_marks(self) -> None:
        """Forgets all marks, because the primary is another one now."""
        with self._lock:
            self._marks = []

    def required_position(self, tenant: str) -> int | None:
        """The position that a replica must have replayed for a search of this tenant; None: none will do."""
        with self._lock:
            since = max(self._clock() - self.limit, self._last_write(tenant))
            return next((mark.position for mark in self._marks if mark.at > since), None)

    def staleness(self, position: int) -> float | None:
        """Seconds that an answer at a position of the log may lack at most; None if that is unknown."""
        with self._lock:
            at = next((mark.at for mark in reversed(self._marks) if mark.position <= position), None)
            return None if at is None else max(self._clock() - at, 0.0)

    def is_late(self, position: int) -> bool:
        """Whether a replica at a position certainly lags more than the limit."""
        with self._lock:
            until = self._clock() - self.limit
            return any(mark.at <= until and mark.position > position for mark in self._marks)

    def pause(self, server: str, seconds: float = PAUSE_SECONDS) -> None:
        """Stops asking a server that has just failed."""
        self._paused_until[server] = self._clock() + seconds

    def is_paused(self, server: str) -> bool:
        """Whether a server is not asked at the moment."""
        return self._clock() < self._paused_until.get(server, float("-inf"))

    def _last_write(self, tenant: str) -> float:
        return max(self._written.get(tenant, float("-inf")), self._written.get("*", float("-inf")))
