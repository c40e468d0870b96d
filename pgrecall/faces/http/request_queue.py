"""The queue of requests: how many run at once, how many wait, and the share of one tenant in both."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from pgrecall.client.concurrency import threads_left
from pgrecall.faces import wording

MAX_RETRY_AFTER = 30
"""Seconds."""

_MEAN_WEIGHT = 0.1
"""Weight of the newest request in the running mean of durations."""


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A request that waits; ``number`` is its place in the order of arrival."""

    number: int
    granted: asyncio.Future[None]


class RequestQueue:
    """Bounds the requests that run at once and those that wait for a slot, and shares both among tenants.

    A tenant alone may take ``share`` slots, and fewer while others take some. A request that waits for a
    lock cannot be moved aside, so a slot must be left for a tenant that has none. A free slot goes to the
    tenant with the fewest, and there to the request that waits longest. When too many wait, the tenant with
    the most waiting requests loses its last one.

    Requests whose tenant is not known yet count as those of one tenant, None.

    Args:
        slots: requests that run at once.
        capacity: requests that may wait beyond these.
        timeout: seconds a request may wait.
        share: slots that one tenant may take; None: all.
    """

    def __init__(self, slots: int, capacity: int, timeout: float, share: int | None = None) -> None:
        self.running = 0
        self.refused = 0
        self.refused_for_share = 0
        self.share = slots if share is None else min(share, slots)
        self._slots = slots
        self._capacity = capacity
        self._timeout = timeout
        self._mean_duration = 0.0
        self._running: Counter[str | None] = Counter()
        self._lines: dict[str | None, deque[_Turn]] = {}
        self._arrivals = 0
        self._ends: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """Requests that wait for a slot."""
        return sum(map(len, self._lines.values()))

    @property
    def waiting_for_share(self) -> int:
        """Requests that wait although a slot is free."""
        return self.waiting if self.running < self._slots else 0

    @asynccontextmanager
    async def slot(self, tenant: str | None = None) -> AsyncIterator[None]:
        """Waits for a slot and holds it. A thread that a cancelled request leaves behind holds it on.

        Raises:
            HTTPException: with Retry-After, when the queue is full or the wait times out: 429 if the tenant
                has its share, else 503.
        """
        await self._acquire(tenant)
        start = time.monotonic()
        with threads_left() as threads:
            try:
                yield
            finally:
                self._mean_duration += _MEAN_WEIGHT * (time.monotonic() - start - self._mean_duration)
                if threads:
                    end = asyncio.create_task(self._release_after(tenant, threads))
                    self._ends.add(end)
                    end.add_done_callback(self._ends.discard)
                else:
                    self._release(tenant)

    async def _acquire(self, tenant: str | None) -> None:
        if self._may_start(tenant):
            self._start(tenant)
            return
        if self.waiting >= self._capacity:
            self._make_room(tenant)
        self._arrivals += 1
        turn = _Turn(self._arrivals, asyncio.get_running_loop().create_future())
        self._lines.setdefault(tenant, deque()).append(turn)
        try:
            async with asyncio.timeout(self._timeout):
                await turn.granted
        except BaseException as error:
            granted = turn.granted
            if granted.done() and not granted.cancelled() and granted.exception() is None:
                self._release(tenant)  # it was granted and given up at the same moment
            if isinstance(error, TimeoutError):
                reason = f"No running request finished within {self._timeout:g} seconds."
                raise self._refusal(tenant, reason) from None
            raise
        finally:
            self._leave(tenant, turn)

    def _may_start(self, tenant: str | None) -> bool:
        """Whether a slot is free for a tenant: as long as it has less than its share of those left.

        Alone it reaches exactly ``share``.
        """
        free = self._slots - self.running
        return self._running[tenant] * (self._slots - self.share) < self.share * free

    def _start(self, tenant: str | None) -> None:
        self.running += 1
        self._running[tenant] += 1

    async def _release_after(self, tenant: str | None, threads: set[asyncio.Future[Any]]) -> None:
        await asyncio.wait(threads)
        self._release(tenant)

    def _release(self, tenant: str | None) -> None:
        """Ends a running request, and starts those that may run now."""
        self.running -= 1
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]
        while able := [each for each in self._lines if self._may_start(each)]:
            next_one = min(able, key=lambda each: (self._running[each], self._lines[each][0].number))
            turn = self._lines[next_one][0]
            self._leave(next_one, turn)
            if not turn.granted.done():  # else it is just being given up
                self._start(next_one)
                turn.granted.set_result(None)

    def _leave(self, tenant: str | None, turn: _Turn) -> None:
        line = self._lines.get(tenant)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._lines[tenant]

    def _make_room(self, tenant: str | None) -> None:
        """Refuses the last request of the longest line: the new one, unless another line is longer."""
        longest = max(self._lines, key=lambda each: len(self._lines[each]), default=tenant)
        running = wording.counted(self.running, "request is", "requests are")
        reason = f"{running} running and {wording.counted(self.waiting, 'is', 'are')} waiting."
        if len(self._lines.get(longest, ())) <= len(self._lines.get(tenant, ())) + 1:
            raise self._refusal(tenant, reason)
        turn = self._lines[longest][-1]
        self._leave(longest, turn)
        if not turn.granted.done():
            turn.granted.set_exception(self._refusal(longest, reason, longest_line=True))

    def _refusal(self, tenant: str | None, reason: str, *, longest_line: bool = False) -> HTTPException:
        self.refused += 1
        seconds = math.ceil(self._mean_duration * (self.waiting + 1) / self._slots)
        retry_after = str(min(max(seconds, 1), MAX_RETRY_AFTER))
        status = 503
        if tenant is not None and (longest_line or self.running < self._slots):
            self.refused_for_share += 1
            status = 429
            line = self._lines.get(tenant, ())
            reason = (
                f"Your tenant has {wording.counted(self._running[tenant], 'request')} running and "
                f"{len(line)} waiting, "
                "and the other slots are for other tenants."
            )
        return HTTPException(
            status, f"{reason} Try again in {retry_after} seconds.", {"Retry-After": retry_after}
        )
