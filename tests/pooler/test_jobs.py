"""Jobs need a session of their own: they refuse a pooler in transaction mode, and leave no lock behind it."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall import DatabaseUnsuitable, Memory
from pgrecall.database.connections import connect
from pgrecall.database.pooler import pool_mode, process_of
from pgrecall.database.session import Session
from pgrecall.nouns.jobs.operations import tenants
from pgrecall.settings import Settings
from tests.acceptance.cli.command_tools import Command
from tests.given_server import Server
from tests.pooler.bouncer import bouncing
from tests.pooler.conftest import settings_of

LOCKS = (
    "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
    "WHERE d.datname = %s AND l.locktype = 'advisory'"
)


def locks_left(url: str) -> int:
    """Advisory locks in the database, held by server connections that nobody uses."""
    with psycopg.connect(url, autocommit=True) as connection:
        [count] = connection.execute(LOCKS, (conninfo_to_dict(url)["dbname"],)).fetchone() or (0,)
    return int(count)


@pytest.mark.parametrize("arguments", [("worker",), ("worker", "--once")])
def test_a_worker_refuses(
    arguments: tuple[str, ...], bare_pgrecall: Command, pooled_url: str, database_url: str
) -> None:
    ended = bare_pgrecall(*arguments, database_url=pooled_url)
    assert ended.code == 3
    assert "points to a connection pooler in transaction mode; jobs need a direct connection" in ended.err
    assert "docs/howto/postgres.md" in ended.err
    assert locks_left(database_url) == 0


def test_a_job_by_hand_fails_with_the_sentence(pooled: Settings, database_url: str) -> None:
    with Memory(settings=pooled) as memory:
        memory.remember("The harbour opens at six")
        for _ in range(4):
            [ended] = memory.jobs.run("statistics")
            assert (ended.state, ended.attempt) == ("failed", 1)
            assert "connection pooler in transaction mode" in (ended.error or "")
    assert locks_left(database_url) == 0


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("round_robin", [False, True])
def test_sharing_is_noticed(size: int, round_robin: bool, server: Server, database_url: str) -> None:
    """Whichever server connection the pooler prefers, and however many it has open."""
    with bouncing(server.url, size=size, round_robin=round_robin) as pooler:
        url = pooler.url(database_url)
        with Memory(settings=settings_of(url)) as memory:
            memory.status()  # opens some
        with connect(url) as first:
            assert pool_mode(first, url, timeout=10) == "transaction"


def test_a_pool_in_session_mode_runs_jobs(server: Server, database_url: str) -> None:
    with bouncing(server.url, mode="session", size=8) as pooler:
        url = pooler.url(database_url)
        with connect(url) as first:
            assert pool_mode(first, url, timeout=10) == "session"
        with Memory(settings=settings_of(url)) as memory:
            memory.remember("The harbour opens at six")
            assert [run.state for run in memory.jobs.run("statistics")] == ["done"]
    assert locks_left(database_url) == 0


def test_without_a_pooler_there_is_none(database_url: str) -> None:
    with connect(database_url) as connection:
        assert pool_mode(connection, database_url, timeout=10) is None


def test_a_session_whose_process_changed_does_nothing(database_url: str) -> None:
    """As where the pooler was too busy to be noticed at the start."""
    with connect(database_url) as connection:
        session = Session(connection, process_of(connection) + 1)
        with pytest.raises(DatabaseUnsuitable, match="transaction mode"):
            session.fetch(tenants(), tenant="*")


@pytest.mark.parametrize(
    ("mode", "given", "sentence"),
    [
        (
            "transaction",
            "auto",
            "in transaction mode. Statements are not prepared. Jobs",
        ),
        ("transaction", "on", "Statements are prepared, so the pooler has to track them."),
        ("session", "off", "in session mode. Statements are not prepared."),
    ],
)
def test_the_doctor_reports_the_pooler(
    mode: str, given: str, sentence: str, bare_pgrecall: Command, server: Server, database_url: str
) -> None:
    with bouncing(server.url, mode=mode, size=8) as pooler:
        url = pooler.url(database_url)
        ended = bare_pgrecall(
            "doctor", "--only", "server", "--json", database_url=url, prepared_statements=given
        )
    assert ended.code == 0
    [told] = [found["message"] for found in ended.json["findings"] if "pooler" in found["message"]]
    assert sentence in told
    direct = bare_pgrecall("doctor", "--only", "server", "--json", database_url=database_url)
    assert "pooler" not in direct.out
