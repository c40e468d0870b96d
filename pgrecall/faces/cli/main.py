"""The command ``pgrecall``.

Exit codes: 0 found or done, 1 nothing found or failed, 2 bad input, 3 no usable database, 4 done in part,
130 stopped by Ctrl-C, 141 the reader of the output went away. Results go to standard output, everything else
to standard error.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit, NoArgsIsHelpError, NoSuchCommand, NoSuchOption

from pgrecall import __version__
from pgrecall.errors import InvalidInput, RecallError
from pgrecall.faces.cli import completion
from pgrecall.faces.cli.invocation import (
    BROKEN_PIPE,
    COMMAND_NAME,
    INTERRUPTED,
    CommandGroup,
    GlobalOptions,
    fail,
    tracing_is_set_up,
)

COMMANDS: Mapping[str, str] = {
    "init": "database:init",
    "remember": "remember:remember",
    "import": "import_export:import_",
    "export": "export:export",
    "search": "search:search",
    "context": "context:context",
    "list": "memories:list_",
    "show": "memories:show",
    "edit": "remember:edit",
    "access": "memories:access",
    "link": "memories:link",
    "unlink": "memories:unlink",
    "supersede": "memories:supersede",
    "stale-summaries": "memories:stale_summaries",
    "history": "history:history",
    "diff": "history:diff",
    "restore": "history:restore",
    "changes": "history:changes",
    "forget": "memories:forget",
    "unarchive": "memories:unarchive",
    "unarchive-session": "memories:unarchive_session",
    "feedback": "feedback:feedback",
    "quality": "quality:quality",
    "pin": "memories:pin",
    "status": "database:status",
    "backup": "backup:backup",
    "metrics": "database:metrics",
    "doctor": "doctor:doctor",
    "verify": "doctor:verify",
    "layers": "layers:layers",
    "settings": "settings:settings",
    "calibration": "calibration:calibration",
    "language": "settings:language",
    "prune": "plan:prune",
    "dedupe": "plan:dedupe",
    "plan": "plan:plan",
    "erasure": "erasure:erasure",
    "charts": "charts:charts",
    "worker": "worker:worker",
    "jobs": "jobs:jobs",
    "models": "models:models",
    "connect": "connect:connect",
    "capture": "connect:capture",
    "mcp": "mcp:mcp",
    "tools": "mcp:tools",
    "serve": "serve:serve",
    "keys": "keys:keys",
    "readers": "readers:readers",
    "share": "readers:share",
    "roles": "roles:roles",
    "cell": "cells:cell",
    "tenant": "tenants:tenant",
    "router": "router:router",
    "postgres": "database:postgres",
    "upgrade": "database:upgrade",
}
"""Where each command is, as ``module:name`` in ``commands``, in the order of the help."""


SERVING = frozenset(("worker", "mcp", "serve"))
"""Commands that run until they are stopped."""


class LazyGroup(CommandGroup):
    """Imports the module of a command when it is called, and turns errors into a sentence and an exit code.

    Errors that are not ours keep their traceback.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(import_module(f"pgrecall.faces.cli.commands.{module}"), name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:  # click knows no command before it is imported
            raise NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _errors_reported():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _traced(ctx), _errors_reported():
            return super().invoke(ctx)


@contextmanager
def _traced(ctx: click.Context) -> Iterator[None]:
    """A span around the command, with the phases of its searches. One that serves has spans of its calls."""
    if not tracing_is_set_up():
        yield
        return
    from pgrecall.faces.telemetry.telemetry import Telemetry
    from pgrecall.faces.telemetry.tracing import Tracing
    from pgrecall.settings import environment_variables

    if SERVING & set(ctx._protected_args):
        yield
        return
    telemetry = Telemetry(Tracing())
    parent = {"traceparent": environment_variables().get("TRACEPARENT", "")}
    with telemetry.tracing.command_span(parent) as end, telemetry.searches():
        try:
            yield
        except Exit as stopped:
            end.code = stopped.exit_code
            raise
        finally:
            end.name = ctx.meta.get(COMMAND_NAME, "")


_NUMBERS = (
    ("a valid integer range", "a whole number"),
    ("a valid integer", "a whole number"),
    ("a valid float range", "a number"),
    ("a valid float", "a number"),
)
"""Names of number types in click, and in plain words."""


_MEANT = {
    "search": "find ask query recall",
    "remember": "add store save new",
    "show": "get read view",
    "list": "ls memories",
    "edit": "update",
    "forget": "delete remove rm archive",
    "status": "stats info",
    "plan list": "plans",
    "plan merge": "merge",
    "plan redact": "redact",
    "plan undo": "undo",
    "--help": "help",
    "--version": "version -V",
    "--at": "--occurred-at --date",
    "-k": "--limit --top-k --count -n",
    "-n": "--count -k",
}
"""What people type for a name here, where its letters do not tell."""


def _complaint(error: click.UsageError) -> str:
    """Turns click's message about a wrong command line into sentences, with the most likely name for an
    unknown one."""
    if isinstance(error, NoSuchOption | NoSuchCommand):
        return f"{error.message.rstrip('.')}.{_likely(error)}"
    said = error.format_message().rstrip(".")
    for theirs, ours in _NUMBERS:
        said = said.replace(theirs, ours)
    if said.startswith("Got unexpected extra argument"):
        if error.ctx is not None and error.ctx.command.name == "import":
            return f"{said}. Import one path at a time, in quotation marks if it has spaces."
        return f"{said}. A text of several words needs quotation marks."
    if choice := re.search(r"'([^']*)' is not one of (.*)|Choose from:\s", said, re.DOTALL):
        said = " ".join(said.split())  # click puts each choice of a missing argument in a line
        if near := get_close_matches(choice[1] or "", re.findall(r"'([^']*)'", choice[2] or "")):
            return f"{said}. Did you mean '{near[0]}'?"
    return f"{said}."


def _likely(error: NoSuchOption | NoSuchCommand) -> str:
    """A sentence with what was probably meant, after a space; empty if nothing is near."""
    command = error.ctx.command if error.ctx else app
    known = {name for option in command.params for name in option.opts}
    if isinstance(error, NoSuchCommand):
        typed = error.command_name
        if isinstance(command, click.Group) and error.ctx:
            known.update(command.list_commands(error.ctx))
    else:
        typed = error.option_name
        if any(typed in option.opts for option in app.params):
            return f" It goes before the command: 'pgrecall {typed} ...'."
    meant = [ours for ours, others in _MEANT.items() if typed in others.split() and ours.split()[0] in known]
    near = [*meant, *(error.possibilities or ())]
    return f" Did you mean '{near[0]}'?" if near else ""


@contextmanager
def _errors_reported() -> Iterator[None]:
    try:
        yield
    except RecallError as error:
        raise fail(error) from None
    except NoArgsIsHelpError:  # not an error of its own: click prints the help
        raise
    except click.UsageError as error:
        # Of an option without its value, click does not say which command it was given to.
        named = click.get_current_context().meta.get(COMMAND_NAME, "")
        command = error.ctx.command_path if error.ctx else f"pgrecall {named}".rstrip()
        listed = "commands" if isinstance(error, NoSuchCommand) else "options"
        raise fail(InvalidInput(_complaint(error), hint=f"`{command} --help` lists the {listed}.")) from None
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        raise Exit(INTERRUPTED) from None
    except BrokenPipeError:
        for stream in (sys.stdout, sys.stderr):  # or Python would try to flush them again at its end
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise Exit(BROKEN_PIPE) from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG or error.filename is None:
            raise
        problem = f"The name {str(error.filename)[:60]!r}… is too long for a file."
        raise fail(InvalidInput(problem, hint="Check which argument is a path.")) from None


@click.command(
    "pgrecall",
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog="Exit codes: 0 found or done, 1 nothing found or failed, 2 bad input, 3 no usable database, "
    "4 done in part.",
)
@click.option(
    "--database-url", help="Postgres to use [PGRECALL_DATABASE_URL]; by default an embedded one is started."
)
@click.option("--tenant", help="Tenant that owns the memories [PGRECALL_TENANT].")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Data directory of the embedded Postgres [PGRECALL_DATA_DIR].",
)
@click.option("--cells", help="Directory of cells to use, instead of a database [PGRECALL_CELLS].")
@click.version_option(__version__, message="%(prog)s %(version)s", help="Print the version.")
@completion.install_option
@completion.show_option
@click.pass_context
def app(
    context: click.Context,
    database_url: str | None,
    tenant: str | None,
    data_dir: Path | None,
    cells: str | None,
) -> None:
    """Agent memory in your own Postgres, ranked by relevance and use."""
    context.obj = GlobalOptions(database_url, tenant, data_dir, cells)


def main() -> None:
    """The entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character still shows the rest
    # Ctrl-C returns a connection in the middle of a statement and the pool closes it: not worth a warning.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    try:
        app(prog_name="pgrecall")
    finally:
        if tracing_is_set_up():
            from pgrecall.faces.telemetry.tracing import Tracing

            Tracing().end()
