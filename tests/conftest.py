"""Shared ground: one embedded server for the whole run, one clone of a migrated template per test."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from filelock import FileLock
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests import scheduling
from tests.emptying import Emptying
from tests.scale import SCALE
from tests.waiting import PATIENCE, until

DIMENSIONS = 64
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
TEMPLATE = "recall_template"

# A deadline for each example is a timed assertion: it fails where the machine is busy, and says nothing else.
# The examples are the same in each run, so what fails was changed; a larger scale and `make fuzz` draw anew.
hypothesis_settings.register_profile(
    "suite", deadline=None, derandomize=SCALE == 1, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: scheduling.place(item.nodeid))


@pytest.hookimpl(optionalhook=True)  # for runs without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.ByFile | None:
    return scheduling.ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on the settings of whoever runs it."""
    import os

    for name in list(os.environ):
        if name.startswith("PGRECALL_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def server(
    testrun_uid: str, worker_id: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedServer]:
    """The embedded server, shared by all workers of the run; the last one stops and removes it."""
    # Not under tmp_path: as root the server runs as an account that may not pass pytest's private folders.
    folder = Path(tempfile.gettempdir()) / f"pgrecall-{testrun_uid[:12]}"
    # One worker after the other comes or goes: what one removes, another may just be starting again.
    own = tmp_path_factory.getbasetemp()  # of one worker; what contains it is all workers'
    door = FileLock(str((own if worker_id == "master" else own.parent) / "server.lock"))
    with door:
        folder.mkdir(mode=0o755, exist_ok=True)
        running = EmbeddedServer.start(folder / "data", fast=True)
        _leave_alone(running)
    yield running
    with door:
        running.release()
        if not (running.data_dir / "postgres" / "postmaster.pid").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _leave_alone(server: EmbeddedServer) -> None:
    """Nothing is vacuumed or analysed, nor a plan changed by it, at a moment that no test chose."""
    with psycopg.connect(server.url, autocommit=True) as admin:
        if admin.execute("SHOW autovacuum").fetchone() == ("off",):
            return
        admin.execute("ALTER SYSTEM SET autovacuum = off")
        admin.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="session")
def template(server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a migrated, empty database that tests clone."""
    lock = FileLock(str(server.data_dir / "template.lock"))
    with lock, psycopg.connect(server.url, autocommit=True) as admin:
        there = admin.execute("SELECT FROM pg_database WHERE datname = %s", (TEMPLATE,)).fetchone()
        if there is None:
            admin.execute("CREATE DATABASE recall_fresh")
            migrate.upgrade(make_conninfo(server.url, dbname="recall_fresh"), dimensions=DIMENSIONS)
            alone(admin, f"ALTER DATABASE recall_fresh RENAME TO {TEMPLATE}")
    return TEMPLATE


@pytest.fixture
def empty_database(server: EmbeddedServer) -> Iterator[str]:
    """The URL of a database of its own, without pgrecall's schema."""
    yield from _database(server, "template1")


@pytest.fixture
def database_url(request: pytest.FixtureRequest, server: EmbeddedServer, template: str) -> Iterator[str]:
    """The URL of a migrated database of its own, for embeddings of 64 dimensions.

    Where tests are marked ``in_turns``, that of their file, in which nothing is left of the one before.
    """
    if not _in_turns(request):
        yield from _database(server, template)
        return
    empty = request.getfixturevalue("emptying")
    yield request.getfixturevalue("shared_url")
    empty()


def _in_turns(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("in_turns") is not None


def _database(server: EmbeddedServer, template: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        cloned(admin, name, template)
        try:
            yield make_conninfo(server.url, dbname=name)
        finally:
            dropped(admin, name)


def cloned(admin: psycopg.Connection[Any], name: str, template: str) -> None:
    """Makes a database that is a copy of another, to which nobody is connected."""
    alone(admin, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")


def dropped(admin: psycopg.Connection[Any], name: str) -> None:
    """Drops a database with its sessions."""
    alone(admin, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def alone(admin: psycopg.Connection[Any], statement: str) -> None:
    """Runs what wants a database to itself, also where sessions of it that were closed, or told to end, take
    longer to end than the five seconds that Postgres waits."""

    def tried() -> bool:
        try:
            admin.execute(statement.encode())
        except psycopg.errors.ObjectInUse:
            return False
        return True

    until(tried, statement)


@pytest.fixture
def settings(database_url: str) -> Settings:
    return _of_acme(database_url)


def _of_acme(database_url: str) -> Settings:
    """However many threads share its pool, each gets a connection in the end."""
    return Settings(
        database_url=database_url,
        tenant="acme",
        embedder="hash",
        embedder_dimensions=DIMENSIONS,
        connect_timeout=PATIENCE,
    )


@pytest.fixture
def memory(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Memory]:
    """A client of tenant ``acme`` with the deterministic embedder."""
    if _in_turns(request):
        yield request.getfixturevalue("kept_memory")
        return
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as client:
        yield client


Query = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def query(request: pytest.FixtureRequest) -> Iterator[Query]:
    """Runs one SQL statement as tenant ``acme`` (or ``tenant=``); returns its rows.

    Committed, in a database of the test's own, where anything else of the test connects to it (whatever wants
    ``database_url``); else as ``sql``, which spares the clone and the first plans of a connection.
    """
    if "database_url" in request.fixturenames and _in_turns(request):
        request.getfixturevalue("database_url")
        yield _runner(request.getfixturevalue("kept_connection"))
    elif "database_url" in request.fixturenames:
        with psycopg.connect(request.getfixturevalue("database_url"), row_factory=dict_row) as connection:
            yield _runner(connection)
    else:
        yield request.getfixturevalue("sql")


def _runner(connection: psycopg.Connection[Any]) -> Query:
    def run(sql: str, parameters: Any = None, *, tenant: str = "acme") -> list[dict[str, Any]]:
        with connection.transaction():  # a savepoint where one has begun
            connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant,))
            cursor = connection.execute(sql, parameters)
            return cursor.fetchall() if cursor.description is not None else []

    return run


@pytest.fixture(scope="module")
def shared_url(server: EmbeddedServer, template: str) -> Iterator[str]:
    """The URL of one migrated database for all tests of a file."""
    yield from _database(server, template)


@pytest.fixture(scope="module")
def shared_connection(shared_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared_url, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture(scope="module")
def kept_connection(shared_url: str) -> Iterator[psycopg.Connection[Any]]:
    """The ``query`` of tests that take turns, committed."""
    with psycopg.connect(shared_url, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture(scope="module")
def emptying(kept_connection: psycopg.Connection[Any]) -> Emptying:
    """Takes back what a test that had its turn has left."""
    return Emptying(kept_connection)


@pytest.fixture(scope="module")
def kept_memory(shared_url: str) -> Iterator[Memory]:
    """The ``memory`` of tests that take turns."""
    with Memory(settings=_of_acme(shared_url), embedder=HashEmbedder(DIMENSIONS)) as client:
        yield client


@pytest.fixture(scope="module")
def shared_memory(shared_url: str) -> Iterator[Memory]:
    """A client of tenant ``shared``, for all tests of a file that do not mind what the others left there."""
    settings = Settings(database_url=shared_url, tenant="shared", embedder="hash")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as client:
        yield client


@pytest.fixture
def sql(shared_connection: psycopg.Connection[Any]) -> Iterator[Query]:
    """Runs statements in the file's shared database; what a test did there is rolled back."""
    with shared_connection.transaction(force_rollback=True):
        yield _runner(shared_connection)


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"
