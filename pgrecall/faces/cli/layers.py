"""Commands about layers: how fast each forgets, changing that, presets."""

from __future__ import annotations

from typing import get_args

import click
from click.exceptions import Exit

from pgrecall.faces.cli.console import notes, output, print_json
from pgrecall.faces.cli.invocation import NOTHING_FOUND, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.layers import layer_documents, show_layers
from pgrecall.vitality.parameters import Preset, Reading

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
        found = memory.layers()
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
@click.option("--birth-weight", type=float, help="How many accesses the creation of a memory counts as.")
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
        changed = memory.set_layer(
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
        changed = memory.use_preset(name)
    output().print(f"In force: {name}. {_effect(changed)}")


@layers.command("drop")
@layer_argument
@pass_globals
def drop(given: GlobalOptions, name: str) -> None:
    """Drop this tenant's own layer, so that the database's applies again."""
    with given.opened() as memory:
        dropped = memory.drop_layer(name)
    if not dropped:
        notes().print(f"Layer {name} is the database's; this tenant has none of its own.")
        raise Exit(NOTHING_FOUND)
    output().print("Dropped.")


def _effect(changed: int) -> str:
    return "1 memory ages differently now." if changed == 1 else f"{changed:,} memories age differently now."
