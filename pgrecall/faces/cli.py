"""The command ``pgrecall``.

Exit codes: 0 found or done, 1 nothing found, 2 bad input, 3 no usable database, 130 stopped by Ctrl-C.
What was asked for goes to standard output, everything else to standard error.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pgrecall import __version__
from pgrecall.errors import RecallError
from pgrecall.faces import (
    cli_calibrate,
    cli_context,
    cli_database,
    cli_doctor,
    cli_feedback,
    cli_import,
    cli_jobs,
    cli_keys,
    cli_layers,
    cli_mcp,
    cli_memories,
    cli_models,
    cli_plot,
    cli_prune,
    cli_search,
    cli_serve,
    cli_settings,
)
from pgrecall.faces.cli_base import INTERRUPTED, Globals, complain, notes, output


class _Commands(TyperGroup):
    """Turns our errors into a sentence and an exit code; anything else keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except RecallError as error:
            raise typer.Exit(complain(error)) from None
        except KeyboardInterrupt:
            notes().print("stopped")
            raise typer.Exit(INTERRUPTED) from None

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)  # in the order one meets them


app = typer.Typer(
    cls=_Commands,
    name="pgrecall",
    help="Agent memory in your own Postgres, ranked by what matters now.",
    epilog="Exit codes: 0 found or done, 1 nothing found, 2 bad input, 3 no usable database.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(cli_database.init)
app.command("import")(cli_import.import_)
app.command("search")(cli_search.search)
app.command("context")(cli_context.context)
app.command("show")(cli_memories.show)
app.command("access")(cli_memories.access)
app.command("link")(cli_memories.link)
app.command("supersede")(cli_memories.supersede)
app.command("forget")(cli_memories.forget)
app.add_typer(cli_feedback.feedback_commands, name="feedback")
app.command("pin")(cli_settings.pin)
app.command("status")(cli_database.status)
app.command("doctor")(cli_doctor.doctor)
app.add_typer(cli_layers.layer_commands, name="layers")
app.add_typer(cli_settings.setting_commands, name="setting")
app.command("calibrate")(cli_calibrate.calibrate)
app.command("language")(cli_settings.language)
app.add_typer(cli_prune.prune_commands, name="prune")
app.add_typer(cli_plot.plot_commands, name="plot")
app.command("worker")(cli_jobs.worker)
app.add_typer(cli_jobs.job_commands, name="job")
app.add_typer(cli_models.model_commands, name="model")
app.command("mcp")(cli_mcp.mcp)
app.command("tools")(cli_mcp.tools)
app.command("serve")(cli_serve.serve)
app.add_typer(cli_keys.key_commands, name="key")
app.command("postgres")(cli_database.postgres)
app.command("upgrade")(cli_database.upgrade)


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
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    context.obj = Globals(database_url, tenant, data_dir)


def main() -> None:
    """The entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without our signs still shows the rest
    # Ctrl-C gives a connection back in the middle of a statement, and the pool closes it: no news to anyone.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    app(prog_name="pgrecall")
