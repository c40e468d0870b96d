"""Status of a tenant, figures of the whole database, positions in its log, and keys of the HTTP service."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

from pgrecall.database.log_positions import PRIMARY, REPLICA, Server, server_of
from pgrecall.encoding import MAX_ID, require_text
from pgrecall.errors import InvalidInput
from pgrecall.models.maintenance import LayerStatus, Status
from pgrecall.models.memories import AccessCounts
from pgrecall.models.reading import read_as
from pgrecall.models.service import (
    ApiKey,
    Caller,
    Census,
    IssuedKey,
    JobCount,
    KeyHolder,
    SchemaStamp,
    ZoneCount,
)
from pgrecall.operations.operation import NOW, Operation, Row

PREFIX = "pgr_"
READ_ONLY_PREFIX = f"{PREFIX}read_"
"""Prefix of the secret of a read-only key. The stored digest is that of the whole secret, so its holder
cannot turn it into another key."""


def status(now: datetime | None) -> Operation[Status]:
    """Reads the status of the tenant; the client adds jobs, revision and server version."""
    return Operation(
        f"SELECT recall.status({NOW}) AS status",
        {"now": now},
        lambda rows: _status(rows[0]["status"]),
        repeatable=True,
        reads=True,
    )


def server_version() -> Operation[str]:
    """Reads the version of Postgres, as in ``18.1``."""
    return Operation(
        "SELECT current_setting('server_version') AS version",
        {},
        lambda rows: str(rows[0]["version"]),
        repeatable=True,
        reads=True,
    )


def primary_position() -> Operation[Server]:
    """Reads the end of a primary's log, before which everything committed lies. A standby returns nothing."""
    return Operation(PRIMARY, {}, server_of, repeatable=True, reads=True)


def replica_position() -> Operation[Server]:
    """Reads how much of its primary's log a standby has replayed. A primary returns nothing."""
    return Operation(REPLICA, {}, server_of, repeatable=True, reads=True)


def schema_state() -> Operation[SchemaStamp]:
    """Reads the schema version of the database."""
    return Operation(
        "SELECT * FROM recall.schema_state()", {}, lambda rows: read_as(SchemaStamp, rows[0]), repeatable=True
    )


def caller() -> Operation[Caller]:
    """Reads the login role and its privileges."""
    return Operation(
        "SELECT * FROM recall.caller()", {}, lambda rows: read_as(Caller, rows[0]), repeatable=True
    )


def admit_tenant() -> Operation[bool]:
    """Admits a tenant to the cell in which the directory has placed it; returns whether it is new."""
    return Operation(
        "SELECT recall.admit_tenant() AS admitted",
        {},
        lambda rows: bool(rows[0]["admitted"]),
        repeatable=True,
    )


def census() -> Operation[Census]:
    """Computes figures of all tenants together; reads every memory."""
    return Operation(
        "SELECT recall.census() AS census", {}, lambda rows: _census(rows[0]["census"]), repeatable=True
    )


def _census(document: Row) -> Census:
    zones = tuple(read_as(ZoneCount, entry) for entry in document["zones"])
    jobs = tuple(read_as(JobCount, entry) for entry in document["jobs"])
    return read_as(Census, {**document, "zones": zones, "jobs": jobs})


def _status(document: Row) -> Status:
    values = dict(document)
    values["layers"] = tuple(read_as(LayerStatus, layer) for layer in values["layers"])
    values["alarms"] = tuple(values["alarms"])
    values["access_counts"] = read_as(AccessCounts, values["access_counts"])
    for name in ("statistics_at", "last_access_at", "waiting_since"):
        values[name] = datetime.fromisoformat(values[name]) if values[name] else None
    return read_as(Status, values | {"revision": "", "server_version": "", "jobs": ()})


def create_key(name: str, now: datetime | None, read_only: bool = False) -> Operation[IssuedKey]:
    """Creates a key of 256 random bits for the tenant; the database stores only its digest."""
    require_text(name, "The name of the key")
    secret = (READ_ONLY_PREFIX if read_only else PREFIX) + secrets.token_urlsafe(32)
    while not read_only and is_read_only(secret):  # happens once in a billion keys
        secret = PREFIX + secrets.token_urlsafe(32)
    return Operation(
        f"SELECT * FROM recall.create_key(%(name)s, %(hash)s, {NOW}, %(read_only)s)",
        {"name": name, "hash": digest(secret), "now": now, "read_only": read_only},
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
        f"SELECT recall.revoke_key(%(key)s, {NOW}) AS revoked",
        {"key": key, "now": now},
        lambda rows: bool(rows[0]["revoked"]),
        repeatable=True,
    )


def keys() -> Operation[tuple[ApiKey, ...]]:
    """Lists the tenant's keys, newest first."""
    return Operation(
        "SELECT * FROM recall.keys()",
        {},
        lambda rows: tuple(read_as(ApiKey, row) for row in rows),
        repeatable=True,
    )


def has_active_key() -> Operation[bool]:
    """Returns whether any tenant of the database has a key that is not revoked."""
    return Operation(
        "SELECT recall.has_active_key() AS found", {}, lambda rows: bool(rows[0]["found"]), repeatable=True
    )


def key_holder(secret: str, now: datetime | None) -> Operation[KeyHolder | None]:
    """Finds the tenant of a key; None if the key is unknown or revoked."""
    return Operation(
        f"SELECT * FROM recall.key_holder(%(hash)s, {NOW})",
        {"hash": digest(secret), "now": now},
        lambda rows: KeyHolder(rows[0]["tenant"], rows[0]["id"]) if rows else None,
        repeatable=True,
        durable=False,
    )


def open_page_session(secret: str, cookie: str, seconds: int) -> Operation[bool]:
    """Opens a session of the page for a key; returns False if the key is unknown or revoked."""
    return Operation(
        "SELECT recall.open_page_session(%(hash)s, %(digest)s, %(seconds)s) AS opened",
        {"hash": digest(secret), "digest": digest(cookie), "seconds": seconds},
        lambda rows: bool(rows[0]["opened"]),
    )


def page_session_tenant(cookie: str) -> Operation[str | None]:
    """Finds the tenant of a session; None if there is none, it has ended, or its key was revoked."""
    return Operation(
        "SELECT recall.page_session_tenant(%(digest)s) AS tenant",
        {"digest": digest(cookie)},
        lambda rows: rows[0]["tenant"],
        repeatable=True,
    )


def close_page_session(cookie: str) -> Operation[bool]:
    """Ends a session; returns whether there was one."""
    return Operation(
        "SELECT recall.close_page_session(%(digest)s) AS closed",
        {"digest": digest(cookie)},
        lambda rows: bool(rows[0]["closed"]),
        repeatable=True,
    )


def digest(secret: str) -> bytes:
    """Returns the SHA-256 digest of a key. The duration of a lookup by digest reveals nothing about the
    key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
