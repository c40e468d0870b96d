"""Admission: so many requests are worked on at once, so many wait for their turn, and no more."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.exceptions import HTTPException

LONGEST_RETRY = 30
"""Seconds: whoever is told to come back later than that does not."""

_FORGETTING = 0.1
"""Weight of the newest request in the running mean of durations."""


class Admission:
    """Places to work at, first come, first served.

    Args:
        places: requests that are worked on at once.
        queue: requests that may wait beyond these.
        patience: seconds one of them may wait.
    """

    def __init__(self, places: int, queue: int, patience: float) -> None:
        self.working = 0
        self.waiting = 0
        self.refused = 0
        self._places = places
        self._queue = queue
        self._patience = patience
        self._mean = 0.0
        self._free = asyncio.Semaphore(places)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place to work at.

        Raises:
            HTTPException: 503 with Retry-After: too many wait already, or it waited too long.
        """
        await self._turn()
        self.working += 1
        began = time.monotonic()
        try:
            yield
        finally:
            self._mean += _FORGETTING * (time.monotonic() - began - self._mean)
            self.working -= 1
            self._free.release()

    async def _turn(self) -> None:
        if self._free.locked() and self.waiting >= self._queue:
            raise self._refusal(f"{self.working} requests are worked on and {self.waiting} wait.")
        self.waiting += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            raise self._refusal(f"No place to work at became free in {self._patience:g} seconds.") from None
        finally:
            self.waiting -= 1

    def _refusal(self, why: str) -> HTTPException:
        self.refused += 1
        seconds = math.ceil(self._mean * (self.waiting + 1) / self._places)
        retry = str(min(max(seconds, 1), LONGEST_RETRY))
        return HTTPException(503, f"{why} Ask again in {retry} seconds.", {"Retry-After": retry})
