"""Installations of two cells and a directory, each a database of its own on the server of the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from pgrecall import Memory
from pgrecall.cells.addresses import address_of
from pgrecall.cells.fleet import Fleet
from pgrecall.cells.moves.move import Mover
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import new_database
from tests.given_server import Server, own_server_only
from tests.server_folders import server_folder
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

    def memory(self, tenant: str = "acme", connect_timeout: float = PATIENCE) -> Memory:
        """A client of the cells, closed when the test ends."""
        settings = Settings(tenant=tenant, embedder="hash", connect_timeout=connect_timeout)
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

    def flip(self, tenant: str, source: int, target: int) -> None:
        """Makes a tenant, without its rows, live in another cell."""
        there = {"tenant": tenant, "cell": target}
        gone = "UPDATE recall.resident SET state = 'gone', cell = %(cell)s WHERE tenant = %(tenant)s"
        self.fleet.at(self.cells[source]).run(gone, there)
        here = "INSERT INTO recall.resident (tenant) VALUES (%(tenant)s)"
        self.fleet.at(self.cells[target]).run(here, there)
        placed = "UPDATE recall_cells.place SET cell = %(cell)s, version = DEFAULT WHERE tenant = %(tenant)s"
        self.fleet.directory.run(placed, there)


@contextmanager
def installed(server: Server, template: str, cells: int) -> Iterator[Installation]:
    """Databases for an installation, none of which is a cell yet."""
    with ExitStack() as stack:
        fresh = contextmanager(new_database)
        directory = stack.enter_context(fresh(server, "template1"))
        urls = [stack.enter_context(fresh(server, template)) for _ in range(cells)]
        made = Installation(directory, urls)
        with made.opened:
            yield made


@contextmanager
def copied(server: Server, source: Installation) -> Iterator[Installation]:
    """Clones of the databases of two empty cells, which takes a third of adding two anew."""
    with ExitStack() as stack:
        fresh = contextmanager(new_database)
        names = [str(conninfo_to_dict(url)["dbname"]) for url in (source.directory, *source.cells)]
        directory, *urls = [stack.enter_context(fresh(server, name)) for name in names]
        made = Installation(directory, urls)
        for number, url in enumerate(urls):
            moved = "UPDATE recall_cells.cell SET address = %(address)s WHERE number = %(number)s"
            made.fleet.directory.run(moved, {"address": address_of(url), "number": number})
        with made.opened:
            yield made


@pytest.fixture(scope="session")
def added(server: Server, template: str) -> Iterator[Installation]:
    """Two empty cells that nobody uses, to be cloned."""
    with installed(server, template, 2) as made:
        yield made.add(0, 1)


@pytest.fixture
def installation(request: pytest.FixtureRequest, server: Server, template: str) -> Iterator[Installation]:
    """A directory without cells, and two migrated databases; they are cells in tests of ``two_cells``."""
    if "two_cells" in request.fixturenames:
        with copied(server, request.getfixturevalue("added")) as made:
            yield made
    else:
        with installed(server, template, 2) as made:
            yield made


@pytest.fixture
def two_cells(installation: Installation) -> Installation:
    """Two empty cells."""
    return installation


@pytest.fixture
def apart(two_cells: Installation) -> Installation:
    """Two cells with one tenant each, acme in cell 0 and beta in cell 1."""
    for number, tenant in enumerate(("acme", "beta")):
        two_cells.fleet.place(tenant, number)
        two_cells.memory(tenant).remember(f"The winch of {tenant}.", key="winch")
    return two_cells


@pytest.fixture
def bound_role(installation: Installation, two_cells: Installation) -> Iterator[str]:
    """A login role that acts for beta."""
    role = f"cells_beta_{uuid4().hex[:8]}"
    two_cells.fleet.create_role(role, may="app", tenant="beta", password=None)
    yield role
    with psycopg.connect(installation.directory, autocommit=True) as admin:
        for url in (*installation.cells, installation.directory):
            with psycopg.connect(url, autocommit=True) as there:
                there.execute(f"DROP OWNED BY {role}".encode())
        admin.execute(f"DROP ROLE {role}".encode())


@pytest.fixture(scope="session")
def logical_server() -> Iterator[EmbeddedServer]:
    """A server that can be a source of logical replication, for moves."""
    own_server_only("needs wal_level logical, and a restart for it")
    with server_folder() as folder:
        first = EmbeddedServer.start(folder / "data", fast=True)
        with first, psycopg.connect(first.url, autocommit=True) as admin:
            admin.execute("ALTER SYSTEM SET wal_level = 'logical'")
            admin.execute("ALTER SYSTEM SET autovacuum = off")
            admin.execute("ALTER SYSTEM SET max_logical_replication_workers = 8")
            admin.execute("ALTER SYSTEM SET wal_retrieve_retry_interval = '100ms'")
        with EmbeddedServer.start(folder / "data", fast=True) as server:
            with psycopg.connect(server.url, autocommit=True) as admin:
                admin.execute("CREATE DATABASE cells_fresh")
            migrate.upgrade(make_conninfo(server.url, dbname="cells_fresh"), dimensions=DIMENSIONS)
            yield server


@pytest.fixture(scope="session")
def movable_added(logical_server: EmbeddedServer) -> Iterator[Installation]:
    """Two empty cells on that server that nobody uses, to be cloned."""
    with installed(logical_server, "cells_fresh", 2) as made:
        yield made.add(0, 1)


@pytest.fixture
def movable(logical_server: EmbeddedServer, movable_added: Installation) -> Iterator[Installation]:
    """Two empty cells between which tenants can move."""
    with copied(logical_server, movable_added) as made:
        yield made
        for move in made.fleet.directory.moves():  # of a test that failed
            Mover(made.fleet).undo(move.tenant)
