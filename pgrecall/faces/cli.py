"""The command ``pgrecall``.

Exit codes: 0 found or done, 1 nothing found, 2 bad input, 3 no usable database, 130 stopped by Ctrl-C.
What was asked for goes to standard output, everything else to standard error.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pgrecall import __version__
from pgrecall.errors import RecallError
from pgrecall.faces.cli_base import INTERRUPTED, Globals, complain, notes, output

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("cli_database", "init"),
    "import": ("cli_import", "import_"),
    "export": ("cli_export", "export"),
    "search": ("cli_search", "search"),
    "context": ("cli_context", "context"),
    "show": ("cli_memories", "show"),
    "access": ("cli_memories", "access"),
    "link": ("cli_memories", "link"),
    "supersede": ("cli_memories", "supersede"),
    "forget": ("cli_memories", "forget"),
    "feedback": ("cli_feedback", "feedback_commands"),
    "pin": ("cli_settings", "pin"),
    "status": ("cli_database", "status"),
    "doctor": ("cli_doctor", "doctor"),
    "verify": ("cli_verify", "verify"),
    "layers": ("cli_layers", "layer_commands"),
    "setting": ("cli_settings", "setting_commands"),
    "calibrate": ("cli_calibrate", "calibrate"),
    "language": ("cli_settings", "language"),
    "prune": ("cli_prune", "prune_commands"),
    "plot": ("cli_plot", "plot_commands"),
    "worker": ("cli_jobs", "worker"),
    "job": ("cli_jobs", "job_commands"),
    "model": ("cli_models", "model_commands"),
    "mcp": ("cli_mcp", "mcp"),
    "tools": ("cli_mcp", "tools"),
    "serve": ("cli_serve", "serve"),
    "key": ("cli_keys", "key_commands"),
    "role": ("cli_roles", "role_commands"),
    "postgres": ("cli_database", "postgres"),
    "upgrade": ("cli_database", "upgrade"),
}
"""Where each command is, in the order one meets them: a module of this package and a name in it."""


class _Later(MutableMapping[str, Any]):
    """Commands by name. Their modules are imported once they are asked for: a search needs only its own."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            module, member = COMMANDS[name]
            self._made[name] = _made(getattr(import_module(f"pgrecall.faces.{module}"), member))
            self._made[name].name = name
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _made(found: Any) -> Any:
    """The command that a function or a group of functions is."""
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    alone = typer.Typer(add_completion=False)
    alone.command()(found)
    return typer.main.get_command(alone)


class _Commands(TyperGroup):
    """Turns our errors into a sentence and an exit code; anything else keeps its traceback."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Later()

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except RecallError as error:
            raise typer.Exit(complain(error)) from None
        except KeyboardInterrupt:
            notes().print("stopped")
            raise typer.Exit(INTERRUPTED) from None

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)


app = typer.Typer(
    cls=_Commands,
    name="pgrecall",
    help="Agent memory in your own Postgres, ranked by what matters now.",
    epilog="Exit codes: 0 found or done, 1 nothing found, 2 bad input, 3 no usable database.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        output().print(f"pgrecall {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    context: typer.Context,
    database_url: Annotated[
        str | None,
        typer.Option(help="Postgres to use [PGRECALL_DATABASE_URL]; without it an embedded one is started."),
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose memories these are [PGRECALL_TENANT].")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the embedded Postgres keeps its data [PGRECALL_DATA_DIR].")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Say whose models are used: a running service's, or its own."),
    ] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    context.obj = Globals(database_url, tenant, data_dir, verbose)


def main() -> None:
    """The entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without our signs still shows the rest
    # Ctrl-C gives a connection back in the middle of a statement, and the pool closes it: no news to anyone.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    try:
        app(prog_name="pgrecall")
    finally:
        gc.freeze()  # all there is goes with the process: to search it for garbage took a fifth of a search
