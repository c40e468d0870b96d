"""Layers in tests: set, read and compared with the mathematics."""

from __future__ import annotations

from typing import Any

from pgrecall.vitality.parameters import LayerRates, ZoneThresholds
from tests.databases import Query
from tests.integration.access.use_tools import state

OWN = {"metabolic_rate": 4.0, "base_decay": 0.7, "active": 0.5, "stale": 0.2, "fading": 0.02}
OWN_RATES = LayerRates(4.0, "clock", 0.7, 1.0, ZoneThresholds(0.5, 0.2, 0.02))


def set_layer(sql: Query, name: str, *, tenant: str = "acme", **fields: Any) -> int:
    """Sets a layer in SQL; returns how many memories age differently."""
    given = ", ".join(f"p_{field} => %({field})s" for field in fields)
    call = f"SELECT recall.set_layer(%(name)s{', ' + given if given else ''}) AS changed"
    return int(sql(call, {"name": name, **fields}, tenant=tenant)[0]["changed"])


def drop_layer(sql: Query, name: str) -> bool:
    return bool(sql("SELECT recall.drop_layer(%s) AS dropped", (name,))[0]["dropped"])


def layers(sql: Query, *, tenant: str = "acme") -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in sql("SELECT * FROM recall.layers()", tenant=tenant)}


def rates(row: dict[str, Any]) -> LayerRates:
    zones = ZoneThresholds(row["active"], row["stale"], row["fading"])
    return LayerRates(row["metabolic_rate"], row["reading"], row["base_decay"], row["birth_weight"], zones)


def pace(sql: Query, memory: int) -> tuple[float, float]:
    row = state(sql, memory)
    return row["clock"], row["decay"]
