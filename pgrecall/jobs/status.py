"""Where each job stands for a tenant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pgrecall.jobs.catalogue import JOBS
from pgrecall.models.jobs import JobState, JobStatus
from pgrecall.models.maintenance import Status
from pgrecall.operations.jobs import JobRow, job_states
from pgrecall.operations.status import server_version, status
from pgrecall.workflows import Flow

PATIENCE = timedelta(minutes=5)
"""How long a job may be due, beyond a whole interval, before it counts as overdue."""


def standings(now: datetime | None = None) -> Flow[tuple[JobStatus, ...]]:
    """Every job of the catalogue, in its order, with its interval, its newest run and its state."""
    rows: Sequence[JobRow] = yield job_states(
        [job.name for job in JOBS], [job.name for job in JOBS if job.whole], now
    )
    about = {job.name: job.about for job in JOBS}
    return tuple(
        JobStatus(row.job, about[row.job], row.minutes, row.due_at, row.last, state_of(row)) for row in rows
    )


def full_status(now: datetime | None, revision: str) -> Flow[Status]:
    """What a tenant holds, completed by where its jobs stand and by what it lives in."""
    held: Status = yield status(now)
    version: str = yield server_version()
    jobs = yield from standings(now)
    return replace(held, revision=revision, server_version=version, jobs=jobs)


def state_of(row: JobRow) -> JobState:
    """What to say of a job in one word; what needs somebody's eye goes before what is as it should be."""
    if row.last is not None and row.last.state == "running":
        return "running"
    if row.last is not None and row.last.state == "failed":
        return "failed"
    if row.minutes is None:
        return "manual"
    if row.minutes == 0:
        return "off"
    if row.last is None or row.due_at is None:
        return "never"
    late = row.asked_at - row.due_at
    if late > timedelta(minutes=row.minutes) + PATIENCE:
        return "overdue"
    return "due" if late >= timedelta() else "waiting"
