"""Jobs and their runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

RunState = Literal["running", "done", "failed", "stopped", "abandoned"]


JobState = Literal["never", "running", "waiting", "due", "overdue", "failed", "off", "manual"]


WHOLE_DATABASE = "*"
"""In place of the tenant for a job that serves the whole database."""


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job for a tenant, or for ``*``: the whole database.

    ``done`` is the number of items processed, ``counts`` the same by name. A killed run is ``abandoned``.
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
    """A job, its interval and its state for a tenant.

    ``minutes`` is the interval: 0 means off, None only by hand. ``due_at`` is None if it has never run or
    has no schedule; ``overdue`` means that no worker seems to run.
    """

    name: str
    about: str
    minutes: float | None
    due_at: datetime | None
    last: JobRun | None
    state: JobState


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The outcome of one attempt to run a job for a tenant; ``skipped``: another worker was running it.

    ``seconds`` is its duration; ``permanent`` means that another attempt would fail in the same way.
    """

    job: str
    tenant: str
    state: Literal["done", "failed", "stopped", "skipped"]
    attempt: int = 1
    done: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    seconds: float = 0.0
    permanent: bool = False
