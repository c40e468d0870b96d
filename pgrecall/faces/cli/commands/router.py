"""Commands for administrators about the router: init, upgrade, check, allow, deny."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from pgrecall.faces.cli.commands.cells import require_fleet, show_findings
from pgrecall.faces.cli.invocation import DONE, FAILED, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.console import output, print_json

if TYPE_CHECKING:
    from pgrecall.cells.router.installing import Installed

role_argument = click.argument("role", type=TEXT, metavar="ROLE", help="Login role.")


@click.group("router", cls=CommandGroup)
def router() -> None:
    """Manage the router: one connection string for all cells, by Citus. For administrators."""


@router.command("init")
@json_option
@pass_globals
def init(given: GlobalOptions, as_json: bool) -> None:
    """Install the router in the database of the directory. Running it twice is harmless.

    That database becomes the coordinator of Citus, and each cell a worker. Needs a superuser and Citus on
    every server. Never run citus_rebalance_start there: move tenants with `pgrecall tenant move`.
    """
    from pgrecall.cells.router.installing import install

    _say(install(require_fleet(given)), as_json)


@router.command("upgrade")
@json_option
@pass_globals
def upgrade(given: GlobalOptions, as_json: bool) -> None:
    """Upgrade the router, after the cells were upgraded, or one was added or removed."""
    from pgrecall.cells.router.installing import upgrade as upgrade_router

    _say(upgrade_router(require_fleet(given)), as_json)


@router.command("check")
@json_option
@pass_globals
def check(given: GlobalOptions, as_json: bool) -> None:
    """Check the router: its nodes, the way to each cell, and the functions on every node.

    Changes nothing. Exit code 1 when a check fails.
    """
    from pgrecall.cells.router.checking import check as check_router

    failed = show_findings(tuple(check_router(require_fleet(given))), "router", as_json)
    raise Exit(FAILED if failed else DONE)


@router.command("allow")
@role_argument
@pass_globals
def allow(given: GlobalOptions, role: str) -> None:
    """Let a login role use the router, with its rights in the cells.

    Only for roles with SQL that you wrote: some statements crash the server of the coordinator. Other roles
    use the cell of their tenant.
    """
    from pgrecall.cells.router.access import allow as allow_role

    may = allow_role(require_fleet(given), role)
    output().print(f"Role {role} may use the router, as {may}.")


@router.command("deny")
@role_argument
@pass_globals
def deny(given: GlobalOptions, role: str) -> None:
    """Keep a login role out of the router. It still uses cells directly."""
    from pgrecall.cells.router.access import deny as deny_role

    deny_role(require_fleet(given), role)
    output().print(f"Role {role} may not use the router.")


def _say(done: Installed, as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    output().print(
        f"The router serves {done.cells:,} cells: {len(done.made):,} functions new, "
        f"{len(done.dropped):,} dropped, {done.left:,} unchanged."
    )
