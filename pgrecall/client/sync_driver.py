"""The driver that returns results: threads may share it."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from pgrecall import workflows
from pgrecall.client.driver import Driver
from pgrecall.database.pool import Database
from pgrecall.operations import Operation

T = TypeVar("T")


class SyncDriver(Driver):
    """An open database, and results without awaiting."""

    def _begin(self) -> None:
        try:
            # Its pool opens at the first use: what was prepared has just answered.
            self._database = Database(self._ground.prepare(), **self._ground.limits())
        except BaseException:
            self._ground.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives back connections; the last user of an embedded server stops it. A view closes nothing."""
        if not self._is_view:
            self._database.close()
            self._ground.release()

    def _run(self, operation: Operation[T]) -> T:
        return _completed(self._performed(operation))

    def _drive(self, flow: workflows.Flow[T]) -> T:
        return _completed(self._driven(flow))

    @contextmanager
    def _job_database(self) -> Iterator[Database]:
        yield self._database

    async def _fetched(self, operation: Operation[T]) -> T:
        return operation.read(self._database.fetch(operation, tenant=self.tenant))

    async def _aside(self, step: workflows.LocalStep) -> Any:
        return self._ground.tools.answer(step)

    def _pool_figures(self) -> dict[str, int]:
        return self._database.figures()

    async def _pause(self, seconds: float) -> None:
        time.sleep(seconds)


def _completed(course: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits: its only awaits are of what this driver does at once."""
    try:
        course.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    course.close()
    raise RuntimeError("The synchronous driver was made to wait.")
