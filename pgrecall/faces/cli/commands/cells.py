"""Commands for administrators about cells: add, list, check, replica, balance, drain, remove."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit
from rich.table import Table

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.invocation import DONE, FAILED, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option, name_of
from pgrecall.faces.cli.rendering.console import notes, output, print_json, styled, table
from pgrecall.faces.wording import counted

if TYPE_CHECKING:
    from pgrecall.cells.checking import CellFinding
    from pgrecall.cells.fleet import CellState, Fleet
    from pgrecall.cells.moves.balance import BalancePlan

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


class _Size(click.ParamType[int]):
    """A number of bytes, as in 200GB."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?) ?([kmgt]?)b?", str(value).strip().lower())
        held = int(float(match[1]) * _UNITS[match[2]]) if match else 0
        if not 0 < held < 2**62:
            raise InvalidInput(
                f"{name_of(param)} {value!r} is not a size.", hint="Write it as 500MB or 200GB."
            )
        return held


cell_argument = click.argument("number", type=int, metavar="CELL", help="Number of the cell.")


def fleet_of(given: GlobalOptions) -> Fleet | None:
    """The cells that the settings name; None if they name none."""
    settings = given.settings()
    if settings.cells is None:
        return None
    from pgrecall.cells.fleet import Fleet

    return Fleet(settings.cells.get_secret_value(), timeout=settings.connect_timeout)


def require_fleet(given: GlobalOptions) -> Fleet:
    """The cells that the settings name.

    Raises:
        InvalidInput: they name none.
    """
    fleet = fleet_of(given)
    if fleet is None:
        raise InvalidInput(
            "No directory of cells is set.",
            hint="Set PGRECALL_CELLS, or --cells before the command, to the URL of its database.",
        )
    return fleet


@click.group("cell", cls=CommandGroup)
def cell() -> None:
    """Manage cells: databases that share the tenants of an installation. For administrators."""


@cell.command("add")
@click.argument("url", type=TEXT, metavar="URL", help="The database, as clients reach it.")
@click.option("--number", type=click.IntRange(0, 4_000_000), help="Number of the cell; by default the next.")
@click.option(
    "--room", type=_Size(), metavar="SIZE", help="Size from which no new tenant is placed there, as in 200GB."
)
@pass_globals
def add(given: GlobalOptions, url: str, number: int | None, room: int | None) -> None:
    """Add a database as a cell; the first one makes the directory. Running it twice is harmless.

    The database needs the schema of this version (`pgrecall init`). One that has tenants can only be the
    first. User and password of the URL are not kept: clients use those of PGRECALL_CELLS.
    """
    entry = require_fleet(given).add(url, number=number, room=room)
    output().print(f"Cell {entry.number}: {_where(entry.address)}, {counted(entry.tenants, 'tenant')}.")


@cell.command("list")
@json_option
@pass_globals
def list_(given: GlobalOptions, as_json: bool) -> None:
    """List the cells with their address, tenants, size and state."""
    found = require_fleet(given).list()
    if as_json:
        print_json(found)
    elif found:
        output().print(_table(found))
    else:
        output().print("There is no cell yet; `pgrecall cell add URL` adds one.")


@cell.command("check")
@json_option
@pass_globals
def check(given: GlobalOptions, as_json: bool) -> None:
    """Check every cell: version, sequences, and that each tenant lives where the directory says.

    Changes nothing. Exit code 1 when a check fails.
    """
    failed = show_findings(tuple(require_fleet(given).check()), "directory", as_json)
    raise Exit(FAILED if failed else DONE)


def show_findings(found: tuple[CellFinding, ...], others: str, as_json: bool) -> bool:
    """Prints findings, those of no cell under the name ``others``; returns whether a check failed."""
    failed = any(finding.level == "fail" for finding in found)
    if as_json:
        print_json({"healthy": not failed, "findings": found})
    for finding in () if as_json else found:
        name = others if finding.cell is None else f"cell {finding.cell}"
        level = (f"{finding.level:<4}", _STYLES[finding.level])
        output().print(styled(f"{name:<9} ", level, f"  {finding.message}"))
        if finding.fix:
            output().print(styled((f"{'':16}→ {finding.fix}", "dim")))
    return failed


@cell.command("replica")
@cell_argument
@click.argument("url", type=TEXT, metavar="URL", required=False, help="The standby, as clients reach it.")
@click.option("--remove", is_flag=True, help="Remove the replica; the cell answers all its searches again.")
@pass_globals
def replica(given: GlobalOptions, number: int, url: str | None, remove: bool) -> None:
    """Name a streaming standby of a cell. It answers searches while it is recent enough.

    User and password of the URL are not kept: clients use those of PGRECALL_CELLS. Running clients learn
    of the change within 30 seconds.
    """
    if (url is None) != remove:
        raise InvalidInput("No action was given.", hint="Give the URL of a standby, or --remove.")
    entry = require_fleet(given).set_replica(number, url)
    if entry.replica is None:
        output().print(f"Cell {number} no longer has a replica.")
    else:
        output().print(f"Cell {number}: searches go to its replica {_where(entry.replica)}.")


@cell.command("restore-point")
@click.argument("name", type=TEXT, metavar="NAME", help="For recovery_target_name of each server.")
@pass_globals
def restore_point(given: GlobalOptions, name: str) -> None:
    """Create a restore point in the log of every server, so that all can be restored to it together.

    The server of the directory is last. Refused while a tenant is copied to another cell.
    """
    from pgrecall.cells.restore_points import make

    for point in make(require_fleet(given), name):
        output().print(f"{point.position:<12} {point.address}")


@cell.command("drain")
@cell_argument
@click.option("--stop", is_flag=True, help="Place new tenants there again.")
@pass_globals
def drain(given: GlobalOptions, number: int, stop: bool) -> None:
    """Place no new tenants in a cell, before you empty and remove it."""
    entry, left = require_fleet(given).drain(number, stop=stop)
    if stop:
        output().print(f"Cell {entry.number} takes new tenants again.")
        return
    output().print(f"Cell {entry.number} takes no new tenants. It still has {counted(len(left), 'tenant')}.")


@cell.command("remove")
@cell_argument
@pass_globals
def remove(given: GlobalOptions, number: int) -> None:
    """Remove a cell in which no tenant lives, or the only cell. Its database stays as it is."""
    require_fleet(given).remove(number)
    notes().print(f"Cell {number} was removed; its database still exists.")


@cell.command("balance")
@click.option("--plan", "only_plan", is_flag=True, help="Show the moves; make none.")
@click.option("--apply", "applies", is_flag=True, help="Make the moves, one after the other.")
@json_option
@pass_globals
def balance(given: GlobalOptions, only_plan: bool, applies: bool, as_json: bool) -> None:
    """Plan moves that balance cells and empty those being drained, or make these moves."""
    from pgrecall.cells.moves.balance import plan_balance
    from pgrecall.cells.moves.move import Mover

    if only_plan == applies:
        raise InvalidInput("No action was given.", hint="Give --plan or --apply.")
    fleet = require_fleet(given)
    cells = fleet.directory.cells()
    tenants = [one for one in fleet.tenants() if one.moving_to is None]
    sizes = [(one.tenant, one.cell, one.bytes) for one in tenants if one.bytes is not None]
    draining = [entry.number for entry in cells if entry.draining]
    plan = plan_balance(sizes, [entry.number for entry in cells], draining)
    if as_json:
        print_json(plan)
    else:
        _show_balance(plan)
    mover = Mover(fleet, lambda sentence: notes().print(sentence))
    for move in plan.moves if applies else ():
        mover.move(move.tenant, move.target)


def _show_balance(plan: BalancePlan) -> None:
    if not plan.moves:
        output().print("The cells are balanced; no moves are needed.")
        return
    rows = table("tenant", "from", "to", "size", right=("from", "to", "size"))
    for move in plan.moves:
        rows.add_row(move.tenant, str(move.source), str(move.target), size_text(move.bytes))
    output().print(rows)
    for number, before in plan.before.items():
        output().print(f"Cell {number}: {size_text(before)} before, {size_text(plan.after[number])} after.")


def size_text(held: int | None) -> str:
    """A number of bytes in three digits."""
    if held is None:
        return "?"
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if held >= size:
            return f"{held / size:.3g} {unit}"
    return f"{held} B"


def _table(found: Sequence[CellState]) -> Table:
    rows = table(
        "cell", "where", "tenants", "size", "room", "state", right=("cell", "tenants", "size", "room")
    )
    for one in found:
        entry = one.entry
        state = "draining" if entry.draining else "open"
        if entry.replica is not None:
            state += f", replica {_where(entry.replica)}"
        room = "any" if entry.room is None else size_text(entry.room)
        where, tenants = _where(entry.address), f"{entry.tenants:,}"
        rows.add_row(
            str(entry.number), where, tenants, size_text(entry.bytes), room,
            state if one.reachable else f"does not answer: {one.problem}",
        )  # fmt: skip
    return rows


def _where(address: str) -> str:
    from pgrecall.cells.addresses import shown

    return shown(address)
