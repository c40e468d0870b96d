"""``memory.prune``: plans of what to archive, made, reviewed, applied and undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.models.prune import PruneUndone
from pgrecall.operations import prune

if TYPE_CHECKING:
    from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan


class AsyncPruneGroup(AsyncGroup):
    """Archives memories that are no longer used, so that searches omit them by default. Nothing is deleted.

    >>> plan = await memory.prune.plan(max_share=0.05)             # doctest: +SKIP
    >>> print(plan.report.planned, "of", plan.report.eligible)     # doctest: +SKIP
    >>> await memory.prune.apply(plan.id)                          # doctest: +SKIP
    >>> await memory.prune.undo(plan.id)                           # doctest: +SKIP
    """

    async def plan(
        self,
        *,
        max_count: int | None = None,
        max_share: float | None = None,
        grace_days: float | None = None,
        layers: Sequence[str] | None = None,
        now: datetime | None = None,
        limit: int | None = None,
    ) -> PrunePlan:
        """Plans which memories to archive, with reasons and the effect on the link graph. Archives nothing.

        The plan is stored, so that it can be reviewed and applied.

        Args:
            max_count: maximum number of memories to archive; None: setting ``prune.max_count`` (1,000).
            max_share: maximum share of the live memories to archive, in (0, 1]; None: setting
                ``prune.max_share`` (0.1).
            grace_days: days a memory is safe after it was stored or last used; None: setting
                ``prune.grace_days`` (30).
            layers: plan only memories of these layers.
            now: time to use instead of the database's clock.
            limit: maximum number of items to return; None for all.

        Returns:
            The plan with its items.

        Raises:
            InvalidInput: a number is out of its bounds, or a layer is unknown.
        """
        request = prune.PruneRequest(max_count, max_share, grace_days, layers, now)
        return await self.get(await self._connection.execute(prune.plan_prune(request)), limit=limit)

    async def get(self, plan: int, *, limit: int | None = None, offset: int = 0) -> PrunePlan:
        """Reads a stored plan.

        Args:
            plan: the id of the plan.
            limit: maximum number of items to read, lowest vitality first; None for all.
            offset: number of items to skip.

        Returns:
            The plan, with the requested items.

        Raises:
            InvalidInput: this tenant has no such plan, or the limit or the offset is negative.
        """
        pages = await self._read_pages(
            partial(prune.prune_plan, plan),
            lambda page: page.report.planned,
            size=prune.PAGE,
            limit=limit,
            offset=offset,
        )
        return replace(pages[0], items=tuple(chain.from_iterable(page.items for page in pages)))

    async def list(self, *, limit: int = 20) -> tuple[PlanSummary, ...]:
        """Lists the newest plans, newest first.

        Args:
            limit: maximum number of plans, 1 to 10,000.

        Returns:
            A summary of each plan.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(prune.prune_plans(limit))

    async def apply(
        self, plan: int, *, only: Sequence[int] | None = None, now: datetime | None = None
    ) -> PruneOutcome:
        """Archives the memories of a plan in one transaction.

        Each memory is checked again. One that was used, linked or pinned since, or that something now
        depends on, is skipped with a note.

        Args:
            plan: the id of the plan.
            only: ids of the memories to archive; the others of the plan are skipped. None for all.
            now: time to use instead of the database's clock.

        Returns:
            The outcome of each memory.

        Raises:
            InvalidInput: there is no such plan, it does not have one of ``only``, it was applied before or is
                stale, or it would now take more than its share of the live memories. Nothing was archived.
        """
        return await self._connection.execute(prune.apply_prune(plan, now, only))

    async def undo(self, plan: int, *, now: datetime | None = None) -> PruneUndone:
        """Restores the memories that a plan archived, except those restored since.

        Args:
            plan: the id of the plan.
            now: time to use instead of the database's clock.

        Returns:
            How many memories were restored, and how many had been restored before.

        Raises:
            InvalidInput: there is no such plan, or it is not applied.
        """
        restored = await self._connection.execute(prune.undo_prune(plan, now))
        [summary] = await self._connection.execute(prune.prune_plans(1, plan))
        return PruneUndone(plan, restored, summary.archived - restored)
