"""Routes of prune plans: dry runs made, reviewed, applied and undone."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from pgrecall.faces.http.request_guard import GuardedRoute
from pgrecall.faces.http.routes.parameters import Mine
from pgrecall.faces.http.schemas import At, Given, shown, shown_many
from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan, PruneUndone
from pgrecall.operations.prune import PruneRequest

router = APIRouter(prefix="/v1/prune", route_class=GuardedRoute, tags=["pruning"])

Plan = Annotated[int, Path(description="The id of the plan.", ge=1, lt=2**63)]
Bounds = Annotated[dict[str, Any], Given(PruneRequest, name="PruneBounds")]


@router.post("/plans", response_model=shown(PrunePlan))
async def plan_prune(memory: Mine, bounds: Bounds) -> PrunePlan:
    """Make a dry run: which memories could be archived, why, and what that does to the links."""
    return await memory.prune.plan(**bounds)


@router.get("/plans", response_model=shown_many(PlanSummary))
async def prune_plans(
    memory: Mine, limit: Annotated[int, Query(ge=1, le=1000)] = 20
) -> tuple[PlanSummary, ...]:
    """The newest plans, newest first."""
    return await memory.prune.list(limit=limit)


@router.get("/plans/{plan}", response_model=shown(PrunePlan))
async def prune_plan(memory: Mine, plan: Plan) -> PrunePlan:
    """A stored plan with all its items."""
    return await memory.prune.get(plan)


@router.post("/plans/{plan}/apply", response_model=shown(PruneOutcome))
async def apply_prune(memory: Mine, plan: Plan, now: At = None) -> PruneOutcome:
    """Archive what a plan is for, but for what was used, linked or pinned since."""
    return await memory.prune.apply(plan, now=now)


@router.post("/plans/{plan}/undo", response_model=shown(PruneUndone))
async def undo_prune(memory: Mine, plan: Plan, now: At = None) -> PruneUndone:
    """Bring back what a plan archived."""
    return await memory.prune.undo(plan, now=now)
