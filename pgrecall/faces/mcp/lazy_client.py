"""A client that opens while the first requests are under way.

Starting the embedded server takes seconds, and editors wait for a server's first answer only so long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pgrecall import AsyncMemory
from pgrecall.errors import RecallError


class Opening:
    """A client, opened once; where that failed, tried again at the next need.

    Belongs to one event loop.
    """

    def __init__(self, open_memory: Callable[[], Awaitable[AsyncMemory]]) -> None:
        self._open = open_memory
        self._task: asyncio.Future[AsyncMemory] | None = None

    def begin(self) -> None:
        """Starts to open it, unless that is under way or done."""
        if self._task is None or (self._task.done() and self._task.exception() is not None):
            self._task = asyncio.ensure_future(self._open())

    async def memory(self) -> AsyncMemory:
        """The open client. A request that is cancelled leaves the opening be.

        Raises:
            RecallError: it cannot be opened; the next call tries again.
        """
        self.begin()
        assert self._task is not None
        return await asyncio.shield(self._task)

    async def close(self) -> None:
        """Gives back what was opened; what is being opened is called off."""
        if self._task is None:
            return
        self._task.cancel()  # without effect on what is open
        try:
            memory = await self._task
        except (RecallError, asyncio.CancelledError):
            return  # whoever asked for it was told
        await memory.close()
