"""Commands about the database: init, upgrade, status, metrics, postgres."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit
from rich.table import Table

from pgrecall.errors import DatabaseUnsuitable, InvalidInput, MissingExtra
from pgrecall.faces.cli.commands.cells import size_text
from pgrecall.faces.cli.invocation import DONE, NO_DATABASE, GlobalOptions, offer_model, pass_globals
from pgrecall.faces.cli.options import json_option, now_option
from pgrecall.faces.cli.rendering.console import (
    ZONE_STYLES,
    SafeConsole,
    notes,
    output,
    plain,
    print_json,
    styled,
    table,
)
from pgrecall.faces.wording import about_replica, counted, moment, percent
from pgrecall.nouns.service.models import CellsReport
from pgrecall.nouns.status.models import Status

if TYPE_CHECKING:
    from pgrecall import Memory
    from pgrecall.cells.fleet import Fleet
    from pgrecall.embedded.shared_server import EmbeddedServer
    from pgrecall.schema.migrate import Upgrade

_ZONES = ("active", "stale", "fading", "dormant")


@click.command("init")
@click.option("--dimensions", type=int, help="Dimensions of the embeddings; by default the embedder's.")
@pass_globals
def init(given: GlobalOptions, dimensions: int | None) -> None:
    """Create extensions, tables and functions in a database. Running it twice is harmless.

    Without a database URL, it starts the embedded Postgres and creates its data directory if needed.
    """
    from pgrecall.client.resources import configured_embedder
    from pgrecall.schema import migrate
    from pgrecall.search.embed.embedder import dimensions_of
    from pgrecall.search.embed.factory import make_embedder

    if dimensions is None:
        offer_model(given.settings())
    if dimensions is None and given.settings().database_url is None:
        configured_embedder(
            given.settings(), own_server=True
        )  # a missing extra is named before a server starts
    with given.located() as (url, server, settings):
        before = migrate.inspect(url, timeout=settings.connect_timeout)
        wanted = dimensions
        if wanted is None and before.dimensions is None:
            wanted = dimensions_of(make_embedder(settings))
        _report(migrate.upgrade(url, dimensions=wanted, timeout=settings.connect_timeout), server)


@click.command("upgrade")
@click.option(
    "--cell", "number", type=int, metavar="CELL", help="With PGRECALL_CELLS: this cell alone; by default all."
)
@pass_globals
def upgrade(given: GlobalOptions, number: int | None) -> None:
    """Upgrade the schema of a database to this version. Running it twice is harmless.

    With PGRECALL_CELLS it upgrades the directory and then the cells, one after the other while the others
    serve. Exit code 3 when one could not be reached.
    """
    from pgrecall.errors import SchemaMismatch
    from pgrecall.faces.cli.commands.cells import fleet_of
    from pgrecall.schema import migrate

    if (fleet := fleet_of(given)) is not None:
        raise Exit(_upgrade_cells(fleet, number))
    if number is not None:
        raise InvalidInput("--cell needs a directory of cells.", hint="Set PGRECALL_CELLS, or leave it out.")
    with given.located() as (url, server, settings):
        before = migrate.inspect(url, timeout=settings.connect_timeout)
        if before.revision is None:
            raise SchemaMismatch("This database is not initialised.", hint="Run `pgrecall init`.")
        _report(migrate.upgrade(url, timeout=settings.connect_timeout), server)


@click.command("status")
@json_option
@now_option
@pass_globals
def status(given: GlobalOptions, as_json: bool, now: datetime | None) -> None:
    """Show what is stored and where, by layer and zone, and whether maintenance keeps up."""
    with given.opened(announces=False) as memory:  # what it prints says where the server is
        state = memory.status(now=now)
        cells = _cells(memory)
        where = memory.server.describe() if memory.server else f"Postgres {state.server_version}"
        if as_json:
            data_dir = str(memory.server.data_dir) if memory.server else None
            print_json({**plain(state), "data_dir": data_dir, "cells": plain(cells)})
        else:
            show_status(output(), state, where)
            show_cells(output(), cells)


@click.command("metrics")
@pass_globals
def metrics(given: GlobalOptions) -> None:
    """Print figures of the whole database as Prometheus reads them: memories by layer and zone, and jobs.

    The service and the worker show the same at /metrics. Where neither runs, let a timer write them to a file
    for node_exporter. No figure names a tenant.
    """
    if find_spec("prometheus_client") is None:
        raise MissingExtra("prometheus-client", "http")
    from pgrecall.faces.telemetry.census import exposition_of

    with given.opened() as memory:
        click.echo(exposition_of(memory.service.census()), nl=False)


@click.command("postgres")
@pass_globals
def postgres(given: GlobalOptions) -> None:
    """Keep the embedded Postgres running until Ctrl-C and print its URL, for psql and other clients."""
    with given.opened() as memory:
        if memory.server is None:
            notes().print("The database runs on your own server; there is nothing to keep running.")
            return
        click.echo(memory.server.url)
        notes().print("Ready. Ctrl-C stops the server, unless another process still uses it.")
        stopped = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
        try:
            stopped.wait()
        except KeyboardInterrupt:
            notes().print("stopped")


def _upgrade_cells(fleet: Fleet, only: int | None) -> int:
    """Upgrades cells in turn, says what became of each, and returns the exit code."""
    from pgrecall.cells.upgrading import upgrade_cells

    code = DONE
    for turn in upgrade_cells(fleet, only):
        if turn.done is not None:
            output().print(f"Cell {turn.cell}: ", end="")
            _report(turn.done, None)
        else:
            code = NO_DATABASE
            reason = "" if turn.problem is None else turn.problem.message
            again = f"When it is there, run: pgrecall upgrade --cell {turn.cell}"
            notes().print(f"Error: Cell {turn.cell} is not upgraded: {reason} {again}")
    return code


def _report(done: Upgrade, server: EmbeddedServer | None) -> None:
    """Prints what an upgrade changed, and what an administrator has to do."""
    console, after = output(), done.after
    schema = f"schema {after.revision}, embeddings of {after.dimensions} dimensions"
    if done.before.revision is None:
        console.print(f"Initialised: {schema}.")
    elif done.changed and done.before.revision == after.revision:
        console.print(f"Upgraded the functions: {schema}.")
    elif done.changed:
        console.print(f"Upgraded from schema {done.before.revision}: {schema}.")
    else:
        console.print(f"Nothing to do: {schema}.")
    if server is not None:
        console.print(f"{server.describe()}.")
    for left in done.left:
        notes().print(f"Note: {left.problem}. An administrator runs: {left.fix}")


def _cells(memory: Memory) -> CellsReport | None:
    """The cells, where there are any and this role may ask for all."""
    try:
        return memory.service.cells()
    except DatabaseUnsuitable:  # one that is bound to a tenant
        return None


def show_cells(console: SafeConsole, report: CellsReport | None) -> None:
    """A table of cells, and a line for each tenant that moves."""
    if report is None:
        return
    rows = table("cell", "tenants", "size", "schema", "state", right=("cell", "tenants", "size"))
    for cell in report.cells:
        state = "draining" if cell.draining else "open"
        state += ", with a replica" if cell.has_replica else ""
        rows.add_row(
            str(cell.number), f"{cell.tenants:,}", size_text(cell.bytes), cell.revision or "?",
            f"does not answer: {cell.problem}" if cell.problem else state,
        )  # fmt: skip
    console.print(rows)
    for move in report.moves:
        line = f"Tenant {move.tenant} moves from cell {move.source} to {move.target}"
        if move.step == "flipped":
            line = f"Tenant {move.tenant} lives in cell {move.target}, with old rows in cell {move.source}"
        console.print(f"{line} (move begun {moment(move.began_at)}).")


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
    cell = "" if state.cell is None else f" in cell {state.cell}"
    yield f"schema {state.revision}, {embedder}, {language}, tenant {state.tenant}{cell}"
    if state.replica is not None:
        yield about_replica(state.replica)
    bare = f"{state.awaiting_embedding:,} without embedding"
    yield f"{counted(state.memories, 'memory', 'memories')}, {state.archived:,} archived, {bare}"
    if state.passages or state.awaiting_passages:
        parted = f"{counted(state.passages, 'further passage')} of long memories"
        yield f"{parted}, {counted(state.awaiting_passages, 'memory', 'memories')} without passages yet"
    counts = state.access_counts
    stored, shown, used = (counted(number, "time") for number in (counts.stored, counts.shown, counts.used))
    yield f"stored {stored}, shown {shown}, used {used}"
    yield f"{counted(state.links, 'link')}, {counted(state.links_pending, 'link')} pending"
    last = f"last access {moment(state.last_access_at)}" if state.last_access_at else "no access yet"
    waiting = f"{counted(state.accesses_waiting, 'access', 'accesses')} waiting to be folded"
    yield f"{percent(state.never_used)} never used, {last}, {waiting}"
    ran = [job for job in state.jobs if job.last is not None]
    told = [f"{job.name} {job.state}" for job in ran if job.state != "waiting"]
    if len(told) < len(ran):  # which wait for their time, as they should
        told.append(f"{counted(len(ran) - len(told), 'job')} on time")
    yield f"jobs: {', '.join(told)}" if told else "jobs: none has run yet; `pgrecall worker` runs them"


def _layers(state: Status) -> Table:
    zones = (styled((zone, ZONE_STYLES[zone])) for zone in _ZONES)
    rows = table("layer", "memories", *zones, right=("memories", *_ZONES))
    for layer in state.layers:
        counts = [f"{layer.zones.get(zone, 0):,}" for zone in _ZONES]
        rows.add_row(layer.layer, f"{layer.memories:,}", *counts)
    return rows
