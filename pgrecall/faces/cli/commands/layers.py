"""Commands about layers: how fast each forgets, changing that, presets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click

from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import CommandGroup
from pgrecall.faces.cli.rendering.console import ZONE_STYLES, SafeConsole, styled, table
from pgrecall.nouns.layers._sync import LayersGroup
from pgrecall.nouns.layers.models import Layer
from pgrecall.vitality.score import ONE_ACCESS, TEN_DAILY, ZoneHorizon, days_in_zones

_HISTORIES = {"one_access": ONE_ACCESS, "ten_daily_accesses": TEN_DAILY}
_ZONES = ("active", "stale", "fading")
_HOW_LONG = "Also shows how long one access or ten daily ones keep a memory in each zone."
_UNITS = (("min", 1 / 1440), ("h", 1 / 24), ("d", 1.0), ("y", 365.25))


@click.group("layers", cls=CommandGroup)
def layers() -> None:
    """Show and change how fast each layer forgets."""


def _show_effect(console: SafeConsole, changed: int) -> None:
    aging = "1 memory ages" if changed == 1 else f"{changed:,} memories age"
    console.print(f"Set. {aging} differently now.")


def show_layers(console: SafeConsole, layers: Sequence[Layer]) -> None:
    """The rates of each layer, then how long they keep a memory in each zone."""
    rates = table("layer", "rate", "reading", "decay", "birth", *_ZONES, "source")
    for layer in layers:
        zones = layer.rates.zones
        numbers = (layer.rates.birth_weight, zones.active, zones.stale, zones.fading)
        rates.add_row(
            layer.name,
            f"{layer.rates.metabolic_rate:g}",
            layer.rates.reading,
            f"{layer.rates.base_decay:g}",
            *(f"{number:g}" for number in numbers),
            layer.source,
        )
    console.print(rates)
    console.print("\nTime after the last access until a memory leaves each zone:")
    days = table("layer", "accesses", *(styled((zone, ZONE_STYLES[zone])) for zone in _ZONES))
    for layer in layers:
        for label, history in (("one", ONE_ACCESS), ("ten, daily", TEN_DAILY)):
            horizon = days_in_zones(layer.rates, history)
            days.add_row(layer.name, label, *(duration(getattr(horizon, zone)) for zone in _ZONES))
    console.print(days)


def layer_documents(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    """Layers as JSON; ``days`` are days after the last access until a zone ends, null if it never does."""
    return [
        {
            "name": layer.name,
            "source": layer.source,
            "metabolic_rate": layer.rates.metabolic_rate,
            "reading": layer.rates.reading,
            "base_decay": layer.rates.base_decay,
            "clock": layer.rates.clock,
            "decay": layer.rates.effective_decay,
            "birth_weight": layer.rates.birth_weight,
            "zones": {zone: getattr(layer.rates.zones, zone) for zone in _ZONES},
            "profile": layer.profile,
            "median_base": layer.median_base,
            "days": {
                name: _days(days_in_zones(layer.rates, history)) for name, history in _HISTORIES.items()
            },
        }
        for layer in layers
    ]


def duration(days: float) -> str:
    """A number of days in a fitting unit: 10.7 h, 5.4 d, 1.5 y; ``never`` for 0, ``for ever`` for inf."""
    if days == 0:
        return "never"
    if math.isinf(days):
        return "for ever"
    fitting = [(unit, length) for unit, length in _UNITS if days >= length]
    unit, length = fitting[-1] if fitting else _UNITS[0]
    number = days / length
    return f"{number:,.0f} {unit}" if number >= 99.95 else f"{round(number, 1):g} {unit}"


def _days(horizon: ZoneHorizon) -> dict[str, float | None]:
    days = {zone: getattr(horizon, zone) for zone in _ZONES}
    return {zone: None if math.isinf(value) else value for zone, value in days.items()}


add_commands(
    layers,
    "list set preset drop",
    command("list", LayersGroup.list, show_layers, document=layer_documents, more=_HOW_LONG),
    command(
        "set",
        LayersGroup.set,
        _show_effect,
        options={"metabolic_rate": "--rate", "base_decay": "--decay"},
    ),
    command("preset", LayersGroup.use_preset, _show_effect),
    command(
        "drop",
        LayersGroup.drop,
        "Dropped.",
        otherwise="Layer {name} belongs to the database; this tenant has no row of its own.",
        more="Exit code 1 when the tenant has none.",
    ),
    of=LayersGroup,
)
