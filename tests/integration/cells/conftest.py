"""Installations of two cells and a directory, each a database of its own on the server of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import psycopg
import pytest
from psycopg.rows import dict_row

from pgrecall import Memory
from pgrecall.cells.fleet import Fleet
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, _database
from tests.given_server import Server
from tests.waiting import PATIENCE


@dataclass
class Installation:
    """The URLs of a directory and of databases that are, or may become, its cells."""

    directory: str
    cells: list[str]
    opened: ExitStack = field(default_factory=ExitStack)

    @property
    def fleet(self) -> Fleet:
        return Fleet(self.directory)

    def memory(self, tenant: str = "acme") -> Memory:
        """A client of the cells, closed when the test ends."""
        settings = Settings(tenant=tenant, embedder="hash", connect_timeout=PATIENCE)
        client = Memory(cells=self.directory, settings=settings, embedder=HashEmbedder(DIMENSIONS))
        return self.opened.enter_context(client)

    def direct(self, cell: int, tenant: str = "acme") -> Memory:
        """A client of the database of one cell."""
        settings = Settings(tenant=tenant, embedder="hash", connect_timeout=PATIENCE)
        client = Memory(self.cells[cell], settings=settings, embedder=HashEmbedder(DIMENSIONS))
        return self.opened.enter_context(client)

    def ask(self, cell: int, sql: str, tenant: str | None = None) -> list[dict[str, object]]:
        """The rows of a statement in one cell, committed."""
        with psycopg.connect(self.cells[cell], row_factory=dict_row) as connection:
            if tenant is not None:
                connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant,))
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description is not None else []

    def add(self, *numbers: int) -> Installation:
        """Adds these databases as cells."""
        for number in numbers:
            self.fleet.add(self.cells[number])
        return self


Install = Callable[[Server, str], "Iterator[Installation]"]


@contextmanager
def installed(server: Server, template: str, cells: int) -> Iterator[Installation]:
    """Databases for an installation, none of which is a cell yet."""
    with ExitStack() as stack:
        fresh = contextmanager(_database)
        directory = stack.enter_context(fresh(server, "template1"))
        urls = [stack.enter_context(fresh(server, template)) for _ in range(cells)]
        made = Installation(directory, urls)
        with made.opened:
            yield made


@pytest.fixture
def installation(server: Server, template: str) -> Iterator[Installation]:
    """A directory without cells, and two migrated databases."""
    with installed(server, template, 2) as made:
        yield made


@pytest.fixture
def two_cells(installation: Installation) -> Installation:
    """Two empty cells."""
    return installation.add(0, 1)
