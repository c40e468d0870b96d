"""Routes for duplicates: dedupe plans of a tenant, made, reviewed, applied and undone."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import Body, OptionalTimestamp, response_list, response_model
from pgrecall.models.dedupe import DedupeOutcome, DedupePlan, DedupeSummary, DedupeUndone
from pgrecall.operations.dedupe import DedupeRequest, MergeRequest

router = APIRouter(prefix="/v1/dedupe", route_class=ApiRoute, tags=["dedupe"])

DedupePlanId = Annotated[int, Path(description="The id of the plan.", ge=1, lt=2**63)]

PAGE = 100
"""Clusters of a plan in a response."""


@router.post("/plans", response_model=response_model(DedupePlan))
async def plan_dedupe(
    memory: TenantMemory, bounds: Annotated[dict[str, Any], Body(DedupeRequest)]
) -> DedupePlan:
    """Compare what was not compared yet, and plan which duplicates to merge. Nothing is merged yet.

    The response has the first 100 clusters.
    """
    return await memory.dedupe.plan(**bounds, limit=PAGE)


@router.post("/merges", response_model=response_model(DedupePlan))
async def plan_merge(
    memory: TenantMemory, merge: Annotated[dict[str, Any], Body(MergeRequest)]
) -> DedupePlan:
    """Plan to merge memories that you name into one that stays. Nothing is merged yet."""
    return await memory.dedupe.plan_merge(**merge)


@router.get("/plans", response_model=response_list(DedupeSummary))
async def dedupe_plans(
    memory: TenantMemory, limit: Annotated[int, Query(ge=1, le=1000)] = 20
) -> tuple[DedupeSummary, ...]:
    """List plans, newest first."""
    return await memory.dedupe.list(limit=limit)


@router.get("/plans/{dedupe}", response_model=response_model(DedupePlan))
async def dedupe_plan(
    memory: TenantMemory,
    dedupe: DedupePlanId,
    limit: Annotated[int, Query(ge=0, le=500)] = PAGE,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1, description="Clusters to leave out before them.")] = 0,
) -> DedupePlan:
    """Return a plan with a page of its clusters, and how the texts of each differ.

    `report.clusters` counts all of them. The differences compare the first `compared_characters` of each
    text: 20,000, and fewer if a page merges more than 50 memories.
    """
    return await memory.dedupe.get(dedupe, limit=limit, offset=offset)


@router.post("/plans/{dedupe}/apply", response_model=response_model(DedupeOutcome))
async def apply_dedupe(
    memory: TenantMemory,
    dedupe: DedupePlanId,
    clusters: Annotated[
        list[int] | None,
        Query(description="Merge only these clusters; may be repeated. By default all."),
    ] = None,
    now: OptionalTimestamp = None,
) -> DedupeOutcome:
    """Merge the clusters of a plan, or some of them, except what has changed since."""
    return await memory.dedupe.apply(dedupe, clusters=clusters, now=now)


@router.post("/plans/{dedupe}/undo", response_model=response_model(DedupeUndone))
async def undo_dedupe(
    memory: TenantMemory, dedupe: DedupePlanId, now: OptionalTimestamp = None
) -> DedupeUndone:
    """Undo the merges of a plan."""
    return await memory.dedupe.undo(dedupe, now=now)
