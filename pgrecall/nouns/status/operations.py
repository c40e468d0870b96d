"""The SQL call for the state of a tenant."""

from __future__ import annotations

from datetime import datetime

from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.memories.models import AccessCounts
from pgrecall.nouns.operation import NOW, Operation, Row
from pgrecall.nouns.status.models import LayerStatus, Status


def status(now: datetime | None) -> Operation[Status]:
    """Reads the status of the tenant; the client adds jobs, revision and server version."""
    return Operation(
        f"SELECT recall.status({NOW}) AS status",
        {"now": now},
        lambda rows: _status(rows[0]["status"]),
        repeatable=True,
        reads=True,
    )


def _status(document: Row) -> Status:
    values = dict(document)
    values["layers"] = tuple(read_as(LayerStatus, layer) for layer in values["layers"])
    values["alarms"] = tuple(values["alarms"])
    values["access_counts"] = read_as(AccessCounts, values["access_counts"])
    for name in ("statistics_at", "last_access_at", "waiting_since"):
        values[name] = datetime.fromisoformat(values[name]) if values[name] else None
    return read_as(Status, values | {"revision": "", "server_version": "", "jobs": ()})
