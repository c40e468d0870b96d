"""The driver that returns what is to be awaited, for the tasks of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from pgrecall import workflows
from pgrecall.client.driver import Driver
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.database.pool import Database
from pgrecall.errors import DatabaseUnavailable
from pgrecall.operations import Operation

T = TypeVar("T")


@dataclass(slots=True)
class _Opened:
    """What a client has opened, as its views see it too."""

    url: str = ""
    database: AsyncDatabase | None = None
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)


class AsyncDriver(Driver):
    """A database that ``open`` opens, and results to be awaited."""

    def _begin(self) -> None:
        self._opened = _Opened()

    async def open(self) -> Self:
        """Finds or starts the database and makes sure that it can be used; harmless when repeated.

        ``async with`` does it. A view has nothing to open.
        """
        async with self._opened.opening:
            if self._opened.database is None and not self._is_view:
                self._opened.url = await self._prepared()
                self._opened.database = AsyncDatabase(self._opened.url, **self._ground.limits())
        return self

    async def _prepared(self) -> str:
        try:
            return await _in_thread(self._ground.prepare, lambda: None)
        except asyncio.CancelledError:
            await asyncio.to_thread(self._ground.release_server)
            raise

    async def close(self) -> None:
        """Gives back connections; the last user of an embedded server stops it. A view closes nothing."""
        if not self._is_view:
            if self._opened.database is not None:
                await self._opened.database.close()
            await asyncio.to_thread(self._ground.release)

    async def __aenter__(self) -> Self:
        try:
            return await self.open()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Any is what an awaitable of T and T itself have in common; async_memory.pyi says which it is.
    def _run(self, operation: Operation[T]) -> Any:
        return self._performed(operation)

    def _drive(self, flow: workflows.Flow[T]) -> Any:
        return self._driven(flow)

    @contextmanager
    def _job_database(self) -> Iterator[Database]:
        database = Database(self._opened.url, **self._ground.limits())
        try:
            database.open()
            yield database
        finally:
            database.close()

    async def _fetched(self, operation: Operation[T]) -> T:
        database = self._opened.database
        if database is None:
            raise DatabaseUnavailable(
                "This client is not open.", hint="Use `async with AsyncMemory(...)`, or await its open()."
            )
        return operation.read(await database.fetch(operation, tenant=self.tenant))

    async def _aside(self, step: workflows.LocalStep) -> Any:
        work = partial(self._ground.tools.answer, step)
        if isinstance(step, workflows.Aside) and step.give_up is not None:
            return await _in_thread(work, step.give_up)
        return await asyncio.to_thread(work)

    def _pool_figures(self) -> dict[str, int]:
        return {} if self._opened.database is None else self._opened.database.figures()

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _in_thread(work: Callable[[], T], give_up: Callable[[], None]) -> T:
    """Work done in a thread; a task that is cancelled meanwhile gives it up and waits until it has ended."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        give_up()
        await asyncio.wait([thread])
        raise
