"""Commands about layers: how fast each forgets, changing that, presets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import click
from click.exceptions import Exit

from pgrecall.faces.cli.invocation import NOTHING_FOUND, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.console import (
    ZONE_STYLES,
    SafeConsole,
    notes,
    output,
    print_json,
    styled,
    table,
)
from pgrecall.nouns.layers.models import Layer
from pgrecall.vitality.parameters import Preset, Reading
from pgrecall.vitality.score import ONE_ACCESS, TEN_DAILY, ZoneHorizon, days_in_zones

_HISTORIES = {"one_access": ONE_ACCESS, "ten_daily_accesses": TEN_DAILY}
_ZONES = ("active", "stale", "fading")
_UNITS = (("min", 1 / 1440), ("h", 1 / 24), ("d", 1.0), ("y", 365.25))

layer_argument = click.argument("name", type=TEXT, metavar="NAME", help="Name of the layer.")


@click.group("layers", cls=CommandGroup)
def layers() -> None:
    """Show and change how fast each layer forgets."""


@layers.command("list")
@json_option
@pass_globals
def list_(given: GlobalOptions, as_json: bool) -> None:
    """List the rates of each layer, and how long one access or ten daily ones keep a memory in each zone."""
    with given.opened() as memory:
        found = memory.layers.list()
    if as_json:
        print_json(layer_documents(found))
    else:
        show_layers(output(), found)


@layers.command("set")
@layer_argument
@click.option("--rate", type=float, help="Metabolic rate: how many times faster than 1.")
@click.option(
    "--reading",
    type=click.Choice(get_args(Reading)),
    help="Whether the rate scales the clock or the exponent.",
)
@click.option("--decay", type=float, help="Base decay.")
@click.option("--birth-weight", type=float, help="Number of accesses that a creation counts as.")
@click.option("--active", type=float, help="Lowest retention of the zone active.")
@click.option("--stale", type=float, help="Lowest retention of the zone stale.")
@click.option("--fading", type=float, help="Lowest retention of the zone fading.")
@pass_globals
def set_(
    given: GlobalOptions,
    name: str,
    rate: float | None,
    reading: Reading | None,
    decay: float | None,
    birth_weight: float | None,
    active: float | None,
    stale: float | None,
    fading: float | None,
) -> None:
    """Create or change a layer of this tenant. Options that are not given stay as they are."""
    with given.opened() as memory:
        changed = memory.layers.set(
            name,
            metabolic_rate=rate,
            reading=reading,
            base_decay=decay,
            birth_weight=birth_weight,
            active=active,
            stale=stale,
            fading=fading,
        )
    output().print(f"Set. {_effect(changed)}")


@layers.command("preset")
@click.argument(
    "name", type=click.Choice(get_args(Preset)), metavar="NAME", help=f"One of {', '.join(get_args(Preset))}."
)
@pass_globals
def preset(given: GlobalOptions, name: Preset) -> None:
    """Use the layers of a preset for this tenant; layers it does not contain stay as they are."""
    with given.opened() as memory:
        changed = memory.layers.use_preset(name)
    output().print(f"In force: {name}. {_effect(changed)}")


@layers.command("drop")
@layer_argument
@pass_globals
def drop(given: GlobalOptions, name: str) -> None:
    """Drop this tenant's own layer, so that the database's applies again."""
    with given.opened() as memory:
        dropped = memory.layers.drop(name)
    if not dropped:
        notes().print(f"Layer {name} belongs to the database; this tenant has no row of its own.")
        raise Exit(NOTHING_FOUND)
    output().print("Dropped.")


def _effect(changed: int) -> str:
    return "1 memory ages differently now." if changed == 1 else f"{changed:,} memories age differently now."


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
