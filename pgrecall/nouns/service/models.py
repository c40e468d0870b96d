"""Keys of the HTTP service, the caller's role, and figures of the whole database and of all cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SchemaStamp:
    """The schema version of a database: revision of its tables, fingerprint of its functions."""

    revision: str | None
    functions: str | None


@dataclass(frozen=True, slots=True)
class Caller:
    """The login role of a connection, and its privileges.

    Attributes:
        role: the role that logged in; SET ROLE does not change it.
        superuser, bypasses: whether it is a superuser, or bypasses row security.
        administers: whether it may act as ``owner``, who has access to everything.
        tenant: the tenant it is bound to; ``*``: it may name any tenant; None: it may act for none.
        may: its privileges: reader, app, worker or nothing.
    """

    role: str
    superuser: bool
    bypasses: bool
    administers: bool
    tenant: str | None
    may: str
    owner: str


@dataclass(frozen=True, slots=True)
class ZoneCount:
    """Live memories of a layer in a zone; ``zone`` is None before the job ``vitality`` has run."""

    layer: str
    zone: str | None
    memories: int


@dataclass(frozen=True, slots=True)
class JobCount:
    """A job's last runs: number of tenants, of running and of failed runs, and when the newest successful one
    ended (seconds since 1970, None without one)."""

    job: str
    tenants: int
    running: int
    failed: int
    done_at: float | None


@dataclass(frozen=True, slots=True)
class CellReport:
    """A cell in the directory, and its state when asked.

    Attributes:
        tenants, bytes: number of tenants placed there, and its size when last recorded.
        draining: whether new tenants are placed elsewhere.
        has_replica: whether a standby can answer its searches.
        revision: revision of its schema; None while it does not answer.
        problem: why it does not answer; empty when it does.
    """

    number: int
    tenants: int
    bytes: int
    draining: bool
    has_replica: bool
    revision: str | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class MoveReport:
    """A tenant that moves. ``step`` is ``flipped`` once it lives in its new cell; old rows may remain."""

    tenant: str
    source: int
    target: int
    step: str
    began_at: datetime


@dataclass(frozen=True, slots=True)
class CellsReport:
    """All cells of an installation, and the moves between them."""

    cells: tuple[CellReport, ...]
    moves: tuple[MoveReport, ...]


@dataclass(frozen=True, slots=True)
class Census:
    """Figures of all tenants together; with ``cells``, of all cells that answer."""

    zones: tuple[ZoneCount, ...]
    archived: int
    awaiting_embedding: int
    accesses_waiting: int
    jobs: tuple[JobCount, ...]
    cells: CellsReport | None = None


def sum_censuses(censuses: Sequence[Census], cells: CellsReport) -> Census:
    """Adds up the figures of several cells."""
    zones: dict[tuple[str, str | None], int] = {}
    for count in (count for census in censuses for count in census.zones):
        zones[count.layer, count.zone] = zones.get((count.layer, count.zone), 0) + count.memories
    jobs: dict[str, list[JobCount]] = {}
    for job in (job for census in censuses for job in census.jobs):
        jobs.setdefault(job.job, []).append(job)
    return Census(
        tuple(ZoneCount(layer, zone, memories) for (layer, zone), memories in zones.items()),
        sum(census.archived for census in censuses),
        sum(census.awaiting_embedding for census in censuses),
        sum(census.accesses_waiting for census in censuses),
        tuple(_sum_jobs(name, jobs[name]) for name in sorted(jobs)),
        cells,
    )


def _sum_jobs(name: str, counts: Iterable[JobCount]) -> JobCount:
    counts = tuple(counts)
    return JobCount(
        name,
        sum(count.tenants for count in counts),
        sum(count.running for count in counts),
        sum(count.failed for count in counts),
        max((count.done_at for count in counts if count.done_at is not None), default=None),
    )
