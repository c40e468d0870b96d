"""Timeouts, deadlocks, pools that are used up: what was broken off left nothing, and the next call works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall import Access, Draft, Memory
from pgrecall.database.pool import Database
from pgrecall.errors import DatabaseBusy, DatabaseError
from pgrecall.nouns.operation import Operation
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.http.http_tools import serving
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.integration.client.blocking import memories_locked
from tests.scale import SCALE
from tests.waiting import BLOCKED, PATIENCE, blocked, gone, until

pytestmark = pytest.mark.fault

KEYS = ("a", "b", "c", "d")
USED = "SELECT count(*) AS n FROM recall.access WHERE kind = 'used'"


@pytest.fixture
def limited(database_url: str) -> Callable[..., None]:
    """Sets what an administrator limits in this database, for connections to come."""

    def limit(**settings: str) -> None:
        name = conninfo_to_dict(database_url)["dbname"]
        with closing(psycopg.connect(database_url, autocommit=True)) as admin:
            for setting, value in settings.items():
                admin.execute(f"ALTER DATABASE {name} SET {setting} = '{value}'".encode())

    return limit


@contextmanager
def opened(url: str, **settings: Any) -> Iterator[Memory]:
    given = Settings(database_url=url, tenant="acme", embedder="none", **settings)
    with Memory(settings=given, embedder=HashEmbedder(DIMENSIONS)) as memory:
        yield memory


@pytest.fixture
def notes(database_url: str, query: Query) -> dict[str, int]:
    """Four memories: their ids by key."""
    for key in KEYS:
        query("SELECT recall.remember('A note on the tide', p_key => %s)", (key,))
    return {row["key"]: row["id"] for row in query("SELECT key, id FROM recall.memory")}


WRITES: dict[str, Callable[[Memory], object]] = {
    "remember": lambda memory: memory.remember_many([Draft("New", key="new"), Draft("Changed", key="c")]),
    "use": lambda memory: memory.record_accesses([Access(key, "used", session_id="s") for key in KEYS]),
    "forget": lambda memory: memory.forget("c", hard=True),
    "supersede": lambda memory: memory.supersede("c", "d"),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("statement_timeout", "Postgres cancelled the call; nothing was changed: canceling statement"),
        ("lock_timeout", "Another call holds a lock that this one needs; nothing was changed: canceling"),
    ],
)
def test_a_timeout_of_the_server(
    database_url: str, query: Query, notes: dict[str, int], limited: Callable[..., None],
    setting: str, sentence: str, write: str, inject: Inject,
) -> None:  # fmt: skip
    before = query("SELECT to_jsonb(m) - 'search_text' AS m FROM recall.memory m ORDER BY id")
    with opened(database_url) as memory, closing(psycopg.connect(database_url)) as holder:
        holder.execute("SELECT FROM recall.activation WHERE memory_id = %s FOR UPDATE", (notes["c"],))
        # Only now: the client makes its first connection when it is first asked for something.
        limited(**{setting: "2s" if setting == "statement_timeout" else "300ms"})
        inject(setting)
        with pytest.raises(DatabaseError, match=sentence) as caught:
            WRITES[write](memory)
        assert setting in caught.value.hint
        assert query("SELECT to_jsonb(m) - 'search_text' AS m FROM recall.memory m ORDER BY id") == before
        sound(database_url, "acme")
        holder.rollback()
        until(lambda: not_broken_off(WRITES[write], memory), "a call that nobody holds up")
    sound(database_url, "acme")


def not_broken_off(write: Callable[[Memory], object], memory: Memory) -> bool:
    """Does this, unless the machine takes longer for it than the limit that is meant for waits."""
    try:
        write(memory)
    except DatabaseError:
        return False
    return True


def test_a_transaction_that_idles_too_long(
    database_url: str, query: Query, limited: Callable[..., None], inject: Inject
) -> None:
    limited(idle_in_transaction_session_timeout="1s")
    with closing(Database(database_url)) as database:
        inject("idle_in_transaction_session_timeout")

        def dawdle() -> None:
            with database.transaction("acme") as idle:
                call = "SELECT pg_backend_pid() AS pid, recall.remember('Half done')"
                [row] = idle.execute(call).fetchall()
                until(lambda: gone(row["pid"]), "the end of the connection")
                idle.execute("SELECT 1")

        with pytest.raises(DatabaseError, match="idle-in-transaction timeout"):
            dawdle()
        # In one go, so that this one cannot idle.
        counting = Operation("SELECT count(*) AS n FROM recall.memory", {}, list)
        assert database.fetch(counting, tenant="acme") == [{"n": 0}]


def test_deadlocks_with_somebody_else(
    database_url: str, query: Query, notes: dict[str, int], limited: Callable[..., None], inject: Inject
) -> None:
    """Somebody locks memories in another order than ours; Postgres ends our call, which is made again.

    A waiting call looks for a deadlock once. Ours is to be the one that finds it, so a third holds it up
    until the other, who looks for none, waits already.
    """
    limited(deadlock_timeout="100ms")
    lock = "SELECT FROM recall.memory WHERE id = %s FOR UPDATE"
    with (
        opened(database_url) as memory,
        closing(psycopg.connect(database_url)) as other,
        closing(psycopg.connect(database_url)) as third,
        ThreadPoolExecutor(2) as threads,
    ):
        for round_ in range(SCALE):
            other.execute("SET LOCAL deadlock_timeout = '600s'")
            other.execute(lock, (notes["c"],))
            third.execute(lock, (notes["b"],))
            ours = threads.submit(memory.record_accesses, [Access(key, "used") for key in KEYS])
            blocked(third)
            theirs = threads.submit(other.execute, lock, (notes["a"],))
            until(lambda: len(query(BLOCKED)) == 2, "a second wait")
            third.rollback()
            theirs.result(PATIENCE)
            inject("a deadlock")
            other.commit()
            assert ours.result(PATIENCE) == len(KEYS)
            assert query(USED) == [{"n": (round_ + 1) * len(KEYS)}]
    deadlocks = "SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()"
    until(lambda: query(deadlocks)[0]["n"] > 0, "a deadlock")
    sound(database_url, "acme")


def test_a_pool_that_is_used_up_by_many(
    database_url: str, query: Query, notes: dict[str, int], inject: Inject
) -> None:
    told: list[str] = []
    with opened(database_url, pool_size=2, connect_timeout=6) as memory, ThreadPoolExecutor(12) as threads:

        def use(number: int) -> bool:
            try:
                return memory.record_access("a", "used", idempotency_key=str(number))
            except DatabaseBusy as error:
                told.append(str(error))
                return False

        with memories_locked(database_url):
            calls = [threads.submit(use, number) for number in range(12)]
            until(lambda: len(told) >= 10, "ten refusals")
        inject("a pool used up", len(told))
        assert [call.result(PATIENCE) for call in calls].count(True) == 2
        assert set(told) == {
            "No connection to Postgres became free within 6 s. "
            "Raise PGRECALL_POOL_SIZE, or try again when the server is less busy."
        }
        assert query(USED) == [{"n": 2}]
        assert sum(use(number) for number in range(12)) == 10
    assert query(USED) == [{"n": 12}]
    sound(database_url, "acme")


def test_a_service_whose_pool_is_used_up(
    database_url: str, query: Query, notes: dict[str, int], inject: Inject
) -> None:
    limits = {"pool_size": "1", "connect_timeout": "6", "http_concurrency": "4"}
    with serving(database_url, **limits) as served, ThreadPoolExecutor(4) as threads:

        def ask(_: int) -> int:
            return served.client.post("/v1/search", json={"query": "tide"}).status_code

        with memories_locked(database_url):
            calls = [threads.submit(ask, number) for number in range(4)]
            until(lambda: sum(call.done() for call in calls) >= 3, "three refusals")
        inject("a pool used up", 3)
        assert sorted(call.result(PATIENCE) for call in calls) == [200, 503, 503, 503]
        assert ask(0) == 200
    sound(database_url, "acme")
