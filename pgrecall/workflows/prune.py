"""Prune plans: made, read page by page, and undone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from pgrecall.models.prune import PrunePlan, PruneUndone
from pgrecall.operations import prune
from pgrecall.workflows.base import Flow


def plan_prune(request: prune.PruneRequest) -> Flow[int]:
    """Stores a plan and gives its id."""
    plan: int = yield prune.plan_prune(request)
    return plan


def read_plan(plan: int, limit: int | None = None) -> Flow[PrunePlan]:
    """A plan with its items, all of them or the first ``limit``, page by page."""
    read: PrunePlan = yield prune.prune_plan(plan, 0, _page(limit, 0))
    offset = prune.PAGE
    while offset < (read.report.planned if limit is None else min(read.report.planned, limit)):
        page: PrunePlan = yield prune.prune_plan(plan, offset, _page(limit, offset))
        read = replace(read, items=read.items + page.items)
        offset += prune.PAGE
    return read


def _page(limit: int | None, offset: int) -> int:
    return prune.PAGE if limit is None else min(prune.PAGE, limit - offset)


def planned_prune(request: prune.PruneRequest) -> Flow[PrunePlan]:
    """Makes a plan and reads it."""
    plan = yield from plan_prune(request)
    return (yield from read_plan(plan))


def undo_prune(plan: int, now: datetime | None) -> Flow[PruneUndone]:
    """Brings back what a plan archived, and says how many had come back before."""
    restored: int = yield prune.undo_prune(plan, now)
    [summary] = yield prune.prune_plans(1, plan)
    return PruneUndone(plan, restored, summary.archived - restored)
