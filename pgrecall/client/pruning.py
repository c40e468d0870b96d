"""Prune plans: made, reviewed, applied, undone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall import operations, workflows
from pgrecall.client.driver import Driver

if TYPE_CHECKING:
    from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan, PruneUndone


class Pruning(Driver):
    """What leaves default search once it is no longer used; nothing is deleted."""

    def plan_prune(
        self,
        *,
        max_count: int | None = None,
        max_share: float | None = None,
        grace_days: float | None = None,
        layers: Sequence[str] | None = None,
        now: datetime | None = None,
    ) -> PrunePlan:
        """A dry run: which memories could be archived, why, and what that does to the link graph.

        The plan is stored, so that it can be reviewed and applied; nothing else changes.

        Args:
            max_count: memories it archives at most; None: setting ``prune.max_count`` (1,000).
            max_share: share of the live memories, (0, 1], it archives at most; None: ``prune.max_share``
                (0.1).
            grace_days: days a memory is safe after it was stored or used; None: ``prune.grace_days`` (30).
            layers: only memories of these layers.

        Raises:
            InvalidInput: a number is out of its bounds, or a layer is unknown.
        """
        request = operations.prune.PruneRequest(max_count, max_share, grace_days, layers, now)
        return self._drive(workflows.planned_prune(request))

    def prune_plan(self, plan: int, *, limit: int | None = None) -> PrunePlan:
        """A stored plan with all its items, or the first ``limit`` of them, the least lively first.

        Raises:
            InvalidInput: this tenant has no such plan, or the limit is negative.
        """
        return self._drive(workflows.read_plan(plan, limit))

    def prune_plans(self, *, limit: int = 20) -> tuple[PlanSummary, ...]:
        """The newest plans, newest first.

        Raises:
            InvalidInput: the limit does not lie between 1 and 10,000.
        """
        return self._run(operations.prune.prune_plans(limit))

    def apply_prune(self, plan: int, *, now: datetime | None = None) -> PruneOutcome:
        """Archives what a plan is for, in one transaction.

        Each item is looked at again; those that were used, linked or pinned since, and those without which
        something would now be cut off, are skipped with a note.

        Raises:
            InvalidInput: there is no such plan, it was applied before or is stale, or it would take more
                than its share of the memories that are live now; nothing was archived.
        """
        return self._run(operations.prune.apply_prune(plan, now))

    def undo_prune(self, plan: int, *, now: datetime | None = None) -> PruneUndone:
        """Brings back what a plan archived, as it was, but for what has come back since.

        Raises:
            InvalidInput: there is no such plan, or it is not applied.
        """
        return self._drive(workflows.undo_prune(plan, now))
