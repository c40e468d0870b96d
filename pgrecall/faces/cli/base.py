"""What every command stands on: the global options, the consoles, the way in, and what errors look like."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

from pgrecall.errors import DatabaseError, RecallError
from pgrecall.faces.cli.command_line import Argument, Context, Option
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.settings import Settings, load_settings

if TYPE_CHECKING:
    from pgrecall import Memory
    from pgrecall.embedded.shared_server import EmbeddedServer

Reference = Annotated[str, Argument(metavar="ID_OR_KEY", help="Digits are an id; key:42 is a key.")]
AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]
Now = Annotated[str | None, Option(help="The moment to take for now (ISO 8601, UTC).")]
AllowSuperuser = Annotated[
    bool,
    Option("--allow-superuser", help="Even as a superuser or past row security [PGRECALL_ALLOW_SUPERUSER]"),
]

DONE, NOTHING_FOUND, BAD_INPUT, NO_DATABASE, INTERRUPTED = 0, 1, 2, 3, 130


class _Described(Protocol):
    def describe(self) -> str: ...


def output() -> Terminal:
    """Standard output, for what was asked for."""
    return Terminal(sys.stdout or io.StringIO())  # there is none where it was closed


def notes() -> Terminal:
    """Standard error, for everything said beside it."""
    return Terminal(sys.stderr or io.StringIO(), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Globals:
    """The options before the command; they win over the environment."""

    database_url: str | None = field(default=None, repr=False)
    tenant: str | None = None
    data_dir: Path | None = None
    verbose: bool = False

    def settings(self) -> Settings:
        """The settings of this run. Naming a data directory asks for the server in it."""
        embedded = self.data_dir is not None and self.database_url is None
        settings = load_settings(database_url=self.database_url, tenant=self.tenant, data_dir=self.data_dir)
        return replace(settings, database_url=None) if embedded else settings

    @contextmanager
    def opened(self, *, embeds: bool = False) -> Iterator[Memory]:
        """The client. Commands that embed nothing have no embedder, so that no model is looked for; others
        borrow the models of a running service that has the same."""
        from pgrecall import Memory
        from pgrecall.faces.cli.model_lending import Lent, borrowed_models

        settings = self.settings()
        fresh = is_fresh(settings)
        if not embeds and not fresh:  # a fresh database takes its dimensions from the embedder
            settings = replace(settings, embedder="none")
        lent = borrowed_models(settings, self._warn) if embeds else Lent()
        with Memory(settings=settings, embedder=lent.embedder, reranker=lent.reranker) as memory:
            if fresh and memory.server is not None:
                announce(memory.server)
            try:
                yield memory
            finally:
                self._tell(memory, lent.said)

    def _warn(self, sentence: str) -> None:
        if not self.verbose:  # who asked for more hears it once, at the end
            notes().print(sentence)

    def _tell(self, memory: Memory, said: list[str]) -> None:
        """With -v, whose models were used."""
        if not self.verbose:
            return
        for sentence in said:
            notes().print(sentence)
        if memory.embedder is not None and not said:
            notes().print(f"The embedder {memory.embedder.name} is this command's own.")

    @contextmanager
    def located(self) -> Iterator[tuple[str, EmbeddedServer | None, Settings]]:
        """The database's URL, the embedded server behind it if there is one, and the settings."""
        from pgrecall.embedded.shared_server import EmbeddedServer

        settings = self.settings()
        if settings.database_url:
            yield settings.database_url.get_secret_value(), None, settings
            return
        fresh = is_fresh(settings)
        with EmbeddedServer.start(settings.data_dir) as server:
            if fresh:
                announce(server)
            yield server.url, server, settings


def is_fresh(settings: Settings) -> bool:
    """Whether the embedded server has no data yet."""
    return not settings.database_url and not (settings.data_dir.expanduser() / "postgres").exists()


def announce(server: _Described) -> None:
    """Says once where the data is: at the start that created it."""
    notes().print(f"{server.describe()}.")


def globals_of(context: Context) -> Globals:
    """The global options this command was given."""
    given = context.find_object(Globals)
    return given if given is not None else Globals()


def complain(error: RecallError) -> int:
    """Says what is wrong and the way out; returns the exit code."""
    notes().print(f"Error: {error}")
    return NO_DATABASE if isinstance(error, DatabaseError) else BAD_INPUT
