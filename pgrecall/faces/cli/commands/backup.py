"""Commands about backups of the whole database: create, restore."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import click
from click.exceptions import Exit

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.commands.doctor import show_verified
from pgrecall.faces.cli.invocation import DONE, FAILED, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import STREAM
from pgrecall.faces.cli.rendering.console import Progress, notes, output
from pgrecall.faces.wording import counted

_MEGABYTE = 1_000_000


@click.group("backup", cls=CommandGroup)
def backup() -> None:
    """Back up the whole database of memories, and restore it."""


@backup.command("create")
@click.argument(
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write, which only its owner may read. - writes to standard output.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists, once the new one is complete.")
@pass_globals
def create(given: GlobalOptions, file: Path, force: bool) -> None:
    """Back up all tenants as of one instant, while others write. FILE appears once it is complete.

    Runs pg_dump of the embedded server, or one on the PATH that fits the server. `pg_restore` reads FILE too.
    """
    from pgrecall.schema.backups.making import make_backup

    if file == STREAM and sys.stdout.isatty():
        raise InvalidInput("A backup is not for a terminal.", hint="Name a file, or pipe it into a program.")
    with given.located() as (url, _, settings), Progress("writing", "MB", None) as bar:
        made = make_backup(
            url,
            sys.stdout.fileno() if file == STREAM else file,
            replace=force,
            timeout=settings.connect_timeout,
            progress=lambda size: bar.reached(size // _MEGABYTE),
        )
    if made.path is None:
        notes().print(f"Backed up schema {made.revision}.")
    else:
        output().print(f"Backed up schema {made.revision} to {made.path}: {made.bytes:,} bytes.")


@backup.command("restore")
@click.argument(
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Backup of this or an earlier version. - reads standard input.",
)
@click.option("--replace", is_flag=True, help="Delete the memories that the database holds.")
@pass_globals
def restore(given: GlobalOptions, file: Path, replace: bool) -> None:
    """Restore a backup into a database without memories: all of it, or nothing.

    Then upgrades it to this version and verifies every tenant. Exit code 1 when a check fails.
    """
    from pgrecall.embedded.shared_server import SERVING_ROLE
    from pgrecall.schema import roles
    from pgrecall.schema.backups.restoring import restore_backup, spooled

    if file == STREAM and sys.stdin.isatty():
        raise InvalidInput("A backup does not come from a terminal.", hint="Name a file, or pipe one in.")
    stream = file == STREAM
    with (
        given.located() as (url, server, settings),
        spooled(sys.stdin.buffer) if stream else nullcontext(file) as source,
    ):
        timeout = settings.connect_timeout
        done = restore_backup(
            url,
            source,
            replace=replace,
            timeout=timeout,
            name="Standard input" if stream else None,
            progress=lambda step: notes().print(f"{step.capitalize()}."),
        )
        if server is not None:
            roles.create(url, SERVING_ROLE, may="worker", tenant="*", password=None, timeout=timeout)
        after = done.upgraded.after
        output().print(
            f"Restored schema {done.revision}"
            + (f", upgraded to {after.revision}" if after.revision != done.revision else "")
            + f", embeddings of {after.dimensions} dimensions."
        )
        for left in done.upgraded.left:
            notes().print(f"Note: {left.problem}. An administrator runs: {left.fix}")
        missing = [bound.role for bound in roles.bindings(url, timeout=timeout) if not bound.present]
    if missing:
        notes().print(
            f"{counted(len(missing), 'role')} of the backup cannot log in here: {', '.join(missing)}. "
            "Create them: pgrecall roles create NAME, with the options of before."
        )
    raise Exit(_verified(given))


def _verified(given: GlobalOptions) -> int:
    """Verifies every tenant and shows the result; returns the exit code."""
    from pgrecall.nouns.jobs.operations import tenants

    with given.opened() as memory:
        names = memory.jobs.runner().fetch(tenants())
        with Progress("verifying", "tenants", len(names)) as bar:
            checks = {}
            for tenant in names:
                checks[tenant] = memory.for_tenant(tenant).maintenance.verify()
                bar.add(1)
    show_verified(output(), checks)
    return FAILED if any(check.problems for found in checks.values() for check in found) else DONE
