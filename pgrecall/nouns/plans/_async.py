"""``memory.plans``: what to archive, merge or redact, planned, reviewed, applied, undone and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, cast

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import Count, Id, declared
from pgrecall.nouns.history.word_differences import clusters_by_word
from pgrecall.nouns.plans import operations
from pgrecall.nouns.plans.dedupe import DedupePlan
from pgrecall.nouns.plans.models import PlanKind, PlanOutcome, PlanSummary, PlanUndone, joined
from pgrecall.nouns.plans.redact import Document, RedactPlan, StoredTexts
from pgrecall.nouns.plans.stored_secrets import found_in

if TYPE_CHECKING:
    from pgrecall.nouns.plans.models import Plan
    from pgrecall.nouns.plans.prune import PrunePlan


MAX_REDACTED = 1000
"""Memories of a redact plan."""


class AsyncPlansGroup(AsyncGroup):
    """Archives memories that are no longer used, merges duplicates, and replaces stored secrets.

    A plan is stored, so that it can be reviewed before it is applied. It can be undone.

    >>> plan = await memory.plans.prune(max_share=0.05)            # doctest: +SKIP
    >>> print(plan.report.planned, "of", plan.report.eligible)     # doctest: +SKIP
    >>> await memory.plans.apply(plan.id)                          # doctest: +SKIP
    >>> await memory.plans.undo(plan.id)                           # doctest: +SKIP
    """

    async def prune(
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
        request = operations.PruneRequest(max_count, max_share, grace_days, layers, now)
        made = await self._connection.execute(operations.plan_prune(request))
        return cast("PrunePlan", await self.get(made, limit=limit))

    async def dedupe(
        self,
        *,
        min_similarity: float | None = None,
        max_count: int | None = None,
        layers: Sequence[str] | None = None,
        now: datetime | None = None,
        limit: int | None = None,
    ) -> DedupePlan:
        """Compares what was not compared yet, and plans which duplicates to merge into which. Merges nothing.

        Memories are compared in batches, so an interrupted run continues where it stopped.

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
        request = operations.DedupeRequest(min_similarity, max_count, layers, now)
        while await self.find_duplicates():
            pass
        made = await self._connection.execute(operations.plan_dedupe(request))
        return cast("DedupePlan", await self.get(made, limit=limit))

    @declared("plan_merge", "POST /v1/plans/merge")
    async def merge(
        self, keeper: int | str, memories: Sequence[int | str], *, now: datetime | None = None
    ) -> DedupePlan:
        """Plans to merge memories that you name, even if their texts differ. Nothing is merged yet.

        Args:
            keeper: the id or key of the memory that stays.
            memories: ids or keys of the memories to merge into it, 1 to 100.
            now: time to use instead of the database's clock.

        Returns:
            The dedupe plan, which has one cluster.

        Raises:
            MemoryNotFound: one of them does not exist in this tenant.
            InvalidInput: one of them is archived, superseded or the keeper itself, one that would go is
                pinned, or two of them are linked as contradicting each other.
        """
        made = await self._connection.execute(operations.plan_merge(keeper, memories, now))
        return cast("DedupePlan", await self.get(made))

    @declared("plan_redact", "POST /v1/plans/redact")
    async def redact(self, *, now: datetime | None = None) -> RedactPlan:
        """Plans to replace passwords, keys and tokens in stored texts; nothing is replaced yet.

        Reads everything that memories hold, archived ones and earlier versions too: texts, keys, sessions,
        metadata, pending links. The plan says where secrets are, never what they are.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            The redact plan: of at most 1,000 memories, where secrets are and of what kind.

        Raises:
            InvalidInput: the time is out of its bounds.
        """
        found: list[Document] = []
        last: StoredTexts | None = None
        scanned = 0
        memories: set[int] = set()
        # One more than a plan takes tells that there are more.
        while len(memories) <= MAX_REDACTED and (
            page := await self._connection.execute(operations.stored_texts(last))
        ):
            here = await self._connection.run(partial(found_in, page))
            found += here
            memories.update(one["id"] for one in here)
            scanned, last = scanned + len(page), page[-1]
        made = await self._connection.execute(
            operations.plan_redact(found, scanned, len(memories) <= MAX_REDACTED, now)
        )
        return cast("RedactPlan", await self.get(made))

    async def find_duplicates(self, *, limit: int = operations.BATCH) -> int:
        """Compares memories that were not compared since their text changed; ``dedupe`` does it for all.

        Args:
            limit: maximum number of memories to compare, in one transaction, 1 to 100,000.

        Returns:
            How many were compared; 0 when none is left.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(operations.find_duplicates(limit))

    async def get(self, plan: int, *, limit: int | None = None, offset: int = 0) -> Plan:
        """Reads a stored plan.

        Args:
            plan: the id of the plan.
            limit: maximum number of items of a prune or redact plan to read, lowest vitality first, or of
                clusters of a dedupe plan, the most similar first; None for all.
            offset: number of items or clusters to skip.

        Returns:
            The plan, with the requested items or clusters.

        Raises:
            InvalidInput: this tenant has no such plan, or the limit or the offset is negative.
        """
        first = await self._connection.execute(
            operations.get_plan(
                plan, offset, operations.PAGE if limit is None else min(operations.PAGE, limit)
            )
        )
        left = (first.report.clusters if first.kind == "dedupe" else first.report.planned) - offset
        wanted = left if limit is None else min(left, limit)
        pages = [first] + [
            await self._connection.execute(
                operations.get_plan(plan, offset + done, min(operations.PAGE, wanted - done))
            )
            for done in range(operations.PAGE, wanted, operations.PAGE)
        ]
        whole = joined(pages)
        if whole.kind != "dedupe":
            return whole
        clusters = await self._connection.run(partial(clusters_by_word, whole.clusters))
        return replace(whole, clusters=clusters)

    @declared("list_plans", "GET /v1/plans")
    async def list(self, *, limit: Count = 20, kind: PlanKind | None = None) -> tuple[PlanSummary, ...]:
        """Lists plans and their states, newest first.

        Args:
            limit: maximum number of plans.
            kind: only plans of this kind.

        Returns:
            A summary of each plan.

        Raises:
            InvalidInput: the limit is out of its bounds, or the kind is unknown.
        """
        return await self._connection.execute(operations.plans(limit, kind=kind))

    @declared("apply_plan", "POST /v1/plans/{plan}/apply", in_query=True)
    async def apply(
        self, plan: Id, *, parts: Sequence[int] | None = None, now: datetime | None = None
    ) -> PlanOutcome:
        """Carries out a plan, or parts of it: archives, merges or redacts memories that did not change since.

        Each memory is checked again. One that was rewritten since is skipped with a note, and, except in a
        redact plan, one that was pinned or archived. So is a memory of a prune plan that was used or linked
        since or that something now depends on, and a memory of a dedupe plan that was superseded since or
        whose keeper is skipped. A plan is applied once.

        Args:
            plan: the id of the plan.
            parts: only these memories of a prune or redact plan, or these clusters of a dedupe plan; by
                default all.
            now: time to use instead of the database's clock.

        Returns:
            The outcome of each memory.

        Raises:
            InvalidInput: there is no such plan, it does not have one of ``parts``, it was applied before or
                is stale, or it would now take more than its share of the live memories. Nothing was changed.
        """
        return await self._connection.execute(operations.apply_plan(plan, parts, now))

    @declared("undo_plan", "POST /v1/plans/{plan}/undo")
    async def undo(self, plan: Id, *, now: datetime | None = None) -> PlanUndone:
        """Restores the memories that a plan archived or merged, except those restored since.

        Later accesses, links and texts of what they were merged into stay. Undoing a redact plan puts the
        secrets back into texts that have not changed since.

        Args:
            plan: the id of the plan.
            now: time to use instead of the database's clock.

        Returns:
            How many memories were restored, and how many had been restored before.

        Raises:
            InvalidInput: there is no such plan, it is not applied, or a later plan has merged one of its
                memories and is to be undone first.
        """
        restored = await self._connection.execute(operations.undo_plan(plan, now))
        [summary] = await self._connection.execute(operations.plans(1, plan))
        return PlanUndone(plan, restored, summary.archived - restored)

    @declared("drop_plan", "DELETE /v1/plans/{plan}")
    async def drop(self, plan: Id) -> bool:
        """Removes a plan that was never applied, or a redact plan.

        With a redact plan that was applied, what was kept to undo it is deleted for good.

        Args:
            plan: the id of the plan.

        Returns:
            True; anything else is an error.

        Raises:
            InvalidInput: there is no such plan, or it was applied and is no redact plan.
        """
        return await self._connection.execute(operations.drop_plan(plan))
