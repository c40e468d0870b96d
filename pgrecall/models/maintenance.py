"""The state of a tenant, of its link graph and of its jobs, and the checks on its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pgrecall.models.memories import AccessCounts


@dataclass(frozen=True, slots=True)
class GraphReport:
    """The link graph of a tenant.

    ``bridges`` are links whose removal disconnects it. ``points`` counts articulation points, memories whose
    removal disconnects it; ``protected`` those that would cut off enough others.
    """

    memories: int
    links: int
    points: int
    bridges: tuple[tuple[int, int], ...]
    protected: int


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """The number of live memories of a layer, by zone."""

    layer: str
    memories: int
    zones: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant of a tenant's data, the number of violations, and up to five examples."""

    name: str
    about: str
    problems: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """A standby that answers searches unless it lags more than ``limit`` seconds.

    ``behind`` is how many bytes of the primary's log it has not replayed. ``staleness`` is how many seconds
    of changes it lacks at most, None if unknown. ``problem`` says why it does not answer; empty if
    it does.
    """

    limit: float
    behind: int | None = None
    staleness: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one tenant's memory and of the database it lives in.

    ``passages`` counts the additional vectors of long memories; ``awaiting_passages`` the memories that were
    not checked for passages yet. ``links`` excludes co_access links. ``access_counts`` counts the accesses of
    all memories. ``never_used`` is the share of live memories that were never used; being stored or shown
    does not count. ``accesses_waiting`` are not folded yet, the oldest since ``waiting_since``.
    ``accents_off``: accents in words and names are ignored, which needs the extension unaccent. ``cell`` is
    the number of the cell, None where there are none. The vitality of nine tenths of the live memories lies
    between ``vitality_low`` and ``vitality_high``. ``alarms`` has a sentence for each problem that needs
    attention. ``replica`` is None without one.
    """

    tenant: str
    memories: int
    archived: int
    awaiting_embedding: int
    passages: int
    awaiting_passages: int
    access_counts: AccessCounts
    links: int
    links_pending: int
    layers: tuple[LayerStatus, ...]
    embedder: str | None
    dimensions: int
    language: str
    accents_off: bool
    revision: str
    cell: int | None
    server_version: str
    statistics_at: datetime | None
    never_used: float
    vitality_low: float | None
    vitality_high: float | None
    last_access_at: datetime | None
    accesses_waiting: int
    waiting_since: datetime | None
    jobs: tuple[JobStatus, ...]
    alarms: tuple[str, ...]
    replica: ReplicaStatus | None = None


@dataclass(frozen=True, slots=True)
class AlarmChange:
    """An alarm and its change since the last report to the alert hook.

    ``kind`` is its name, which stays the same while the sentence ``alarm`` changes. One that ended has no
    sentence.
    """

    kind: str
    alarm: str | None
    change: Literal["raised", "standing", "ended"]


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
