"""Upkeep that runs by itself: bounded steps under a lock, safe to kill at any instant and to run twice.

steps      what a job is made of
catalogue  every job there is
embedding  the jobs that embed
attempt    one attempt at one job for one tenant
lines      the connections attempts go over
runner     a job for many tenants, with retries
standing   where each job stands
worker     every job at its interval
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.later import found_later

if TYPE_CHECKING:
    from pgrecall.jobs.catalogue import JOBS, job_named
    from pgrecall.jobs.runner import Runner, line_of
    from pgrecall.jobs.standing import full_status, standings
    from pgrecall.jobs.steps import Job, JobFlow, Progress, Task

__all__ = [
    "JOBS",
    "Job",
    "JobFlow",
    "Progress",
    "Runner",
    "Task",
    "full_status",
    "job_named",
    "line_of",
    "standings",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = found_later(
        __name__,
        {
            "catalogue": ("JOBS", "job_named"),
            "runner": ("Runner", "line_of"),
            "standing": ("full_status", "standings"),
            "steps": ("Job", "JobFlow", "Progress", "Task"),
        },
    )
