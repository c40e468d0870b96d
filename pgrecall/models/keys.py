"""Keys of the HTTP service, without the secrets themselves."""

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
