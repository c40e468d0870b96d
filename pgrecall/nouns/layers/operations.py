"""Listing, setting and resetting layers, settings and the language of a tenant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pgrecall.encoding import require_text
from pgrecall.nouns.layers.models import Layer
from pgrecall.nouns.operation import NOW, Operation, Row, read_bool, read_int
from pgrecall.vitality.parameters import LayerRates, ZoneThresholds

_FIELDS = ("metabolic_rate", "reading", "base_decay", "birth_weight", "active", "stale", "fading", "profile")


def layers() -> Operation[tuple[Layer, ...]]:
    """Lists every layer the tenant can use, by name."""
    return Operation(
        "SELECT * FROM recall.layers()",
        {},
        lambda rows: tuple(_layer(row) for row in rows),
        repeatable=True,
        reads=True,
    )


def set_layer(name: str, fields: Mapping[str, object], now: datetime | None) -> Operation[int]:
    """Creates or changes a layer of the tenant; returns how many memories now age differently."""
    require_text(name, "The name of the layer")
    for field in ("reading", "profile"):
        require_text(str(fields.get(field) or ""), f"The {field} of the layer")
    given = ", ".join(f"p_{field} => %({field})s" for field in _FIELDS)
    return Operation(
        f"SELECT recall.set_layer(%(name)s, {given}, p_now => {NOW})",
        {"name": name, "now": now, **{field: fields.get(field) for field in _FIELDS}},
        read_int,
        repeatable=True,
    )


def drop_layer(name: str, now: datetime | None) -> Operation[bool]:
    """Deletes the tenant's own layer; returns whether there was one."""
    require_text(name, "The name of the layer")
    return Operation(
        f"SELECT recall.drop_layer(%(name)s, {NOW})",
        {"name": name, "now": now},
        read_bool,
    )


def use_preset(name: str, now: datetime | None) -> Operation[int]:
    """Copies the layers of a preset to the tenant; returns how many memories now age differently."""
    require_text(name, "The name of the preset")
    return Operation(
        f"SELECT recall.use_preset(%(name)s, {NOW})",
        {"name": name, "now": now},
        read_int,
        repeatable=True,
    )


def _layer(row: Row) -> Layer:
    zones = ZoneThresholds(row["active"], row["stale"], row["fading"])
    rates = LayerRates(row["metabolic_rate"], row["reading"], row["base_decay"], row["birth_weight"], zones)
    return Layer(row["name"], rates, row["profile"], row["median_base"], row["source"])
