"""SQL calls for keys, sessions of the page and grants of OAuth."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pgrecall.encoding import MAX_ID, require_text
from pgrecall.errors import InvalidInput
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.keys.models import ApiKey, Grant, IssuedKey, KeyHolder
from pgrecall.nouns.operation import NOW, Operation, Row, read_bool, read_value

PREFIX = "pgr_"

TokenKind = Literal["c", "r", "a"]
"""A code, a refresh token or an access token."""

TOKEN = re.compile(r"pgo_(?P<kind>[cra])(?P<name>[A-Za-z0-9_-]{22})[A-Za-z0-9_-]{43}")
"""Tokens of a grant; all of one grant have its name, 128 random bits."""


READ_ONLY_PREFIX = f"{PREFIX}read_"
"""Prefix of the secret of a read-only key. The stored digest is that of the whole secret, so its holder
cannot turn it into another key."""


def create_key(
    name: str, now: datetime | None, read_only: bool = False, also_reads: Sequence[str] = ()
) -> Operation[IssuedKey]:
    """Creates a key of 256 random bits for the tenant; the database stores only its digest."""
    require_text(name, "The name of the key")
    for tenant in also_reads:
        require_text(tenant, "A tenant that the key also reads")
    secret = (READ_ONLY_PREFIX if read_only else PREFIX) + secrets.token_urlsafe(32)
    while not read_only and is_read_only(secret):  # happens once in a billion keys
        secret = PREFIX + secrets.token_urlsafe(32)
    return Operation(
        f"SELECT * FROM recall.create_key(%(name)s, %(hash)s, {NOW}, %(read_only)s, %(also_reads)s)",
        {
            "name": name,
            "hash": digest(secret),
            "now": now,
            "read_only": read_only,
            "also_reads": list(also_reads),
        },
        lambda rows: IssuedKey(read_as(ApiKey, rows[0]), secret),
    )


def is_read_only(secret: str) -> bool:
    """Returns whether a key may only read."""
    return secret.startswith(READ_ONLY_PREFIX)


def revoke_key(key: int, now: datetime | None) -> Operation[bool]:
    """Revokes a key of the tenant; returns whether anything changed."""
    if not 0 <= key <= MAX_ID:
        raise InvalidInput(f"There is no key {key} in this tenant.", hint="`pgrecall keys list` shows them.")
    return Operation(
        f"SELECT recall.revoke_key(%(key)s, {NOW})",
        {"key": key, "now": now},
        read_bool,
        repeatable=True,
    )


def has_active_key() -> Operation[bool]:
    """Returns whether any tenant of the database has a key that is not revoked."""
    return Operation("SELECT recall.has_active_key()", {}, read_bool, repeatable=True)


def key_holder(secret: str, now: datetime | None) -> Operation[KeyHolder | None]:
    """Finds the tenant of a key; None if the key is unknown or revoked."""
    return Operation(
        f"SELECT * FROM recall.key_holder(%(hash)s, {NOW})",
        {"hash": digest(secret), "now": now},
        lambda rows: _holder(rows[0]) if rows else None,
        repeatable=True,
        durable=False,
    )


def _holder(row: Row) -> KeyHolder:
    # A cell of an earlier version knows no shared tenants; its keys work on while others are upgraded.
    return KeyHolder(row["tenant"], row["id"], tuple(row.get("also_reads") or ()))


def open_page_session(secret: str, cookie: str, seconds: int) -> Operation[bool]:
    """Opens a session of the page for a key; returns False if the key is unknown or revoked."""
    return Operation(
        "SELECT recall.open_page_session(%(hash)s, %(digest)s, %(seconds)s)",
        {"hash": digest(secret), "digest": digest(cookie), "seconds": seconds},
        read_bool,
    )


def page_session_tenant(cookie: str) -> Operation[str | None]:
    """Finds the tenant of a session; None if there is none, it has ended, or its key was revoked."""
    return Operation(
        "SELECT recall.page_session_tenant(%(digest)s)",
        {"digest": digest(cookie)},
        read_value,
        repeatable=True,
    )


def close_page_session(cookie: str) -> Operation[bool]:
    """Ends a session; returns whether there was one."""
    return Operation(
        "SELECT recall.close_page_session(%(digest)s)",
        {"digest": digest(cookie)},
        read_bool,
        repeatable=True,
    )


def open_grant(cookie: str, code: str, terms: Mapping[str, Any], seconds: int) -> Operation[bool]:
    """Opens a grant for the key of a session; returns False if that has ended or may only read."""
    return Operation(
        "SELECT recall.open_grant(%(cookie)s, %(digest)s, %(secret)s, %(terms)s::jsonb, %(seconds)s)",
        {"cookie": digest(cookie), **_digests(code), "terms": json.dumps(dict(terms)), "seconds": seconds},
        read_bool,
    )


def find_grant(token: str) -> Operation[Grant | None]:
    """Finds the grant of a token; None if it or its key has ended."""
    return Operation(
        "SELECT * FROM recall.find_grant(%(digest)s, %(secret)s)",
        _digests(token),
        lambda rows: read_as(Grant, rows[0]) if rows else None,
        repeatable=True,
        durable=False,
    )


def exchange_grant(
    token: str, following: str, access: str, access_seconds: int, seconds: int
) -> Operation[bool]:
    """Replaces the tokens of a grant; returns False if it has ended, which one exchanged before does."""
    return Operation(
        "SELECT recall.exchange_grant("
        "%(digest)s, %(secret)s, %(following)s, %(access)s, %(access_seconds)s, %(seconds)s)",
        {
            **_digests(token),
            "following": digest(following),
            "access": digest(access),
            "access_seconds": access_seconds,
            "seconds": seconds,
        },
        read_bool,
    )


def close_grant(token: str) -> Operation[bool]:
    """Ends the grant of a token; returns whether there was one."""
    return Operation(
        "SELECT recall.close_grant(%(digest)s)",
        {"digest": _digests(token)["digest"]},
        read_bool,
        repeatable=True,
    )


def end_grant(grant: str) -> Operation[bool]:
    """Ends the grant with this id; returns whether there was one."""
    require_text(grant, "The grant")
    return Operation(
        "SELECT recall.end_grant(%(grant)s)",
        {"grant": grant},
        read_bool,
        repeatable=True,
    )


def grant_name(token: str) -> str:
    """Returns the part of a token that all tokens of its grant share.

    Raises:
        InvalidInput: it is none.
    """
    match = TOKEN.fullmatch(token)
    if match is None:
        raise InvalidInput("This is not an OAuth token.", hint="Give one that this service has issued.")
    return match["name"]


def new_token(kind: TokenKind, name: str = "") -> str:
    """Creates a token of 256 random bits, of the grant with this name or of a new one."""
    return f"pgo_{kind}{name or secrets.token_urlsafe(16)}{secrets.token_urlsafe(32)}"


def _digests(token: str) -> dict[str, bytes]:
    return {"digest": digest(grant_name(token)), "secret": digest(token)}


def digest(secret: str) -> bytes:
    """Returns the SHA-256 digest of a key. The duration of a lookup by digest reveals nothing about the
    key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
