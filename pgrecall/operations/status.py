"""What a tenant holds as a whole, and what is counted of it."""

from __future__ import annotations

from datetime import datetime

from pgrecall.models.maintenance import LayerStatus, Status
from pgrecall.operations.operation import NOW, Operation, Row


def refresh_statistics(now: datetime | None) -> Operation[int]:
    """Recounts document frequencies and layer medians; the result is how many memories were counted."""
    return Operation(
        f"SELECT recall.refresh_statistics({NOW}) AS counted",
        {"now": now},
        lambda rows: int(rows[0]["counted"]),
        repeatable=True,
    )


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


def _status(document: Row) -> Status:
    values = dict(document)
    values["layers"] = tuple(LayerStatus(**layer) for layer in values["layers"])
    values["alarms"] = tuple(values["alarms"])
    for name in ("statistics_at", "last_access_at", "waiting_since"):
        values[name] = datetime.fromisoformat(values[name]) if values[name] else None
    return Status(**(values | {"revision": "", "server_version": "", "jobs": ()}))
