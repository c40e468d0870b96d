"""Routes of state: what a tenant holds, how it fares, and what jobs did."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from pgrecall.faces.http.request_guard import GuardedRoute
from pgrecall.faces.http.routes.parameters import Mine
from pgrecall.faces.http.schemas import At, Moment, shown, shown_many
from pgrecall.models.jobs import JobRun, JobStatus
from pgrecall.models.maintenance import Check, LayerStatus, Status

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["state"])


@router.get("/status", response_model=shown(Status))
async def status(memory: Mine, now: At = None) -> Status:
    """What this tenant holds and how it fares; `alarms` say what needs somebody's eye."""
    return await memory.status(now=now)


@router.get("/zones", response_model=shown_many(LayerStatus))
async def zones(memory: Mine, at: Moment) -> tuple[LayerStatus, ...]:
    """How many memories each layer held in each zone at a moment of the past."""
    return await memory.history.zones(at)


@router.get("/verify", response_model=shown_many(Check))
async def verify(memory: Mine, now: At = None) -> tuple[Check, ...]:
    """What must hold of this tenant's data, and how often it does not."""
    return await memory.maintenance.verify(now=now)


@router.get("/jobs", response_model=shown_many(JobStatus))
async def jobs(memory: Mine, now: At = None) -> tuple[JobStatus, ...]:
    """Every job with its interval, its newest run, and where it stands."""
    return await memory.jobs.list(now=now)


@router.get("/jobs/runs", response_model=shown_many(JobRun))
async def job_runs(
    memory: Mine,
    name: Annotated[str | None, Query(description="Of this job only.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> tuple[JobRun, ...]:
    """What jobs did for this tenant and for the whole database, newest first."""
    return await memory.jobs.runs(name, limit=limit)
