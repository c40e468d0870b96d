"""Commands about layers: how fast each forgets, changing that, presets."""

from __future__ import annotations

from typing import Annotated, cast, get_args

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import NOTHING_FOUND, AsJson, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context, Exit, Option
from pgrecall.faces.cli.json_output import to_text
from pgrecall.faces.cli.rendering.layers import layer_documents, show_layers
from pgrecall.faces.cli.values import text
from pgrecall.vitality.rates import Preset, Reading

layer_commands = CommandGroup(
    "How fast each layer forgets: list layers, change them, use a preset.",
    invoke_without_command=True,
)

_READINGS: tuple[Reading, ...] = get_args(Reading)
_PRESETS: tuple[Preset, ...] = get_args(Preset)
Name = Annotated[str, Argument(metavar="NAME", help="Of the layer.")]


@layer_commands.alone
def list_(
    context: Context,
    as_json: AsJson = False,
) -> None:
    """What is set of each layer, and how long one access or ten daily ones keep a memory in each zone."""
    if context.invoked_subcommand is not None:
        return
    with globals_of(context).opened() as memory:
        layers = memory.layers.list()
    if as_json:
        output().out(to_text(layer_documents(layers)))
    else:
        show_layers(output(), layers)


@layer_commands.add("set")
def set_(
    context: Context,
    name: Name,
    rate: Annotated[float | None, Option(help="Metabolic rate: how much faster than 1.")] = None,
    reading: Annotated[str | None, Option(help="What the rate speeds up: clock or exponent.")] = None,
    decay: Annotated[float | None, Option(help="Base decay.")] = None,
    birth_weight: Annotated[float | None, Option(help="As how many accesses creation counts.")] = None,
    active: Annotated[float | None, Option(help="Retention from which a memory is active.")] = None,
    stale: Annotated[float | None, Option(help="Retention from which it is stale.")] = None,
    fading: Annotated[float | None, Option(help="Retention from which it is fading.")] = None,
) -> None:
    """Make a layer or change one, for this tenant. What is not given stays as it is."""
    wanted = _one_of(reading, _READINGS, "reading") if reading is not None else None
    with globals_of(context).opened() as memory:
        changed = memory.layers.set(
            text(name, "The name of the layer"),
            metabolic_rate=rate,
            reading=cast("Reading | None", wanted),
            base_decay=decay,
            birth_weight=birth_weight,
            active=active,
            stale=stale,
            fading=fading,
        )
    output().print(f"Set. {_aging(changed)}", soft_wrap=True)


@layer_commands.add("preset")
def preset(
    context: Context,
    name: Annotated[str, Argument(metavar="NAME", help=f"One of {', '.join(_PRESETS)}.")],
) -> None:
    """Make the layers of a preset this tenant's; layers it does not know stay as they are."""
    wanted = cast("Preset", _one_of(name, _PRESETS, "preset"))
    with globals_of(context).opened() as memory:
        changed = memory.layers.use_preset(wanted)
    output().print(f"In force: {wanted}. {_aging(changed)}", soft_wrap=True)


@layer_commands.add("drop")
def drop(context: Context, name: Name) -> None:
    """Take this tenant's own layer away, so that the database's applies again."""
    with globals_of(context).opened() as memory:
        dropped = memory.layers.drop(text(name, "The name of the layer"))
    if not dropped:
        notes().print(f"Layer {name} is the database's; this tenant has none of its own.")
        raise Exit(NOTHING_FOUND)
    output().print("Dropped.")


def _one_of(given: str, known: tuple[str, ...], what: str) -> str:
    if given not in known:
        raise InvalidInput(f"There is no {what} {given!r}.", hint=f"Use {' or '.join(known)}.")
    return given


def _aging(changed: int) -> str:
    return "1 memory ages differently now." if changed == 1 else f"{changed:,} memories age differently now."
