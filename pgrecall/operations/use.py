"""The use of memories, logged."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pgrecall.encoding import to_json
from pgrecall.models import Access
from pgrecall.operations.base import NOW, Operation


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
