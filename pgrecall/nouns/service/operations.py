"""Status of a tenant, figures of the whole database, positions in its log, and keys of the HTTP service."""

from __future__ import annotations

from pgrecall.database.log_positions import PRIMARY, REPLICA, Server, server_of
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.operation import Operation, Row, read_bool, read_str
from pgrecall.nouns.service.models import Caller, Census, JobCount, SchemaStamp, ZoneCount


def server_version() -> Operation[str]:
    """Reads the version of Postgres, as in ``18.1``."""
    return Operation(
        "SELECT current_setting('server_version')",
        {},
        read_str,
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
        "SELECT recall.admit_tenant()",
        {},
        read_bool,
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
