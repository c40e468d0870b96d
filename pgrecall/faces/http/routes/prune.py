"""Routes for prune plans: create, list, get, apply and undo."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import Body, OptionalTimestamp, response_list, response_model
from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan, PruneUndone
from pgrecall.operations.prune import PruneRequest

router = APIRouter(prefix="/v1/prune", route_class=ApiRoute, tags=["prune"])

PlanId = Annotated[int, Path(description="The id of the plan.", ge=1, lt=2**63)]


@router.post("/plans", response_model=response_model(PrunePlan))
async def plan_prune(
    memory: TenantMemory, bounds: Annotated[dict[str, Any], Body(PruneRequest)]
) -> PrunePlan:
    """Plan what to archive, with the reasons and the effect on links. Nothing is archived yet."""
    return await memory.plan_prune(**bounds)


@router.get("/plans", response_model=response_list(PlanSummary))
async def prune_plans(
    memory: TenantMemory, limit: Annotated[int, Query(ge=1, le=1000)] = 20
) -> tuple[PlanSummary, ...]:
    """List plans, newest first."""
    return await memory.prune_plans(limit=limit)


@router.get("/plans/{plan}", response_model=response_model(PrunePlan))
async def prune_plan(memory: TenantMemory, plan: PlanId) -> PrunePlan:
    """Return a plan with all its items."""
    return await memory.prune_plan(plan)


@router.post("/plans/{plan}/apply", response_model=response_model(PruneOutcome))
async def apply_prune(memory: TenantMemory, plan: PlanId, now: OptionalTimestamp = None) -> PruneOutcome:
    """Archive the memories of a plan, except those accessed, linked or pinned since."""
    return await memory.apply_prune(plan, now=now)


@router.post("/plans/{plan}/undo", response_model=response_model(PruneUndone))
async def undo_prune(memory: TenantMemory, plan: PlanId, now: OptionalTimestamp = None) -> PruneUndone:
    """Restore the memories that a plan archived."""
    return await memory.undo_prune(plan, now=now)
