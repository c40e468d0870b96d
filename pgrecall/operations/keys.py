"""Keys of the HTTP service: made, revoked, listed, and recognised."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

from pgrecall.encoding import require_text
from pgrecall.errors import InvalidInput
from pgrecall.models.keys import ApiKey, IssuedKey, KeyHolder
from pgrecall.operations.operation import NOW, Operation

PREFIX = "pgr_"
_LARGEST = 2**63 - 1


def create_key(name: str, now: datetime | None) -> Operation[IssuedKey]:
    """Makes a key of 256 random bits for the tenant; the database is given its digest alone."""
    require_text(name, "The name of the key")
    secret = PREFIX + secrets.token_urlsafe(32)
    return Operation(
        f"SELECT * FROM recall.create_key(%(name)s, %(hash)s, {NOW})",
        {"name": name, "hash": digest(secret), "now": now},
        lambda rows: IssuedKey(ApiKey(**rows[0]), secret),
    )


def revoke_key(key: int, now: datetime | None) -> Operation[bool]:
    """Makes a key of the tenant useless; the result says whether that is a change."""
    if not 0 <= key <= _LARGEST:
        raise InvalidInput(f"There is no key {key} in this tenant.", hint="`pgrecall keys list` shows them.")
    return Operation(
        f"SELECT recall.revoke_key(%(key)s, {NOW}) AS revoked",
        {"key": key, "now": now},
        lambda rows: bool(rows[0]["revoked"]),
        repeatable=True,
    )


def keys() -> Operation[tuple[ApiKey, ...]]:
    """The tenant's keys, newest first."""
    return Operation(
        "SELECT * FROM recall.keys()", {}, lambda rows: tuple(ApiKey(**row) for row in rows), repeatable=True
    )


def any_key() -> Operation[bool]:
    """Whether any tenant of the database has a key that is not revoked."""
    return Operation(
        "SELECT recall.has_active_key() AS found", {}, lambda rows: bool(rows[0]["found"]), repeatable=True
    )


def holder_of_key(secret: str, now: datetime | None) -> Operation[KeyHolder | None]:
    """Whom this key acts for; None for a key that is unknown or revoked."""
    return Operation(
        f"SELECT * FROM recall.key_holder(%(hash)s, {NOW})",
        {"hash": digest(secret), "now": now},
        lambda rows: KeyHolder(rows[0]["tenant"], rows[0]["id"]) if rows else None,
        repeatable=True,
        durable=False,
    )


def digest(secret: str) -> bytes:
    """What the database knows a key by. How long a look-up of it takes tells nothing of a key's digits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
