"""Planning a prune: the candidates, what must stay of them, and the stored plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from pgrecall.graph.csr import LinkGraph
from pgrecall.graph.removal import trim
from pgrecall.models.prune import PrunePlan, PruneUndone
from pgrecall.operations import graph, prune
from pgrecall.workflows.base import Aside, Flow


def plan_prune(request: prune.PruneRequest) -> Flow[int]:
    """Finds few candidates that must stay so that nothing is cut off, and stores a plan; gives its id.

    SQL alone would keep back more (see :func:`pgrecall.graph.trim`); it checks the whole set again.
    """
    candidates = yield prune.prune_candidates(request)
    kept: tuple[int, ...] = ()
    if candidates:
        kept = yield Aside(partial(_kept_back, (yield graph.link_graph()), candidates))
    plan: int = yield prune.plan_prune(request, kept)
    return plan


def _kept_back(blob: bytes, candidates: tuple[int, ...]) -> tuple[int, ...]:
    """Those of the candidates that must stay; the liveliest is kept back first."""
    trimmed = trim(LinkGraph.of_blob(blob), reversed(candidates), examples=0)
    return tuple(node.id for node in trimmed.kept_back)


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
