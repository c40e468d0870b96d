"""Routes for the state of a tenant and its jobs, and the probes of the service, which need no key."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.metrics import CONTENT_TYPE
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import OptionalTimestamp, response_list, response_model
from pgrecall.faces.http.service import get_service
from pgrecall.models.jobs import JobRun, JobStatus
from pgrecall.models.maintenance import Check, Status

router = APIRouter(prefix="/v1", route_class=ApiRoute)
probe_router = APIRouter(tags=["probes"])


@router.get("/status", response_model=response_model(Status), tags=["status"])
async def status(memory: TenantMemory, now: OptionalTimestamp = None) -> Status:
    """Return the state of this tenant: counts, vitality, jobs, and alarms that need attention."""
    return await memory.status(now=now)


@router.get("/maintenance/verify", response_model=response_list(Check), tags=["status"])
async def verify(memory: TenantMemory, now: OptionalTimestamp = None) -> tuple[Check, ...]:
    """Check every invariant of this tenant's data; changes nothing."""
    return await memory.verify(now=now)


@router.get("/jobs", response_model=response_list(JobStatus), tags=["jobs"])
async def jobs(memory: TenantMemory, now: OptionalTimestamp = None) -> tuple[JobStatus, ...]:
    """List all jobs with their interval, state and last run."""
    return await memory.jobs(now=now)


@router.get("/jobs/runs", response_model=response_list(JobRun), tags=["jobs"])
async def job_runs(
    memory: TenantMemory,
    name: Annotated[str | None, Query(description="Only runs of this job.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> tuple[JobRun, ...]:
    """List job runs for this tenant and for the whole database, newest first."""
    return await memory.job_runs(name, limit=limit)


@probe_router.get("/healthz", response_class=JSONResponse)
async def healthz() -> Response:
    """Report that the process answers."""
    return JSONResponse({"alive": True})


@probe_router.get("/readyz", response_class=JSONResponse)
async def readyz(request: Request) -> Response:
    """Report whether database, schema and models can serve requests; if not, 503 with the problems."""
    problems = await get_service(request).problems()
    return JSONResponse({"ready": not problems, "problems": problems}, 503 if problems else 200)


@probe_router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Return metrics for Prometheus; counts of the database are up to a minute old."""
    service = get_service(request)
    return Response(service.metrics.exposition(await service.census.get()), media_type=CONTENT_TYPE)
