"""Commands for administrators about the tenants of cells: list, place, move, sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from rich.table import Table

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.commands.cells import require_fleet, size_text
from pgrecall.faces.cli.invocation import CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.console import notes, output, print_json, table
from pgrecall.faces.wording import counted

if TYPE_CHECKING:
    from pgrecall.cells.fleet import TenantSize

tenant_argument = click.argument("name", type=TEXT, metavar="NAME", help="Name of the tenant.")


@click.group("tenant", cls=CommandGroup)
def tenant() -> None:
    """Manage the tenants of cells: where they live, and how much they hold. For administrators."""


@tenant.command("list")
@json_option
@pass_globals
def list_(given: GlobalOptions, as_json: bool) -> None:
    """List every tenant with its cell and size, largest first. Sizes are estimates."""
    found = sorted(require_fleet(given).tenants(), key=lambda one: (-(one.bytes or 0), one.tenant))
    if as_json:
        print_json(found)
    elif found:
        output().print(_table(found))
    else:
        output().print("No tenant has been placed in a cell.")


@tenant.command("place")
@tenant_argument
@click.option("--cell", "number", type=int, required=True, metavar="CELL", help="Cell for the tenant.")
@pass_globals
def place(given: GlobalOptions, name: str, number: int) -> None:
    """Choose the cell of a new tenant. By default it is the cell with the most room at the first use."""
    placed = require_fleet(given).place(name, number)
    output().print(f"Tenant {name} lives in cell {placed.cell}.")


@tenant.command("move")
@tenant_argument
@click.option("--to", "target", type=int, metavar="CELL", help="Cell to move the tenant to.")
@click.option("--dry-run", is_flag=True, help="Check, and show what would be moved; change nothing.")
@click.option("--undo", is_flag=True, help="Undo the move: end a copy, or move the tenant back.")
@click.option("--finish", is_flag=True, help="Delete the rows at the source of a tenant that has moved.")
@json_option
@pass_globals
def move(
    given: GlobalOptions,
    name: str,
    target: int | None,
    dry_run: bool,
    undo: bool,
    finish: bool,
    as_json: bool,
) -> None:
    """Move a tenant to another cell while it is in use. The same command continues an interrupted move.

    Writers wait for a moment at the end. The rows at the source stay until --finish or `pgrecall tenant
    sweep`; until then --undo is possible.
    """
    from pgrecall.cells.moves.move import Mover

    if (target is not None) + undo + finish != 1:
        raise InvalidInput("No action was given.", hint="Give --to CELL, --undo or --finish.")
    if dry_run and target is None:
        raise InvalidInput("--dry-run can only be used with --to.")
    mover = Mover(require_fleet(given), lambda sentence: notes().print(sentence))
    if target is not None and dry_run:
        plan = mover.plan(name, target)
        held = f"{counted(plan.memories, 'memory', 'memories')}, about {size_text(plan.bytes)}"
        line = (
            f"Tenant {name} would move from cell {plan.source} to cell {plan.target}: {held}, "
            f"about {plan.seconds:,.0f} s."
        )
        _say(plan, line, as_json)
    elif target is not None:
        moved = mover.move(name, target)
        took = f"{moved.seconds:.1f} s, writers waited {moved.stopped:.2f} s"
        _say(moved, f"Moved from cell {moved.source} to cell {moved.target} in {took}.", as_json)
    elif undo:
        cell = mover.undo(name)
        line = f"The move of tenant {name} is undone: it lives in cell {cell}."
        _say({"tenant": name, "undone": True, "cell": cell}, line, as_json)
    else:
        deleted = mover.finish(name)
        _say(
            {"tenant": name, "deleted": deleted}, f"{counted(deleted, 'row')} deleted at the source.", as_json
        )


@tenant.command("sweep")
@click.option(
    "--older-than", type=click.FloatRange(0), default=24.0, metavar="HOURS", help="Age of the move."
)
@json_option
@pass_globals
def sweep(given: GlobalOptions, older_than: float, as_json: bool) -> None:
    """Delete the rows at the source of tenants that moved at least --older-than hours ago."""
    from pgrecall.cells.moves.move import Mover

    done = Mover(require_fleet(given)).sweep(older_than * 3600)
    if as_json:
        print_json([{"tenant": name, "deleted": deleted} for name, deleted in done])
    for name, deleted in () if as_json else done:
        output().print(f"{name}: {counted(deleted, 'row')} deleted.")
    if not done and not as_json:
        output().print("Nothing to delete.")


def _say(document: object, line: str, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        output().print(line)


def _table(found: Sequence[TenantSize]) -> Table:
    rows = table("tenant", "cell", "memories", "size", "", right=("cell", "memories", "size"))
    for one in found:
        moving = "" if one.moving_to is None else f"moving to cell {one.moving_to}"
        if one.moving_to == one.cell:
            moving = "moved; its old cell still has the rows"
        memories = "?" if one.memories is None else f"{one.memories:,}"
        rows.add_row(one.tenant, str(one.cell), memories, size_text(one.bytes), moving)
    return rows
