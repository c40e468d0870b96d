"""Keys of the HTTP service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of a tenant. ``last_used_at`` is accurate to the minute; one with ``revoked_at`` is invalid.

    ``also_reads`` are shared tenants that its searches also rank.
    """

    id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    read_only: bool
    also_reads: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. ``secret``, which its holder sends, is not stored and not part of the repr."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The tenant that a valid key acts for, and the shared tenants that its searches also rank."""

    tenant: str
    key_id: int
    also_reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """What a key lets a client of OAuth do, as one of its tokens shows it.

    ``usable``: whether this token may be used now, until ``ends_at``; if not, it was replaced by another.
    ``terms`` are what the grant was opened with; ``also_reads`` are those of the key.
    """

    tenant: str
    terms: dict[str, Any]
    usable: bool
    ends_at: datetime
    also_reads: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class OpenGrant:
    """What a person lets a program do with a key, by OAuth.

    Attributes:
        id: names the grant; it is no secret.
        client: what the program calls itself; nobody has checked it.
        redirect: the address that the program had its code sent to.
        scopes: ``read``, ``write`` or both.
        key_id: id of the key with which the person signed in.
        key_name: name of that key.
        ends_at: when it ends unless the program uses it.
    """

    id: str
    client: str
    redirect: str
    scopes: Sequence[str]
    key_id: int
    key_name: str
    ends_at: datetime
