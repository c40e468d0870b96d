"""Commands that draw: the distribution of vitality, zones over time, a memory's life, the links around it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pgrecall.errors import InvalidInput
from pgrecall.faces.charts.plots_style import drawing, require_drawable, theme_of, write
from pgrecall.faces.cli.base import NOTHING_FOUND, Now, globals_of, notes
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context, Exit, Option
from pgrecall.faces.cli.values import clock, parse_moment, parse_reference, parse_since

if TYPE_CHECKING:
    from pgrecall import Memory

MOST_INSTANTS = 100
_YEAR = timedelta(days=365)

plot_commands = CommandGroup("Pictures as PNG or SVG, for people without the page.")

Out = Annotated[Path, Option("--out", metavar="FILE", help="Where to write it: FILE.png or FILE.svg.")]
Dark = Annotated[bool, Option("--dark", help="On a dark page.")]
Reference = Annotated[str, Argument(metavar="ID", help="Id or key of the memory.")]


@plot_commands.add("vitality")
def vitality(context: Context, out: Out, dark: Dark = False, now: Now = None) -> None:
    """How vitality is distributed in each layer, with the bounds of its zones."""
    form, moment = require_drawable(out), _moment(now)
    from pgrecall.faces.charts.plots_zones import BINS, vitality_figure

    with globals_of(context).opened() as memory:
        distribution, layers = memory.charts.vitality_histogram(BINS, now=moment), memory.layers.list()
    if not distribution:
        _nothing()
    theme = theme_of(dark=dark)
    with drawing(theme):
        write(vitality_figure(distribution, layers, theme, moment), out, form)


@plot_commands.add("zones")
def zones(
    context: Context,
    out: Out,
    dark: Dark = False,
    since: Annotated[
        str | None, Option(help="From when on: a moment, or 7d, 6m, 1y. Without it, up to a year.")
    ] = None,
    instants: Annotated[int, Option(help="At how many instants to look, 2 to 100.")] = 25,
    now: Now = None,
) -> None:
    """How many memories each layer holds in each zone, now and over time. Exit code 1 without memories.

    The past is computed from the access log, each instant anew: with many memories take fewer instants.
    """
    form, moment = require_drawable(out), _moment(now)
    if not 2 <= instants <= MOST_INSTANTS:
        raise InvalidInput(f"--instants is {instants}; it must lie between 2 and {MOST_INSTANTS}.")
    begin = parse_since(since, moment)
    if begin is not None and begin >= moment:
        raise InvalidInput("--since does not lie before now.", hint="Give an earlier moment, such as 30d.")
    from pgrecall.faces.charts.plots_zones import zones_figure

    with globals_of(context).opened() as memory:
        held = memory.history.zones(moment)
        if not held:
            _nothing()
        start = begin or _beginning(memory, moment)
        moments = [start + (moment - start) * step / (instants - 1) for step in range(instants)]
        before = [(at, memory.history.zones(at)) for at in moments]
    theme = theme_of(dark=dark)
    with drawing(theme):
        write(zones_figure(held, before, theme, moment), out, form)


@plot_commands.add("memory")
def memory_(context: Context, memory: Reference, out: Out, dark: Dark = False, now: Now = None) -> None:
    """A memory's life: its uses, its vitality until now, and when it will leave each zone unused."""
    form, moment, reference = require_drawable(out), _moment(now), parse_reference(memory)
    from pgrecall.faces.charts.plots_memory import (
        MOST_TICKS,
        Life,
        future_instants,
        memory_figure,
        past_instants,
    )

    with globals_of(context).opened() as client:
        stored = client.get(reference, now=moment)
        records = client.charts.accesses(stored.id, limit=MOST_TICKS)
        accesses = [access for access in records if access.at <= moment]
        born = min([stored.created_at, stored.occurred_at or stored.created_at, *(a.at for a in accesses)])
        past = client.charts.vitality_curve(stored.id, past_instants(born, accesses, moment), now=moment)
        if len(past) < 2:
            raise InvalidInput(
                f"Memory {reference!r} had hardly begun at {moment.isoformat()}.",
                hint="Ask for a later moment.",
            )
        future = client.charts.vitality_curve(stored.id, future_instants(moment), now=moment)
        bounds = {layer.name: layer.rates.zones for layer in client.layers.list()}[stored.layer]
    theme = theme_of(dark=dark)
    with drawing(theme):
        write(memory_figure(Life(stored, accesses, past, future, bounds, moment), theme), out, form)


@plot_commands.add("graph")
def graph(context: Context, memory: Reference, out: Out, dark: Dark = False, now: Now = None) -> None:
    """The links around a memory, two links far and at most 60 memories, and what holds them together."""
    form, moment, reference = require_drawable(out), _moment(now), parse_reference(memory)
    from pgrecall.faces.charts.plots_graph import HOPS, MOST_NODES, graph_figure

    with globals_of(context).opened() as client:
        around = client.charts.neighbourhood(reference, hops=HOPS, limit=MOST_NODES, now=moment)
    theme = theme_of(dark=dark)
    with drawing(theme):
        write(graph_figure(around, theme), out, form)


def _moment(now: str | None) -> datetime:
    return (parse_moment(now, "--now") or clock()).astimezone(UTC)


def _beginning(memory: Memory, moment: datetime) -> datetime:
    """A year ago, or by halves later where there was nothing yet."""
    start = moment - _YEAR
    while moment - start > timedelta(days=1) and not memory.history.zones(start):
        start += (moment - start) / 2
    return start


def _nothing() -> None:
    notes().print("There are no live memories to draw. Import some: pgrecall import FOLDER")
    raise Exit(NOTHING_FOUND)
