"""What a service tells whoever runs it: figures of a whole database, without tenants and texts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchemaStamp:
    """The schema a database has: revision of its tables, fingerprint of its functions."""

    revision: str | None
    functions: str | None


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
class Census:
    """Figures of all tenants together."""

    zones: tuple[ZoneCount, ...]
    archived: int
    awaiting_embedding: int
    accesses_waiting: int
    jobs: tuple[JobCount, ...]
