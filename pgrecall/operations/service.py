"""The state of a tenant and of the whole database: what it holds, its schema, who asks."""

from __future__ import annotations

from datetime import datetime

from pgrecall.models.maintenance import LayerStatus, Status
from pgrecall.models.service import Caller, Census, JobCount, SchemaStamp, ZoneCount
from pgrecall.operations.operation import NOW, Operation, Row


def status(now: datetime | None) -> Operation[Status]:
    """What the tenant holds; jobs, revision and server are left to whoever knows them."""
    return Operation(
        f"SELECT recall.status({NOW}) AS status",
        {"now": now},
        lambda rows: _status(rows[0]["status"]),
        repeatable=True,
    )


def server_version() -> Operation[str]:
    """The version of Postgres, as its makers write it: ``18.1``."""
    return Operation(
        "SELECT current_setting('server_version') AS version",
        {},
        lambda rows: str(rows[0]["version"]),
        repeatable=True,
    )


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


def _status(document: Row) -> Status:
    values = dict(document)
    values["layers"] = tuple(LayerStatus(**layer) for layer in values["layers"])
    values["alarms"] = tuple(values["alarms"])
    for name in ("statistics_at", "last_access_at", "waiting_since"):
        values[name] = datetime.fromisoformat(values[name]) if values[name] else None
    return Status(**(values | {"revision": "", "server_version": "", "jobs": ()}))
