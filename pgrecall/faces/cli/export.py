"""The command export, and import of what it wrote: a tenant moved whole."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, BinaryIO

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import Globals, Now, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, Context, Exit, Option
from pgrecall.faces.cli.progress import Progress
from pgrecall.faces.cli.terminal import BROKEN_PIPE, Terminal
from pgrecall.faces.cli.values import parse_moment

STREAM = Path("-")
"""Standard input or output in place of a file."""

_THINGS = (
    ("memory", "memories"),
    ("access", "accesses"),
    ("link", "links"),
    ("prune_plan", "prune plans"),
    ("search_log", "logged searches"),
)


def export(
    context: Context,
    path: Annotated[
        Path,
        Argument(metavar="FILE", help="Packed if it ends in .gz; - for standard output."),
    ],
    embeddings: Annotated[
        bool, Option("--embeddings/--no-embeddings", help="With their vectors, or to be embedded anew.")
    ] = True,
    now: Now = None,
) -> None:
    """Write everything of one tenant as lines of JSON, which `pgrecall import` reads.

    Memories with their vectors, links, every use and what became of it, settings, layers, plans and feedback,
    as of one instant. Keys of the HTTP service and runs of jobs stay behind.
    """
    moment = parse_moment(now, "--now")
    if path != STREAM and path.is_dir():
        raise InvalidInput(f"{path} is a folder, not a file.", hint="Name a file in it.")
    target: Path | BinaryIO = sys.stdout.buffer if path == STREAM else path
    with globals_of(context).opened() as memory, Progress("exporting", "lines", None) as bar:
        try:
            made = memory.export.write(target, embeddings=embeddings, progress=bar.reached, now=moment)
        except BrokenPipeError:
            sys.stdout = io.StringIO()  # nobody reads on: Python must not try again as it ends
            raise Exit(BROKEN_PIPE) from None
    _tell(notes() if path == STREAM else output(), f"Exported tenant {made.tenant}", made.counts)


def import_export(given: Globals, path: Path, *, embeddings: bool) -> None:
    """Stores an export as the tenant of this command."""
    source: Path | BinaryIO = sys.stdin.buffer if path == STREAM else path
    with given.opened() as memory:
        with Progress("importing", "lines", None) as bar:
            made = memory.export.read(source, embeddings=embeddings, progress=bar.reached)
        as_tenant = "" if made.tenant == memory.tenant else f" as {memory.tenant}"
    _tell(output(), f"Imported tenant {made.tenant}{as_tenant}", made.counts)
    with suppress(KeyError):
        if made.counts["memory"] and not made.embeddings:
            notes().print("Without vectors; `pgrecall job run embed` makes them, a worker does so by itself.")


def _tell(terminal: Terminal, what: str, counts: Mapping[str, int]) -> None:
    held = ", ".join(f"{counts.get(kind, 0):,} {things}" for kind, things in _THINGS)
    terminal.print(f"{what}: {held}; {1 + sum(counts.values()):,} lines.", soft_wrap=True)
