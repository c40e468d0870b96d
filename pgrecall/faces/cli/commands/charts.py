"""Commands that draw charts: the distribution of vitality, zones over time, a memory's vitality, its
links."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from pgrecall.errors import InvalidInput
from pgrecall.faces.charts.chart_files import require_drawable, require_layout, write_chart
from pgrecall.faces.cli.invocation import NOTHING_FOUND, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import current_time, now_option, parse_since, reference_argument
from pgrecall.faces.cli.rendering.console import notes

if TYPE_CHECKING:
    from pgrecall import Memory

MAX_INSTANTS = 100
_YEAR = timedelta(days=365)

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write: .png or .svg.",
)
dark_option = click.option("--dark", is_flag=True, help="Draw on a dark background.")


@click.group("charts", cls=CommandGroup)
def charts() -> None:
    """Draw charts as PNG or SVG."""


@charts.command("vitality")
@out_option
@dark_option
@now_option
@pass_globals
def vitality(given: GlobalOptions, out: Path, dark: bool, now: datetime | None) -> None:
    """Draw the distribution of vitality in each layer, with the bounds of its zones."""
    form, moment = require_drawable(out), _moment(now)
    from pgrecall.faces.charts.vitality_histogram import BINS, vitality_by_layer

    with given.opened() as memory:
        distribution, layers = memory.charts.vitality_histogram(BINS, now=moment), memory.layers.list()
    if not distribution:
        _nothing()
    write_chart(vitality_by_layer(distribution, layers, moment), out, form, dark=dark)


@charts.command("zones")
@out_option
@dark_option
@click.option("--since", metavar="TIME", help="Start, or 7d, 6m, 1y ago; by default up to a year ago.")
@click.option("--instants", type=int, default=25, metavar="N", help="Number of points in time, 2 to 100.")
@now_option
@pass_globals
def zones(
    given: GlobalOptions, out: Path, dark: bool, since: str | None, instants: int, now: datetime | None
) -> None:
    """Draw how many memories each layer has in each zone, now and over time. Exit code 1 without memories.

    Each point in the past is computed from the access log: with many memories, use fewer points.
    """
    form, moment = require_drawable(out), _moment(now)
    if not 2 <= instants <= MAX_INSTANTS:
        raise InvalidInput(f"--instants is {instants}; it must lie between 2 and {MAX_INSTANTS}.")
    begin = parse_since(since, moment)
    if begin is not None and begin >= moment:
        raise InvalidInput("--since is not in the past.", hint="Give an earlier time, such as 30d.")
    from pgrecall.faces.charts.zones_over_time import zones_by_layer
    from pgrecall.nouns.charts.models import ZoneShare

    with given.opened() as memory:
        held = memory.history.zones(moment)
        if not held:
            _nothing()
        start = begin or _beginning(memory, moment)
        moments = [start + (moment - start) * step / (instants - 1) for step in range(instants)]
        past = [
            ZoneShare(at, layer.layer, zone, count)
            for at in moments
            for layer in memory.history.zones(at)
            for zone, count in layer.zones.items()
        ]
    write_chart(zones_by_layer(held, past, moments, moment), out, form, dark=dark)


@charts.command("memory")
@reference_argument
@out_option
@dark_option
@now_option
@pass_globals
def memory_(given: GlobalOptions, memory: int | str, out: Path, dark: bool, now: datetime | None) -> None:
    """Draw a memory's accesses, its vitality until now, and when it leaves each zone without access."""
    form, moment = require_drawable(out), _moment(now)
    from pgrecall.faces.charts.memory_chart import (
        MAX_ACCESSES,
        Life,
        future_instants,
        memory_chart,
        past_instants,
    )

    with given.opened() as client:
        stored = client.get(memory, now=moment)
        records = client.charts.accesses(stored.id, limit=MAX_ACCESSES)
        accesses = [access for access in records if access.at <= moment]
        born = min([stored.created_at, stored.occurred_at or stored.created_at, *(a.at for a in accesses)])
        past = client.charts.vitality_curve(stored.id, past_instants(born, accesses, moment), now=moment)
        if len(past) < 2:
            raise InvalidInput(
                f"Memory {memory!r} was too young at {moment.isoformat()}.",
                hint="Give a later time.",
            )
        future = client.charts.vitality_curve(stored.id, future_instants(moment), now=moment)
        bounds = {layer.name: layer.rates.zones for layer in client.layers.list()}[stored.layer]
    write_chart(memory_chart(Life(stored, accesses, past, future, bounds, moment)), out, form, dark=dark)


@charts.command("links")
@reference_argument
@out_option
@dark_option
@now_option
@pass_globals
def links(given: GlobalOptions, memory: int | str, out: Path, dark: bool, now: datetime | None) -> None:
    """Draw the links around a memory: up to two links away and at most 60 memories."""
    form, moment = require_drawable(out), _moment(now)
    require_layout()
    from pgrecall.faces.charts.link_chart import HOPS, MAX_NODES, link_chart

    with given.opened() as client:
        around = client.charts.neighbourhood(memory, hops=HOPS, limit=MAX_NODES, now=moment)
    write_chart(link_chart(around), out, form, dark=dark)


def _moment(now: datetime | None) -> datetime:
    return (now or current_time()).astimezone(UTC)


def _beginning(memory: Memory, moment: datetime) -> datetime:
    """A year ago, or by halves later where there was nothing yet."""
    start = moment - _YEAR
    while moment - start > timedelta(days=1) and not memory.history.zones(start):
        start += (moment - start) / 2
    return start


def _nothing() -> None:
    notes().print("There are no live memories to draw. Import some: pgrecall import FOLDER")
    raise Exit(NOTHING_FOUND)
