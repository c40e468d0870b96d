"""Jobs as values: what a run did, and where a job stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

RunState = Literal["running", "done", "failed", "stopped", "abandoned"]
JobState = Literal["never", "running", "waiting", "due", "overdue", "failed", "off", "manual"]

WHOLE_DATABASE = "*"
"""Stands for the tenant where a job serves the whole database."""


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job for a tenant, or for ``*``: the whole database.

    ``done`` counts what it did, ``counts`` the same by name. A run that was killed is ``abandoned``.
    """

    id: int
    tenant: str
    job: str
    state: RunState
    started_at: datetime
    finished_at: datetime | None
    attempt: int
    done: int
    counts: Mapping[str, int]
    error: str | None


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job, how often it runs, and where it stands for a tenant.

    ``minutes`` lie between two runs: 0 means switched off, None that it runs only by hand. ``due_at`` is
    None where it has not run yet or never will by itself; ``overdue`` says that no worker seems to run.
    """

    name: str
    about: str
    minutes: float | None
    due_at: datetime | None
    last: JobRun | None
    state: JobState


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What became of one attempt to run a job for a tenant; ``skipped``: another worker was at it.

    ``seconds`` is its duration, ``lasting`` says that another attempt would fail in the same way.
    """

    job: str
    tenant: str
    state: Literal["done", "failed", "stopped", "skipped"]
    attempt: int = 1
    done: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    seconds: float = 0.0
    lasting: bool = False
