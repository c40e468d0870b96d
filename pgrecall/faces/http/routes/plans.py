"""Routes for plans of a tenant: made, reviewed, applied, undone and dropped."""

from __future__ import annotations

from typing import Annotated, Any

import pydantic
from fastapi import APIRouter, Path, Query

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import Body, response_model
from pgrecall.nouns.plans.dedupe import DedupePlan
from pgrecall.nouns.plans.models import Plan
from pgrecall.nouns.plans.operations import DedupeRequest, PruneRequest
from pgrecall.nouns.plans.prune import PrunePlan
from pgrecall.nouns.plans.redact import RedactPlan

router = APIRouter(prefix="/v1/plans", route_class=ApiRoute, tags=["plans"])

PlanId = Annotated[int, Path(description="The id of the plan.", ge=1, lt=2**63)]

PAGE = 100
"""Items or clusters of a plan in a response."""

_ANY = response_model(PrunePlan) | response_model(DedupePlan) | response_model(RedactPlan)
_PLAN: Any = Annotated[_ANY, pydantic.Field(discriminator="kind")]


@router.post("/prune", response_model=response_model(PrunePlan))
async def plan_prune(
    memory: TenantMemory, bounds: Annotated[dict[str, Any], Body(PruneRequest)]
) -> PrunePlan:
    """Plan which unused memories to archive, with reasons and effects on links. Nothing is archived yet.

    The response has the first 100 items.
    """
    return await memory.plans.prune(**bounds, limit=PAGE)


@router.post("/dedupe", response_model=response_model(DedupePlan))
async def plan_dedupe(
    memory: TenantMemory, bounds: Annotated[dict[str, Any], Body(DedupeRequest)]
) -> DedupePlan:
    """Compare what was not compared yet, and plan which duplicates to merge. Nothing is merged yet.

    The response has the first 100 clusters.
    """
    return await memory.plans.dedupe(**bounds, limit=PAGE)


@router.get("/{plan}", response_model=_PLAN)
async def get_plan(
    memory: TenantMemory,
    plan: PlanId,
    limit: Annotated[int, Query(ge=0, le=1000)] = PAGE,
    offset: Annotated[
        int, Query(ge=0, le=2**31 - 1, description="Items or clusters to leave out before them.")
    ] = 0,
) -> Plan:
    """Return a prune or redact plan with a page of its items, or a dedupe plan with a page of its clusters.

    `report.planned` counts all items of a plan, `report.clusters` all clusters of a dedupe plan. The
    differences compare the first `compared_characters` of each text: 20,000, and fewer if a page merges more
    than 50 memories.
    """
    return await memory.plans.get(plan, limit=limit, offset=offset)
