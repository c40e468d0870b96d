"""``memory.dedupe``: plans of which duplicates to merge, made, reviewed, applied and undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.models.dedupe import DedupeUndone
from pgrecall.models.word_differences import clusters_by_word
from pgrecall.operations import dedupe

if TYPE_CHECKING:
    from pgrecall.models.dedupe import DedupeOutcome, DedupePlan, DedupeSummary


class AsyncDedupeGroup(AsyncGroup):
    """Merges duplicates into one of them. Nothing is deleted.

    >>> plan = await memory.dedupe.plan()                          # doctest: +SKIP
    >>> print(plan.report.planned, "in", plan.report.clusters)     # doctest: +SKIP
    >>> await memory.dedupe.apply(plan.id)                         # doctest: +SKIP
    >>> await memory.dedupe.undo(plan.id)                          # doctest: +SKIP
    """

    async def find(self, *, limit: int = dedupe.BATCH) -> int:
        """Compares memories that were not compared since their text changed; ``plan`` does it for all.

        Args:
            limit: maximum number of memories to compare, in one transaction, 1 to 100,000.

        Returns:
            How many were compared; 0 when none is left.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(dedupe.find_duplicates(limit))

    async def plan(
        self,
        *,
        min_similarity: float | None = None,
        max_count: int | None = None,
        layers: Sequence[str] | None = None,
        now: datetime | None = None,
        limit: int | None = None,
    ) -> DedupePlan:
        """Compares what was not compared yet, and plans which duplicates to merge into which. Merges nothing.

        The plan is stored, so that it can be reviewed and applied. Memories are compared in batches, so an
        interrupted run continues where it stopped.

        Args:
            min_similarity: only duplicates with at least this similarity of vectors, 0.7 to 1; None: setting
                ``dedupe.min_similarity`` (0.9).
            max_count: maximum number of memories to merge; None: setting ``dedupe.max_count`` (1,000).
            layers: plan only memories of these layers.
            now: time to use instead of the database's clock.
            limit: maximum number of clusters to return; None for all.

        Returns:
            The plan with its clusters.

        Raises:
            InvalidInput: a number is out of its bounds, or a layer is unknown.
        """
        request = dedupe.DedupeRequest(min_similarity, max_count, layers, now)
        while await self.find():
            pass
        return await self.get(await self._connection.execute(dedupe.plan_dedupe(request)), limit=limit)

    async def plan_merge(
        self, keeper: int | str, memories: Sequence[int | str], *, now: datetime | None = None
    ) -> DedupePlan:
        """Plans to merge memories that you name into one that stays, even if their texts differ. Merges
        nothing.

        The plan is reviewed, applied and undone like any other.

        Args:
            keeper: the id or key of the memory that stays.
            memories: ids or keys of the memories to merge into it, 1 to 100.
            now: time to use instead of the database's clock.

        Returns:
            The plan, which has one cluster.

        Raises:
            MemoryNotFound: one of them does not exist in this tenant.
            InvalidInput: one of them is archived, superseded or the keeper itself, one that would go is
                pinned, or two of them are linked as contradicting each other.
        """
        return await self.get(await self._connection.execute(dedupe.plan_merge(keeper, memories, now)))

    async def get(self, plan: int, *, limit: int | None = None, offset: int = 0) -> DedupePlan:
        """Reads a stored plan.

        Args:
            plan: the id of the plan.
            limit: maximum number of clusters to read, the most similar first; None for all.
            offset: number of clusters to skip.

        Returns:
            The plan, with the requested clusters.

        Raises:
            InvalidInput: this tenant has no such plan, or the limit or the offset is negative.
        """
        pages = await self._read_pages(
            partial(dedupe.dedupe_plan, plan),
            lambda page: page.report.clusters,
            size=dedupe.PAGE,
            limit=limit,
            offset=offset,
        )
        clusters = tuple(chain.from_iterable(page.clusters for page in pages))
        return replace(pages[0], clusters=await self._connection.run(partial(clusters_by_word, clusters)))

    async def list(self, *, limit: int = 20) -> tuple[DedupeSummary, ...]:
        """Lists the newest plans, newest first.

        Args:
            limit: maximum number of plans, 1 to 10,000.

        Returns:
            A summary of each plan.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(dedupe.dedupe_plans(limit))

    async def apply(
        self, plan: int, *, clusters: Sequence[int] | None = None, now: datetime | None = None
    ) -> DedupeOutcome:
        """Merges the clusters of a plan in one transaction.

        Each memory is checked again. One that was rewritten, pinned, archived or superseded since is skipped
        with a note; if it is a keeper, so is its cluster.

        Args:
            plan: the id of the plan.
            clusters: merge only these clusters, by their numbers; None for all. A plan is applied once.
            now: time to use instead of the database's clock.

        Returns:
            The outcome of each memory.

        Raises:
            InvalidInput: there is no such plan or cluster, or it was applied before or is stale. Nothing was
                merged.
        """
        return await self._connection.execute(dedupe.apply_dedupe(plan, clusters, now))

    async def undo(self, plan: int, *, now: datetime | None = None) -> DedupeUndone:
        """Undoes the merges of a plan. Later accesses, links and texts of keepers stay.

        Args:
            plan: the id of the plan.
            now: time to use instead of the database's clock.

        Returns:
            How many memories were restored, and how many had been restored before.

        Raises:
            InvalidInput: there is no such plan, it is not applied, or a later plan has merged one of its
                memories and is to be undone first.
        """
        restored = await self._connection.execute(dedupe.undo_dedupe(plan, now))
        [summary] = await self._connection.execute(dedupe.dedupe_plans(1, plan))
        return DedupeUndone(plan, restored, summary.merged - restored)
