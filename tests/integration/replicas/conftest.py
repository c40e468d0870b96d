"""A primary with a streaming standby, each an embedded server of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import cloned
from tests.faults.victim import Victim
from tests.given_server import own_server_only
from tests.server_folders import server_folder
from tests.waiting import PATIENCE, until

INSTALLED = "installed"
"""A database of the pair to copy, in which no test stores anything."""


@dataclass
class Pair:
    """The servers of a primary and of its standby; both can be stopped and started."""

    primary: Victim
    standby: Victim

    def pause(self) -> None:
        """Stops the standby from replaying, so that it lags."""
        self._standby("SELECT pg_wal_replay_pause()")
        until(lambda: self._standby("SELECT pg_get_wal_replay_pause_state()") == "paused", "the pause")

    def resume(self) -> None:
        """Has the standby replay again."""
        self._standby("SELECT pg_wal_replay_resume()")

    def catch_up(self) -> None:
        """Waits until the standby has replayed all that the primary has."""
        with self.primary.admin() as admin:
            end = admin.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        assert end is not None
        query = f"SELECT pg_last_wal_replay_lsn() >= '{end[0]}'::pg_lsn"
        until(lambda: self._standby(query), "the replay")

    def _standby(self, sql: str) -> object:
        with self.standby.admin() as admin:
            row = admin.execute(sql.encode()).fetchone()
        return row[0] if row is not None else None


@pytest.fixture(scope="session")
def replicated() -> Iterator[Pair]:
    """A primary and its standby, made from a copy of its files."""
    own_server_only("needs two servers of its own")
    with server_folder() as folder:
        with EmbeddedServer.start(folder / "one", fast=True) as first:
            migrate.upgrade(first.url, dimensions=DIMENSIONS)
            with psycopg.connect(make_conninfo(first.url, dbname="template1"), autocommit=True) as admin:
                cloned(admin, INSTALLED, "postgres")
        two = folder / "two"
        subprocess.run(["cp", "-a", str(folder / "one"), str(two)], check=True)
        shutil.rmtree(two / "run", ignore_errors=True)
        with ExitStack() as stack:
            one = stack.enter_context(EmbeddedServer.start(folder / "one"))
            source = {name: value for name, value in conninfo_to_dict(one.url).items() if name != "dbname"}
            cluster = two / "postgres"
            settings = (cluster / "postgresql.auto.conf").read_text()
            (cluster / "postgresql.auto.conf").write_text(
                f"{settings}primary_conninfo = '{make_conninfo('', **source)}'\n"
                "wal_retrieve_retry_interval = '100ms'\n"
            )
            (cluster / "standby.signal").touch()
            standby = stack.enter_context(EmbeddedServer.start(two))
            pair = Pair(Victim(one, "postgres", ""), Victim(standby, "postgres", ""))
            pair.catch_up()
            yield pair


@pytest.fixture
def pair(replicated: Pair) -> Iterator[Pair]:
    """The primary and its standby, which runs and replays before and after the test."""
    yield replicated
    for server in (replicated.primary, replicated.standby):
        if not server.answers():
            server.start()
    replicated.resume()
    replicated.catch_up()


Opened = Callable[..., Memory]


@pytest.fixture
def opened(pair: Pair) -> Iterator[Opened]:
    """Opens clients of the pair for a tenant of the test's own."""
    tenant = f"tenant-{uuid4().hex[:8]}"
    with ExitStack() as stack:

        def open_client(*, lag: float = 60.0, replica: str | None = None, **options: object) -> Memory:
            given = {"connect_timeout": PATIENCE} | options
            settings = Settings(tenant=tenant, embedder="hash", replica_lag=lag, **given)
            client = Memory(
                pair.primary.url,
                replica=pair.standby.url if replica is None else replica,
                settings=settings,
                embedder=HashEmbedder(DIMENSIONS),
            )
            return stack.enter_context(client)

        yield open_client
