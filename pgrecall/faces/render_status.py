"""The state of a tenant on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pgrecall.faces.render import ZONE_STYLES
from pgrecall.faces.snippets import printable
from pgrecall.models import Status

_ZONES = ("active", "stale", "fading", "archived")


def show_status(console: Console, state: Status, where: str) -> None:
    """Counts, a table of layers by zones, how upkeep stands, and what needs somebody's eye."""
    for line in _lines(state, where):
        console.print(printable(line), soft_wrap=True)
    if state.layers:
        console.print(_layers(state))
    for alarm in state.alarms:
        console.print(Text(f"Alarm: {printable(alarm)}", style="bold red"), soft_wrap=True)


def _lines(state: Status, where: str) -> Iterator[str]:
    yield where
    embedder = f"embedder {state.embedder or 'none yet'} ({state.dimensions} dimensions)"
    language = f"language {state.language}{'' if state.accents_off else ' (without unaccent)'}"
    yield f"schema {state.revision}, {embedder}, {language}, tenant {state.tenant}"
    bare = f"{state.awaiting_embedding:,} without embedding"
    yield f"{state.memories:,} memories, {state.archived:,} archived, {bare}"
    yield f"{state.accesses:,} accesses, {state.links:,} links, {state.links_pending:,} links pending"
    last = f"last access {_moment(state.last_access_at)}" if state.last_access_at else "no access yet"
    waiting = f"{state.accesses_waiting:,} accesses wait to be folded"
    yield f"{state.never_used:.0%} never used, {last}, {waiting}"
    ran = [f"{job.name} {job.state}" for job in state.jobs if job.last is not None]
    yield f"jobs: {', '.join(ran)}" if ran else "jobs: none has run yet; `pgrecall worker` runs them"


def _layers(state: Status) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("layer")
    table.add_column("memories", justify="right")
    for zone in _ZONES:
        table.add_column(Text(zone, style=ZONE_STYLES[zone]), justify="right")
    for layer in state.layers:
        counts = [f"{layer.zones.get(zone, 0):,}" for zone in _ZONES]
        table.add_row(printable(layer.layer), f"{layer.memories:,}", *counts)
    return table


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
