"""What a service asks of the database as a whole."""

from __future__ import annotations

from pgrecall.models.service import Caller, Census, JobCount, SchemaStamp, ZoneCount
from pgrecall.operations.operation import Operation, Row


def schema_state() -> Operation[SchemaStamp]:
    """The schema the database has now."""
    return Operation(
        "SELECT * FROM recall.schema_state()", {}, lambda rows: SchemaStamp(**rows[0]), repeatable=True
    )


def caller() -> Operation[Caller]:
    """The role that speaks, and what it may do."""
    return Operation("SELECT * FROM recall.caller()", {}, lambda rows: Caller(**rows[0]), repeatable=True)


def census() -> Operation[Census]:
    """Figures of all tenants together; reads every memory."""
    return Operation(
        "SELECT recall.census() AS census", {}, lambda rows: _census(rows[0]["census"]), repeatable=True
    )


def _census(document: Row) -> Census:
    zones = tuple(ZoneCount(**entry) for entry in document["zones"])
    jobs = tuple(JobCount(**entry) for entry in document["jobs"])
    return Census(**{**document, "zones": zones, "jobs": jobs})
