"""The group charts: charts as files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pgrecall.errors import InvalidInput
from pgrecall.faces.charts.chart_files import require_drawable, write_chart
from pgrecall.faces.cli.base import NOTHING_FOUND, Now, globals_of, notes
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context, Exit, Option
from pgrecall.faces.cli.values import clock, parse_moment, parse_reference, parse_since

if TYPE_CHECKING:
    from pgrecall.client import Memory

MOST_INSTANTS = 100
_YEAR = timedelta(days=365)

chart_commands = CommandGroup("Draw charts as PNG or SVG files.")

Out = Annotated[Path, Option("--out", metavar="FILE", help="File to write: FILE.png or FILE.svg.")]
Dark = Annotated[bool, Option("--dark", help="Draw on a dark background.")]
Reference = Annotated[str, Argument(metavar="ID", help="Id or key of the memory.")]


@chart_commands.add("vitality")
def vitality(context: Context, out: Out, dark: Dark = False, now: Now = None) -> None:
    """Draw how vitality is distributed in each layer, with the bounds of its zones.

    Exit code 1 without memories.
    """
    form, moment = require_drawable(out), _moment(now)
    from pgrecall.faces.charts.vitality_histogram import BINS, vitality_by_layer

    with globals_of(context).opened() as memory:
        distribution, layers = memory.vitality_histogram(BINS, now=moment), memory.layers()
    if not distribution:
        _nothing()
    write_chart(vitality_by_layer(distribution, layers, moment), out, form, dark=dark)


@chart_commands.add("zones")
def zones(
    context: Context,
    out: Out,
    dark: Dark = False,
    since: Annotated[
        str | None, Option(help="Beginning: a time, or 7d, 6m, 1y. Without it, up to a year ago.")
    ] = None,
    instants: Annotated[int, Option(help="Number of instants to compute, 2 to 100.")] = 25,
    now: Now = None,
) -> None:
    """Draw how many memories each layer holds in each zone, now and over time. Exit code 1 without memories.

    The past is computed from the access log, each instant anew: with many memories take fewer instants.
    """
    form, moment = require_drawable(out), _moment(now)
    if not 2 <= instants <= MOST_INSTANTS:
        raise InvalidInput(f"--instants is {instants}; it must lie between 2 and {MOST_INSTANTS}.")
    begin = parse_since(since, moment)
    if begin is not None and begin >= moment:
        raise InvalidInput("--since does not lie before now.", hint="Give an earlier time, such as 30d.")
    from pgrecall.faces.charts.zones_over_time import zones_by_layer
    from pgrecall.models.overview import ZoneShare

    with globals_of(context).opened() as memory:
        held = memory.zones_as_of(moment)
        if not held:
            _nothing()
        start = begin or _beginning(memory, moment)
        moments = [start + (moment - start) * step / (instants - 1) for step in range(instants)]
        past = [
            ZoneShare(at, layer.layer, zone, layer.zones.get(zone, 0))
            for at in moments
            for layer in memory.zones_as_of(at)
            for zone in layer.zones
        ]
    write_chart(zones_by_layer(held, past, moments, moment), out, form, dark=dark)


@chart_commands.add("memory")
def memory_(context: Context, memory: Reference, out: Out, dark: Dark = False, now: Now = None) -> None:
    """Draw a memory's life: its accesses, its vitality until now, and when it leaves each zone unused."""
    form, moment, reference = require_drawable(out), _moment(now), parse_reference(memory)
    from pgrecall.faces.charts.memory_chart import (
        MOST_ACCESSES,
        Life,
        future_instants,
        memory_chart,
        past_instants,
    )

    with globals_of(context).opened() as client:
        stored = client.get(reference, now=moment)
        records = client.accesses_of(stored.id, limit=MOST_ACCESSES)
        accesses = [access for access in records if access.at <= moment]
        born = min([stored.created_at, stored.occurred_at or stored.created_at, *(a.at for a in accesses)])
        past = client.vitality_curve(stored.id, past_instants(born, accesses, moment), now=moment)
        if len(past) < 2:
            raise InvalidInput(
                f"Memory {reference!r} had hardly begun at {moment.isoformat()}.",
                hint="Give a later time.",
            )
        future = client.vitality_curve(stored.id, future_instants(moment), now=moment)
        bounds = {layer.name: layer.rates.zones for layer in client.layers()}[stored.layer]
    write_chart(memory_chart(Life(stored, accesses, past, future, bounds, moment)), out, form, dark=dark)


@chart_commands.add("links")
def links(context: Context, memory: Reference, out: Out, dark: Dark = False, now: Now = None) -> None:
    """Draw the links around a memory: two links far, at most 60 memories, and what holds them together."""
    form, moment, reference = require_drawable(out), _moment(now), parse_reference(memory)
    from pgrecall.faces.charts.link_graph import HOPS, MOST_NODES, link_chart

    with globals_of(context).opened() as client:
        around = client.neighbourhood(reference, hops=HOPS, limit=MOST_NODES, now=moment)
    write_chart(link_chart(around), out, form, dark=dark)


def _moment(now: str | None) -> datetime:
    return (parse_moment(now, "--now") or clock()).astimezone(UTC)


def _beginning(memory: Memory, moment: datetime) -> datetime:
    """A year ago, or by halves later where there was nothing yet."""
    start = moment - _YEAR
    while moment - start > timedelta(days=1) and not memory.zones_as_of(start):
        start += (moment - start) / 2
    return start


def _nothing() -> None:
    notes().print("There are no live memories to draw. Import some: pgrecall import FOLDER")
    raise Exit(NOTHING_FOUND)
