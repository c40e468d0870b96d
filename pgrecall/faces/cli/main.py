"""The command ``pgrecall``.

Exit codes: 0 found or done, 1 nothing found, 2 bad input, 3 no usable database, 130 stopped by Ctrl-C.
What was asked for goes to standard output, everything else to standard error.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import click

from pgrecall import __version__
from pgrecall.errors import RecallError
from pgrecall.faces.cli.base import INTERRUPTED, Globals, complain, notes, output
from pgrecall.faces.cli.command_line import CommandGroup, Context, Exit, Option, command_of, instead

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("database", "init"),
    "import": ("import_", "import_"),
    "export": ("export", "export"),
    "search": ("search", "search"),
    "context": ("context", "context"),
    "show": ("memories", "show"),
    "access": ("memories", "access"),
    "link": ("memories", "link"),
    "supersede": ("memories", "supersede"),
    "forget": ("memories", "forget"),
    "feedback": ("feedback", "feedback_commands"),
    "pin": ("settings", "pin"),
    "status": ("database", "status"),
    "doctor": ("doctor", "doctor"),
    "verify": ("verify", "verify"),
    "layers": ("layers", "layer_commands"),
    "setting": ("settings", "setting_commands"),
    "calibrate": ("calibrate", "calibrate"),
    "language": ("settings", "language"),
    "prune": ("prune", "prune_commands"),
    "charts": ("charts", "chart_commands"),
    "worker": ("jobs", "worker"),
    "job": ("jobs", "job_commands"),
    "model": ("models", "model_commands"),
    "mcp": ("mcp", "mcp"),
    "tools": ("mcp", "tools"),
    "serve": ("serve", "serve"),
    "key": ("keys", "key_commands"),
    "role": ("roles", "role_commands"),
    "postgres": ("database", "postgres"),
    "upgrade": ("database", "upgrade"),
}
"""Where each command is, in the order one meets them: a module of this package and a name in it."""

COLLECTED_AFTER = 50_000
"""How many more objects there are before Python looks for garbage: by its own 700 it looks a hundred times
while a search is imported, and finds none."""


class _Commands(CommandGroup):
    """Imports the module of a command once it is asked for: a search needs only its own.

    Our errors become a sentence and an exit code; anything else keeps its traceback.
    """

    def get_command(self, ctx: Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            module, member = COMMANDS[cmd_name]
            found = getattr(import_module(f"pgrecall.faces.cli.{module}"), member)
            made = found if isinstance(found, CommandGroup) else command_of(found, cmd_name)
            self.add_command(made, cmd_name)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        with _errors_told():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Context) -> Any:
        with _errors_told():
            return super().invoke(ctx)


@contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except RecallError as error:
        raise Exit(complain(error)) from None
    except KeyboardInterrupt:
        notes().print("stopped")
        raise Exit(INTERRUPTED) from None


app = _Commands(
    "Agent memory in your own Postgres, ranked by what matters now.",
    name="pgrecall",
    epilog="Exit codes: 0 found or done, 1 nothing found, 2 bad input, 3 no usable database.",
)


@app.alone
def _global_options(
    context: Context,
    database_url: Annotated[
        str | None,
        Option(help="Postgres to use [PGRECALL_DATABASE_URL]; without it an embedded one is started."),
    ] = None,
    tenant: Annotated[str | None, Option(help="Whose memories these are [PGRECALL_TENANT].")] = None,
    data_dir: Annotated[
        Path | None, Option(help="Where the embedded Postgres keeps its data [PGRECALL_DATA_DIR].")
    ] = None,
    verbose: Annotated[
        bool, Option("--verbose", "-v", help="Say whose models are used: a running service's, or its own.")
    ] = False,
) -> None:
    context.obj = Globals(database_url, tenant, data_dir, verbose)


def _print_version() -> None:
    output().print(f"pgrecall {__version__}")


def _install_completion() -> None:
    from pgrecall.faces.cli.completion import install

    shell, file = install(app)
    output().print(f"The completion of {shell} is in {file}; it works in the next terminal.", soft_wrap=True)


def _show_completion() -> None:
    from pgrecall.faces.cli.completion import script

    output().out(script(app), end="")


app.params += [
    instead("--version", "Print the version.", _print_version),
    instead("--install-completion", "Install completion for the current shell.", _install_completion),
    instead("--show-completion", "Show completion for the current shell, to copy it.", _show_completion),
]


def main() -> None:
    """The entry point of the installed command."""
    gc.set_threshold(COLLECTED_AFTER)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without our signs still shows the rest
    # Ctrl-C gives a connection back in the middle of a statement, and the pool closes it: no news to anyone.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    try:
        app(prog_name="pgrecall")
    finally:
        gc.freeze()  # all there is goes with the process: to search it for garbage took a fifth of a search
