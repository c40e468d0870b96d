"""The use of memories, logged."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pgrecall.encoding import to_json
from pgrecall.models.access import Access
from pgrecall.operations.operation import NOW, Operation


def record_access(access: Access, now: datetime | None) -> Operation[bool]:
    """Logs one use; the result says whether it was not seen before."""
    logged = record_accesses([access], now)
    return Operation(
        logged.sql, logged.parameters, lambda rows: logged.read(rows) == 1, repeatable=logged.repeatable
    )


def record_accesses(accesses: Iterable[Access], now: datetime | None) -> Operation[int]:
    """Logs uses; the result counts those not seen before (by idempotency key)."""
    items = [
        {
            ("key" if isinstance(access.memory, str) else "memory_id"): access.memory,
            "kind": access.kind,
            "at": access.at,
            "session_id": access.session_id,
            "idempotency_key": access.idempotency_key,
        }
        for access in accesses
    ]
    return Operation(
        f"SELECT recall.record_accesses(%(items)s, {NOW}) AS new",
        {"items": to_json(items), "now": now},
        lambda rows: int(rows[0]["new"]),
        repeatable=all(item["idempotency_key"] is not None for item in items),
    )
