"""Keys of the HTTP service, the caller's role, and figures of the whole database, also of several cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of a tenant. ``last_used_at`` is accurate to the minute; one with ``revoked_at`` is invalid."""

    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    read_only: bool


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. Its holder sends ``secret``, which is not stored and not part of the repr."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The tenant that a valid key acts for."""

    tenant: str
    key_id: int


@dataclass(frozen=True, slots=True)
class SchemaStamp:
    """The schema a database has: revision of its tables, fingerprint of its functions."""

    revision: str | None
    functions: str | None


@dataclass(frozen=True, slots=True)
class Caller:
    """The login role of a connection, and what it may do here.

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
    """A job's last runs: tenants it ran for, how many of them run now, how many failed, and when the newest
    that succeeded ended (seconds since 1970, None without one)."""

    job: str
    tenants: int
    running: int
    failed: int
    done_at: float | None


@dataclass(frozen=True, slots=True)
class CellReport:
    """A cell as the directory has it, and as it answers.

    Attributes:
        tenants, bytes: how many were placed there, and what it held when that was last noted.
        draining: whether no new tenant is placed there.
        has_replica: whether a standby may answer its searches.
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
    """Every cell of an installation, and what is in motion between them."""

    cells: tuple[CellReport, ...]
    moves: tuple[MoveReport, ...]


@dataclass(frozen=True, slots=True)
class Census:
    """Figures of all tenants together; with ``cells`` of all cells that answer."""

    zones: tuple[ZoneCount, ...]
    archived: int
    awaiting_embedding: int
    accesses_waiting: int
    jobs: tuple[JobCount, ...]
    cells: CellsReport | None = None


def sum_censuses(censuses: Sequence[Census], cells: CellsReport) -> Census:
    """The figures of the tenants of all these cells together."""
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
        tuple(_job(name, jobs[name]) for name in sorted(jobs)),
        cells,
    )


def _job(name: str, counts: Iterable[JobCount]) -> JobCount:
    counts = tuple(counts)
    return JobCount(
        name,
        sum(count.tenants for count in counts),
        sum(count.running for count in counts),
        sum(count.failed for count in counts),
        max((count.done_at for count in counts if count.done_at is not None), default=None),
    )
