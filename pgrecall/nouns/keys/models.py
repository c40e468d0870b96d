"""Keys of the HTTP service."""

from __future__ import annotations

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
    """A new key. ``secret``, which its holder sends, is not stored and not part of the repr."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The tenant that a valid key acts for."""

    tenant: str
    key_id: int
