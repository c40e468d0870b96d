"""Vaults with duplicates, and what tests of merges compare."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from pgrecall import Draft, Memory
from tests.conftest import NOW
from tests.databases import Query

_NUMBERS = count()
CONTRACT = "Mira signs the harbour contract with the owners"


def export(sql: Query, *, tenant: str = "acme") -> list[str]:
    """All lines of an export except those of plans, which tell what was done, in the header too."""
    rows = sql("SELECT recall.export_lines(p_now => %s) AS line", (NOW,), tenant=tenant)
    header, *lines = (row["line"] for row in rows)
    first: dict[str, Any] = json.loads(header)
    for kind in ("plan", "plan_item"):
        first["counts"].pop(kind)
    kept = [line for line in lines if next(iter(json.loads(line))) not in {"plan", "plan_item"}]
    return [json.dumps(first, sort_keys=True), *kept]


def store(memory: Memory, body: str, at: datetime = NOW - timedelta(days=100), **fields: Any) -> int:
    """Stores a memory, whatever it repeats; its id."""
    # A key keeps a text apart from the same one of another memory.
    fields.setdefault("key", f"key {next(_NUMBERS)}")
    [stored] = memory.remember_many([Draft(body, **fields)], now=at)
    return stored.id


def problems(sql: Query, *, tenant: str = "acme") -> list[Any]:
    """What verify finds."""
    [row] = sql("SELECT recall.verify(%s) AS found", (NOW,), tenant=tenant)
    return [(check["name"], check["examples"]) for check in row["found"]["checks"] if check["problems"]]


def activation(sql: Query, memory_id: int) -> dict[str, Any]:
    """The row of an activation."""
    [row] = sql("SELECT to_jsonb(a) AS row FROM recall.activation a WHERE a.memory_id = %s", (memory_id,))
    found: dict[str, Any] = row["row"]
    return found
