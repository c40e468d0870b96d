"""Shared fixtures: one server for the whole run, one clone of a migrated template per test."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Iterator
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
from tests.databases import Query, alone, new_database, runner
from tests.emptying import Emptying
from tests.given_server import GIVEN, Server, in_use, leave_alone, own_server_only, template_of
from tests.http_endpoint import Endpoint
from tests.scale import SCALE
from tests.server_folders import PREFIX, parent_folder, remove_forgotten
from tests.slow import SLOW
from tests.waiting import PATIENCE

# Bytecode is kept even where the environment says otherwise: each process that a test starts would compile
# its imports again, which doubles the time of a command and makes torch take 12 seconds instead of 6.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

DIMENSIONS = 64
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)

# No deadline for examples: it would only fail on a busy machine. The examples are the same in each run, so
# that only a change makes them fail; a larger scale and `make fuzz` draw new ones.
hypothesis_settings.register_profile(
    "suite",
    max_examples=50 * SCALE,
    deadline=None,
    derandomize=SCALE == 1,
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("suite")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files whose tests are all slow where none is asked for: each worker would import them."""
    if config.option.markexpr != "not slow":
        return None
    named = collection_path.relative_to(config.rootpath).as_posix() + "/" * collection_path.is_dir()
    return True if named.startswith(tuple(SLOW)) else None


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: scheduling.place(item.nodeid))
    parts = tuple(SLOW)
    for item in items:
        if item.nodeid.startswith(parts):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    # Modules and tests live to the end: looking for garbage among them took a twelfth of a worker's time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)  # of new objects, where 700 are the default


@pytest.hookimpl(optionalhook=True)  # for runs without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.ByFile | None:
    return scheduling.ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes pgrecall's variables from the environment of every test."""
    for name in list(os.environ):
        if name.startswith("PGRECALL_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def run_folder(worker_id: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run share."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(scope="session")
def server(testrun_uid: str, run_folder: Path) -> Iterator[Server]:
    """The server of the run: the one at PGRECALL_TEST_SERVER, else an embedded one."""
    if GIVEN is None:
        yield from _embedded(testrun_uid, run_folder)
        return
    with in_use(GIVEN, template_of(testrun_uid)) as given:
        yield given


def _embedded(testrun_uid: str, run_folder: Path) -> Iterator[EmbeddedServer]:
    """The embedded server, shared by all workers of the run; the last one stops and removes it."""
    folder = parent_folder() / f"{PREFIX}{testrun_uid[:12]}"
    # Workers start and stop one after another, so that none removes a server that another is starting.
    lock = FileLock(str(run_folder / "server.lock"))
    with lock:
        remove_forgotten()
        folder.mkdir(mode=0o755, exist_ok=True)
        running = EmbeddedServer.start(folder / "data", fast=True)
        leave_alone(running.url)
    yield running
    with lock:
        running.release()
        if not (running.data_dir / "postgres" / "postmaster.pid").exists():
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def embedded(server: Server) -> EmbeddedServer:
    """The server of the run, for tests of its files and its life."""
    own_server_only("uses the files of the embedded server")
    assert isinstance(server, EmbeddedServer)
    return server


@pytest.fixture(scope="session")
def template(server: Server, testrun_uid: str, run_folder: Path) -> str:
    """The name of a migrated, empty database that tests clone."""
    name = template_of(testrun_uid)
    lock = FileLock(str(run_folder / "template.lock"))
    with lock, psycopg.connect(server.url, autocommit=True) as admin:
        there = admin.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if there is None:
            fresh = f"{name}_fresh"
            admin.execute(f"CREATE DATABASE {fresh}")
            migrate.upgrade(make_conninfo(server.url, dbname=fresh), dimensions=DIMENSIONS)
            alone(admin, f"ALTER DATABASE {fresh} RENAME TO {name}")
    return name


@pytest.fixture
def empty_database(server: Server) -> Iterator[str]:
    """The URL of a new database without pgrecall's schema."""
    yield from new_database(server, "template1")


@pytest.fixture
def database_url(request: pytest.FixtureRequest, server: Server, template: str) -> Iterator[str]:
    """The URL of a new migrated database for embeddings of 64 dimensions.

    Tests marked ``in_turns`` share one database per file, which is emptied after each test.
    """
    if not _in_turns(request):
        yield from new_database(server, template)
        return
    empty = request.getfixturevalue("emptying")
    yield request.getfixturevalue("shared_url")
    empty()


def _in_turns(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("in_turns") is not None


@pytest.fixture
def settings(database_url: str) -> Settings:
    return _of_acme(database_url)


def _of_acme(database_url: str) -> Settings:
    """Settings of tenant ``acme``, with time for many threads to share the pool."""
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


@pytest.fixture
def endpoint(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A server of models over HTTP, which answers as ``honest`` of the module says."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Endpoint(request.module.honest)
    yield server
    server.stop()


@pytest.fixture
def query(request: pytest.FixtureRequest) -> Iterator[Query]:
    """Runs one SQL statement as tenant ``acme`` (or ``tenant=``); returns its rows.

    If the test uses ``database_url``, statements are committed there; else this is ``sql``, which needs no
    new database or connection.
    """
    if "database_url" in request.fixturenames and _in_turns(request):
        request.getfixturevalue("database_url")
        yield runner(request.getfixturevalue("kept_connection"))
    elif "database_url" in request.fixturenames:
        with psycopg.connect(request.getfixturevalue("database_url"), row_factory=dict_row) as connection:
            yield runner(connection)
    else:
        yield request.getfixturevalue("sql")


@pytest.fixture(scope="module")
def shared_url(server: Server, template: str) -> Iterator[str]:
    """The URL of one migrated database for all tests of a file."""
    yield from new_database(server, template)


@pytest.fixture(scope="module")
def shared_connection(shared_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared_url, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture(scope="module")
def kept_connection(shared_url: str) -> Iterator[psycopg.Connection[Any]]:
    """The connection of ``query`` in tests marked ``in_turns``; statements are committed."""
    with psycopg.connect(shared_url, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture(scope="module")
def emptying(kept_connection: psycopg.Connection[Any]) -> Emptying:
    """Removes what a test marked ``in_turns`` has left."""
    return Emptying(kept_connection)


@pytest.fixture(scope="module")
def kept_memory(shared_url: str) -> Iterator[Memory]:
    """The ``memory`` of tests marked ``in_turns``."""
    with Memory(settings=_of_acme(shared_url), embedder=HashEmbedder(DIMENSIONS)) as client:
        yield client


@pytest.fixture(scope="module")
def shared_memory(shared_url: str) -> Iterator[Memory]:
    """A client of tenant ``shared``, shared by tests of a file that do not depend on an empty tenant."""
    settings = Settings(database_url=shared_url, tenant="shared", embedder="hash")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as client:
        yield client


@pytest.fixture
def sql(request: pytest.FixtureRequest, shared_connection: psycopg.Connection[Any]) -> Iterator[Query]:
    """Runs statements in the file's shared database; they are rolled back after the test."""
    if "database_url" in request.fixturenames and _in_turns(request):
        # Set up first, torn down last: emptying the database waits for the locks of these statements.
        request.getfixturevalue("database_url")
    with shared_connection.transaction(force_rollback=True):
        yield runner(shared_connection)


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder of three notes."""
    folder = tmp_path / "vault"
    folder.mkdir()
    for name in ("winch", "yard", "tide"):
        (folder / f"{name}.md").write_text(f"The {name} of the harbour.")
    return folder
