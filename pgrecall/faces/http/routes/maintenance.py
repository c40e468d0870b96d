"""Routes for maintenance: status and jobs of a tenant; and the probes, which need no key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import OptionalTimestamp, response_list, response_model
from pgrecall.faces.http.service import get_service
from pgrecall.faces.telemetry.metrics import CONTENT_TYPE
from pgrecall.nouns.jobs.models import JobRun, JobStatus
from pgrecall.nouns.maintenance.models import Check
from pgrecall.nouns.status.models import Status

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
