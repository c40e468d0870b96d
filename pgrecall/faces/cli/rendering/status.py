"""The state of a tenant on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.table import Table

from pgrecall.faces.cli.console import SafeConsole, styled, table
from pgrecall.faces.cli.rendering.search import ZONE_STYLES
from pgrecall.models.maintenance import Status

_ZONES = ("active", "stale", "fading", "archived")


def show_status(console: SafeConsole, state: Status, where: str) -> None:
    """Counts, a table of layers by zones, the state of jobs, and alarms."""
    for line in _lines(state, where):
        console.print(line)
    if state.layers:
        console.print(_layers(state))
    for alarm in state.alarms:
        console.print(styled((f"Alarm: {alarm}", "bold red")))


def _lines(state: Status, where: str) -> Iterator[str]:
    yield where
    embedder = f"embedder {state.embedder or 'none yet'} ({state.dimensions} dimensions)"
    language = f"language {state.language}{'' if state.accents_off else ' (without unaccent)'}"
    yield f"schema {state.revision}, {embedder}, {language}, tenant {state.tenant}"
    bare = f"{state.awaiting_embedding:,} without embedding"
    yield f"{state.memories:,} memories, {state.archived:,} archived, {bare}"
    yield f"{state.accesses:,} accesses, {state.links:,} links, {state.links_pending:,} links pending"
    last = f"last access {_moment(state.last_access_at)}" if state.last_access_at else "no access yet"
    waiting = f"{state.accesses_waiting:,} accesses waiting to be folded"
    yield f"{state.never_used:.0%} never used, {last}, {waiting}"
    ran = [f"{job.name} {job.state}" for job in state.jobs if job.last is not None]
    yield f"jobs: {', '.join(ran)}" if ran else "jobs: none has run yet; `pgrecall worker` runs them"


def _layers(state: Status) -> Table:
    zones = (styled((zone, ZONE_STYLES[zone])) for zone in _ZONES)
    rows = table("layer", "memories", *zones, right=("memories", *_ZONES))
    for layer in state.layers:
        counts = [f"{layer.zones.get(zone, 0):,}" for zone in _ZONES]
        rows.add_row(layer.layer, f"{layer.memories:,}", *counts)
    return rows


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
