"""``memory.erasure``: deletes all memories of a subject for good, by a plan, with a report."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from pgrecall.client._async.group import AsyncGroup
from pgrecall.errors import InvalidInput
from pgrecall.nouns.declared import Bounds, Count, Id, declared
from pgrecall.nouns.erasure import operations
from pgrecall.nouns.erasure.models import Erasure, ErasureSummary, Subject


class AsyncErasureGroup(AsyncGroup):
    """Deletes all memories of a subject for good: of an author, a session, a tag, a source, or keys.

    >>> plan = await memory.erasure.plan(author="Ann", asked_by="Ann")       # doctest: +SKIP
    >>> print(plan.planned, plan.counts)                                     # doctest: +SKIP
    >>> done = await memory.erasure.apply(plan.id, signed_by="Data officer") # doctest: +SKIP
    >>> print(done.report.remains, done.digest)                              # doctest: +SKIP
    """

    async def plan(
        self,
        *,
        author: str | None = None,
        session: str | None = None,
        tag: str | None = None,
        source: str | None = None,
        key: str | None = None,
        asked_by: str,
        sample: int = 10,
        now: datetime | None = None,
    ) -> Erasure:
        """Plans which memories to delete: those that match every given field. Deletes nothing.

        Args:
            author: the author, ignoring case.
            session: the session id.
            tag: a tag, ignoring case.
            source: the source.
            key: the key; ``*`` stands for any characters.
            asked_by: the person who asked for the erasure.
            sample: memories to return with the plan, 0 to 1,000.
            now: time to use instead of the database's clock.

        Returns:
            The planned erasure, with the rows to delete by table.

        Raises:
            InvalidInput: no field is given, or a text is empty or too long.
        """
        subject = Subject(author, session, tag, source, key)
        planned = await self._connection.execute(operations.plan_erasure(subject, asked_by, now))
        return await self.get(planned, sample=sample)

    @declared("get_erasure", "GET /v1/erasures/{erasure}", tag="erasures")
    async def get(self, erasure: Id, *, sample: Annotated[int, Bounds(0, 1000)] = 10) -> Erasure:
        """Reads an erasure: its plan, its progress, or its report.

        Args:
            erasure: the id of the erasure.
            sample: remaining memories to return with it, 0 to 1,000.

        Returns:
            The erasure.

        Raises:
            InvalidInput: this tenant has no such erasure, or the sample is out of its bounds.
        """
        return await self._connection.execute(operations.get_erasure(erasure, sample))

    @declared("erasures", "GET /v1/erasures", tag="erasures")
    async def list(self, *, limit: Count = 20) -> tuple[ErasureSummary, ...]:
        """Lists erasures and their states, newest first.

        Args:
            limit: maximum number of erasures.

        Returns:
            A summary of each erasure.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(operations.erasures(limit))

    async def apply(
        self,
        erasure: int,
        *,
        signed_by: str,
        limit: int | None = None,
        progress: Callable[[int], object] | None = None,
        now: datetime | None = None,
    ) -> Erasure:
        """Deletes the memories of an erasure with everything about them, and reports what was done.

        Works in batches, each in its own transaction; after an interruption, call it again. For a completed
        erasure it returns the report. Memories that no longer belong to the subject are left out.

        Args:
            erasure: the id of the erasure.
            signed_by: the person who is responsible for the erasure.
            limit: maximum number of memories to delete; None for all.
            progress: called with the number of remaining memories after each batch.
            now: time to use instead of the database's clock.

        Returns:
            The erasure. Its report is complete once its state is ``done``.

        Raises:
            InvalidInput: there is no such erasure, or an argument is out of its bounds.
        """
        if limit is not None and limit < 1:
            raise InvalidInput(f"The limit is {limit}; it must be at least 1.")
        left = limit
        while True:
            batch = operations.BATCH if left is None else min(left, operations.BATCH)
            reached = await self._connection.execute(operations.apply_erasure(erasure, signed_by, batch, now))
            if progress is not None:
                progress(reached.remaining)
            left = None if left is None else left - batch
            if reached.state == "done" or left == 0:
                return reached

    async def drop(self, erasure: int) -> bool:
        """Removes an erasure that has not begun. Its memories stay.

        Args:
            erasure: the id of the erasure.

        Returns:
            True; anything else is an error.

        Raises:
            InvalidInput: there is no such erasure, or it was begun.
        """
        return await self._connection.execute(operations.drop_erasure(erasure))
