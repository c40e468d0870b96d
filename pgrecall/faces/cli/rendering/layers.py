"""Layers and settings, on a terminal and as documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pgrecall.faces.cli.rendering.search import ZONE_STYLES
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.models.layers import Layer, Setting
from pgrecall.vitality.score import ONE_ACCESS, TEN_DAILY, ZoneHorizon, days_in_zones

_HISTORIES = {"one_access": ONE_ACCESS, "ten_daily_accesses": TEN_DAILY}
_ZONES = ("active", "stale", "fading")
_UNITS = (("min", 1 / 1440), ("h", 1 / 24), ("d", 1.0), ("y", 365.25))


def show_layers(terminal: Terminal, layers: Sequence[Layer]) -> None:
    """What is set of each layer, then what that comes to."""
    rates = Table("layer", "rate", "reading", "decay", "birth", *_ZONES, "whose")
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
    terminal.show(rates)
    terminal.print("\nIn a zone until so long after the last access:", soft_wrap=True)
    days = Table("layer", "accesses", *((zone, ZONE_STYLES[zone]) for zone in _ZONES))
    for layer in layers:
        for told, history in (("one", ONE_ACCESS), ("ten, daily", TEN_DAILY)):
            horizon = days_in_zones(layer.rates, history)
            days.add_row(layer.name, told, *(duration(getattr(horizon, zone)) for zone in _ZONES))
    terminal.show(days)


def layer_documents(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    """Layers as JSON has them; ``days`` after the last access until which each zone lasts, null for ever."""
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


def show_settings(terminal: Terminal, settings: Sequence[Setting]) -> None:
    """A table of settings; values that are not the default stand out."""
    table = Table("setting", "value", "default", "bounds", "whose", "what it is")
    for setting in settings:
        table.add_row(
            setting.name,
            (_number(setting.value), "" if setting.source == "default" else "bold cyan"),
            _number(setting.default),
            f"{_number(setting.low)} to {_number(setting.high)}",
            "" if setting.source == "default" else setting.source,
            setting.about,
        )
    terminal.show(table)


def duration(days: float) -> str:
    """A number of days as people say it: 10.7 h, 5.4 d, 1.5 y; ``never`` for 0, ``for ever`` for inf."""
    if days == 0:
        return "never"
    if math.isinf(days):
        return "for ever"
    fitting = [(unit, length) for unit, length in _UNITS if days >= length]
    unit, length = fitting[-1] if fitting else _UNITS[0]
    number = days / length
    return f"{number:,.0f} {unit}" if number >= 99.95 else f"{round(number, 1):g} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:g}"


def _days(horizon: ZoneHorizon) -> dict[str, float | None]:
    days = {zone: getattr(horizon, zone) for zone in _ZONES}
    return {zone: None if math.isinf(value) else value for zone, value in days.items()}
