"""A worker that is asked whether it is ready while its database goes away and comes back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall.database.pool import Database
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.jobs import worker
from pgrecall.jobs.runner import Runner
from pgrecall.jobs.worker import Worker
from tests.databases import Query
from tests.faults.conftest import Inject
from tests.waiting import PATIENCE, until


@contextmanager
def away(server: EmbeddedServer, url: str) -> Iterator[None]:
    """Meanwhile nobody can connect to this database, and nobody is."""
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        try:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            yield
        finally:
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


def test_it_is_unready_until_the_database_is_back(
    server: EmbeddedServer,
    database_url: str,
    query: Query,
    inject: Inject,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    query("SELECT recall.remember('The harbour opens at six')")
    monkeypatch.setattr(worker, "REFRESH_SECONDS", 0.2)
    with closing(Database(database_url, connect_timeout=1)) as database:
        runner = Runner(database)
        looked: list[object] = []
        fetch = runner.fetch
        monkeypatch.setattr(runner, "fetch", lambda operation: looked.append(operation) or fetch(operation))
        watched = Worker(runner)
        working = threading.Thread(target=watched.serve)
        working.start()
        try:
            until(lambda: not watched.problems(), "readiness")
            with caplog.at_level(logging.ERROR, "pgrecall.jobs"), away(server, database_url):
                until(watched.problems, "what is wrong")
                inject("a database away from a worker")
                looked.clear()
                until(lambda: len(looked) > 5, "more looks")
                logged = [record.getMessage().partition(" ")[0] for record in caplog.records]
            until(lambda: not watched.problems(), "readiness again")
            assert len(logged) == len(set(logged)), "an outage is logged once for each job"
        finally:
            runner.stop.set()
            working.join(PATIENCE)
