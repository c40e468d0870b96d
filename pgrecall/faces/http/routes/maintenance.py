"""Routes for maintenance: status, jobs and prune plans of a tenant; and the probes, which need no key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import Body, OptionalTimestamp, response_list, response_model
from pgrecall.faces.http.service import get_service
from pgrecall.faces.telemetry.metrics import CONTENT_TYPE
from pgrecall.models.maintenance import Check, JobRun, JobStatus, Status
from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan, PruneUndone
from pgrecall.operations.prune import PruneRequest

router = APIRouter(prefix="/v1", route_class=ApiRoute)
probe_router = APIRouter(tags=["probes"])


@dataclass(frozen=True, slots=True)
class Alive:
    """The process answers."""

    alive: bool


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the service can serve requests.

    Attributes:
        ready: database, schema and models are ready.
        problems: the reasons why not, a sentence each.
    """

    ready: bool
    problems: tuple[str, ...]


PlanId = Annotated[int, Path(description="The id of the plan.", ge=1, lt=2**63)]

ITEMS = 1000
"""Items of a prune plan in a response."""


@router.get("/status", response_model=response_model(Status), tags=["status"])
async def status(memory: TenantMemory, now: OptionalTimestamp = None) -> Status:
    """Return the state of this tenant: counts, vitality, jobs, and alarms that need attention."""
    return await memory.status(now=now)


@router.get("/maintenance/verify", response_model=response_list(Check), tags=["status"])
async def verify(memory: TenantMemory, now: OptionalTimestamp = None) -> tuple[Check, ...]:
    """Check every invariant of this tenant's data; changes nothing."""
    return await memory.maintenance.verify(now=now)


@router.get("/jobs", response_model=response_list(JobStatus), tags=["jobs"])
async def jobs(memory: TenantMemory, now: OptionalTimestamp = None) -> tuple[JobStatus, ...]:
    """List all jobs with their interval, state and last run."""
    return await memory.jobs.list(now=now)


@router.get("/jobs/runs", response_model=response_list(JobRun), tags=["jobs"])
async def job_runs(
    memory: TenantMemory,
    name: Annotated[str | None, Query(description="Only runs of this job.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> tuple[JobRun, ...]:
    """List job runs for this tenant and for the whole database, newest first."""
    return await memory.jobs.runs(name, limit=limit)


@router.post("/prune/plans", response_model=response_model(PrunePlan), tags=["prune"])
async def plan_prune(
    memory: TenantMemory, bounds: Annotated[dict[str, Any], Body(PruneRequest)]
) -> PrunePlan:
    """Plan what to archive, with the reasons and the effect on links. Nothing is archived yet.

    The response has the first 1,000 items.
    """
    return await memory.prune.plan(**bounds, limit=ITEMS)


@router.get("/prune/plans", response_model=response_list(PlanSummary), tags=["prune"])
async def prune_plans(
    memory: TenantMemory, limit: Annotated[int, Query(ge=1, le=1000)] = 20
) -> tuple[PlanSummary, ...]:
    """List plans, newest first."""
    return await memory.prune.list(limit=limit)


@router.get("/prune/plans/{plan}", response_model=response_model(PrunePlan), tags=["prune"])
async def prune_plan(
    memory: TenantMemory,
    plan: PlanId,
    limit: Annotated[int, Query(ge=0, le=10_000)] = ITEMS,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1, description="Items to leave out before them.")] = 0,
) -> PrunePlan:
    """Return a plan with a page of its items; `report.planned` counts all of them."""
    return await memory.prune.get(plan, limit=limit, offset=offset)


@router.post("/prune/plans/{plan}/apply", response_model=response_model(PruneOutcome), tags=["prune"])
async def apply_prune(
    memory: TenantMemory,
    plan: PlanId,
    only: Annotated[list[int] | None, Query(description="Archive only these ids; may be repeated.")] = None,
    now: OptionalTimestamp = None,
) -> PruneOutcome:
    """Archive the memories of a plan, except those accessed, linked or pinned since."""
    return await memory.prune.apply(plan, only=only, now=now)


@router.post("/prune/plans/{plan}/undo", response_model=response_model(PruneUndone), tags=["prune"])
async def undo_prune(memory: TenantMemory, plan: PlanId, now: OptionalTimestamp = None) -> PruneUndone:
    """Restore the memories that a plan archived."""
    return await memory.prune.undo(plan, now=now)


@probe_router.get("/healthz", response_model=response_model(Alive))
async def healthz() -> Response:
    """Report that the process answers."""
    return JSONResponse({"alive": True})


@probe_router.get(
    "/readyz",
    response_model=response_model(Readiness),
    responses={503: {"model": response_model(Readiness), "description": "Not ready, with the reason."}},
)
async def readyz(request: Request) -> Response:
    """Report whether database, schema and models can serve requests; if not, 503 with the problems."""
    problems = await get_service(request).problems()
    return JSONResponse({"ready": not problems, "problems": problems}, 503 if problems else 200)


@probe_router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Return metrics for Prometheus; counts of the database are up to a minute old."""
    service = get_service(request)
    return Response(service.metrics.exposition(await service.census.get()), media_type=CONTENT_TYPE)
