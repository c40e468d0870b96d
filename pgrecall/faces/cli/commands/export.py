"""The command export, and the import of what it wrote: all data of a tenant."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import click

from pgrecall.errors import InvalidInput
from pgrecall.faces import wording
from pgrecall.faces.cli.invocation import GlobalOptions, pass_globals
from pgrecall.faces.cli.options import STREAM, now_option
from pgrecall.faces.cli.rendering.console import Progress, SafeConsole, notes, output

_THINGS = (
    ("memory", "memory", "memories"),
    ("access", "access", "accesses"),
    ("link", "link", "links"),
    ("plan", "plan", "plans"),
    ("search_log", "logged search", "logged searches"),
)


@click.command("export")
@click.argument(
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write; packed if it ends in .gz. - writes to standard output.",
)
@click.option("--embeddings/--no-embeddings", default=True, help="Include embeddings, or embed on import.")
@now_option
@pass_globals
def export(given: GlobalOptions, path: Path, embeddings: bool, now: datetime | None) -> None:
    """Export all data of a tenant as JSON Lines, which `pgrecall import` reads.

    Includes memories, embeddings, links, accesses, feedback, settings, layers and plans, as of one
    instant. Excludes keys of the HTTP service and runs of jobs.
    """
    if path != STREAM and path.is_dir():
        raise InvalidInput(f"{path} is a folder, not a file.", hint="Name a file in this folder.")
    target: Path | BinaryIO = sys.stdout.buffer if path == STREAM else path
    with given.opened() as memory, Progress("exporting", "lines", None) as bar:
        made = memory.export.write(target, embeddings=embeddings, progress=bar.reached, now=now)
    _report(notes() if path == STREAM else output(), f"Exported tenant {made.tenant}", made.counts)


def import_export(given: GlobalOptions, path: Path, *, embeddings: bool) -> None:
    """Imports an export into the tenant of this command."""
    source: Path | BinaryIO = sys.stdin.buffer if path == STREAM else path
    with given.opened() as memory:
        with Progress("importing", "lines", None) as bar:
            made = memory.export.read(source, embeddings=embeddings, progress=bar.reached)
        as_tenant = "" if made.tenant == memory.tenant else f" as {memory.tenant}"
    _report(output(), f"Imported tenant {made.tenant}{as_tenant}", made.counts)
    if made.counts.get("memory") and not made.embeddings:
        notes().print("It has no embeddings; a worker computes them, or `pgrecall jobs run embed`.")


def _report(console: SafeConsole, what: str, counts: Mapping[str, int]) -> None:
    held = ", ".join(wording.counted(counts.get(kind, 0), one, many) for kind, one, many in _THINGS)
    console.print(f"{what}: {held}; {1 + sum(counts.values()):,} lines.")
