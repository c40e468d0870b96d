"""Keys of the HTTP service, and figures of a whole database, without tenants and texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of a tenant. ``last_used_at`` is true to the minute; a key with ``revoked_at`` opens nothing."""

    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. ``secret`` is what its holder sends; it is kept nowhere and never printed by itself."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Who a valid key acts for."""

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
        administers: whether it may act as ``owner``, to whom nothing is closed.
        tenant: the tenant it acts for, whatever it asks; ``*``: any that it names; None: none.
        may: reader, app, worker or nothing.
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
class Census:
    """Figures of all tenants together."""

    zones: tuple[ZoneCount, ...]
    archived: int
    awaiting_embedding: int
    accesses_waiting: int
    jobs: tuple[JobCount, ...]
