"""Connections that break, run out or belong to another process: what is repeated, and what never is."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall import AsyncMemory, DatabaseBusy, DatabaseUnavailable, Draft, Memory, Status
from pgrecall.database import statements
from pgrecall.database.connections import FRESH_SECONDS
from pgrecall.nouns.operation import Operation
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.integration.client.blocking import memories_locked, silent, terminate, waiting
from tests.waiting import PATIENCE, until

BACKEND: Operation[int] = Operation("SELECT pg_backend_pid() AS pid", {}, lambda rows: int(rows[0]["pid"]))

TERMINATE_OTHERS = (
    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class Outcome:
    """What became of a call that was made in a thread."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(call,))
        self._thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self.result = call()
        except DatabaseUnavailable as error:
            self.error = error

    def wait(self) -> Outcome:
        self._thread.join()
        return self


@pytest.fixture
def harbour(memory: Memory) -> Memory:
    memory.remember("The harbour opens at six", key="harbour")
    return memory


def test_connections_that_broke_while_idle_are_replaced(harbour: Memory, query: Query) -> None:
    query(TERMINATE_OTHERS)
    assert harbour.record_access("harbour")  # not repeatable, and need not be repeated
    query(TERMINATE_OTHERS)
    assert harbour.get("harbour").key == "harbour"


@pytest.fixture
def _quick_to_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection has a second to show that it works; another may take as long as it needs."""
    own = statements.Limits.check_deadline
    assert own(statements.Limits(2, 3.0, None)) < time.monotonic() + 3.0  # or no time is left for another
    brief = statements.Limits(2, 3.0, None)
    monkeypatch.setattr(statements.Limits, "check_deadline", lambda _: own(brief))


@pytest.mark.usefixtures("_quick_to_doubt")
def test_so_are_those_that_fell_silent(settings: Settings) -> None:
    few = replace(settings, pool_size=2, connect_timeout=PATIENCE)
    with Memory(settings=few, embedder=HashEmbedder(DIMENSIONS)) as memory:
        backend = memory._connection.execute(BACKEND)
        time.sleep(FRESH_SECONDS)
        with silent(backend):
            assert memory._connection.execute(BACKEND) != backend


@pytest.mark.usefixtures("_quick_to_doubt")
def test_a_task_gets_another_connection_as_well(settings: Settings) -> None:
    few = replace(settings, pool_size=2, connect_timeout=PATIENCE)

    async def use() -> None:
        async with AsyncMemory(settings=few, embedder=HashEmbedder(DIMENSIONS)) as memory:
            backend = await memory._connection.execute(BACKEND)
            await asyncio.sleep(FRESH_SECONDS)
            with silent(backend):
                assert await memory._connection.execute(BACKEND) != backend

    asyncio.run(use())


def test_a_question_is_asked_again_after_its_connection_broke(
    harbour: Memory, database_url: str, query: Query
) -> None:
    with memories_locked(database_url):
        asking = Outcome(lambda: harbour.get("harbour"))
        for _ in range(2):
            terminate(query, waiting(query))
        waiting(query)
    assert asking.wait().result.key == "harbour"


def test_it_is_not_asked_for_ever(harbour: Memory, database_url: str, query: Query) -> None:
    with memories_locked(database_url):
        asking = Outcome(lambda: harbour.get("harbour"))
        for _ in range(3):
            terminate(query, waiting(query))
        assert isinstance(asking.wait().error, DatabaseUnavailable)


def test_a_task_asks_again_too(settings: Settings, database_url: str, query: Query) -> None:
    async def use() -> None:
        async with AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
            with memories_locked(database_url):
                asking = asyncio.create_task(memory.status())
                terminate(query, await asyncio.to_thread(waiting, query))
                await asyncio.to_thread(waiting, query)
            assert (await asking).memories == 0

    asyncio.run(use())


@pytest.mark.parametrize("call", ["record_access", "remember", "forget"])
def test_what_would_do_harm_twice_is_never_repeated(
    harbour: Memory, database_url: str, query: Query, call: str
) -> None:
    with memories_locked(database_url):
        writing = Outcome(lambda: getattr(harbour, call)("harbour"))
        terminate(query, waiting(query))
        assert isinstance(writing.wait().error, DatabaseUnavailable)
    assert query("SELECT count(*) AS n FROM recall.access") == [{"n": 1}]
    assert query("SELECT count(*) AS n FROM recall.memory WHERE archived_at IS NULL") == [{"n": 1}]


def test_a_pool_that_is_used_up_says_so(settings: Settings, database_url: str, query: Query) -> None:
    one = replace(settings, pool_size=1, connect_timeout=3.0)
    with until(lambda: opened(one), "a client") as memory:
        until(lambda: answered(memory), "a connection")
        with memories_locked(database_url):
            first = Outcome(lambda: until(lambda: answered(memory), "an answer"))
            waiting(query)
            with pytest.raises(DatabaseBusy, match=r"became free within 3 s.*PGRECALL_POOL_SIZE"):
                memory.status()
        assert first.wait().result.memories == 0


def test_a_database_that_takes_no_connections_any_more_says_so(
    settings: Settings, database_url: str, server: Any, query: Query
) -> None:
    name = conninfo_to_dict(database_url)["dbname"]
    impatient = replace(settings, pool_size=1, connect_timeout=1.0)
    with (
        until(lambda: opened(impatient), "a client") as memory,
        psycopg.connect(server.url, autocommit=True) as admin,
    ):
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        query(TERMINATE_OTHERS)
        until(lambda: not isinstance(refused(memory), DatabaseBusy), "an attempt that failed")
        for _ in range(4):  # also while the pool pauses between two attempts
            said = refused(memory)
            assert "could be made for 1 s" in str(said)
            assert not isinstance(said, DatabaseBusy)
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert until(lambda: answered(memory), "an answer").memories == 0


def opened(settings: Settings) -> Memory | None:
    """A client; None where the machine is too busy to make it within its timeout."""
    with suppress(DatabaseUnavailable):
        return Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS))
    return None


def answered(memory: Memory) -> Status | None:
    """An answer, once there is a connection; the pool may have to make one, and pause before that."""
    with suppress(DatabaseUnavailable):
        return memory.status()
    return None


def refused(memory: Memory) -> DatabaseUnavailable:
    with pytest.raises(DatabaseUnavailable) as caught:
        memory.status()
    return caught.value


def test_threads_share_a_client(memory: Memory) -> None:
    memory.remember_many([Draft(f"Note {n} on the harbour", key=f"n{n}") for n in range(10)])
    barrier = threading.Barrier(8)

    def use(thread: int) -> set[str | None]:
        barrier.wait(PATIENCE)
        tenant = memory.for_tenant(f"tenant-{thread % 2}")
        tenant.remember("A buoy in the harbour", key=f"buoy-{thread}")
        return {hit.key for _ in range(5) for hit in memory.search("harbour", k=20).hits}

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(use, range(8)))
    assert found == [{f"n{n}" for n in range(10)}] * 8
    assert memory.for_tenant("tenant-0").status().memories == 4


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_forked_child_gets_connections_of_its_own(database_url: str, colour: str) -> None:
    driver = [sys.executable, "-X", "dev", "-m", "tests.integration.client.fork_driver"]
    done = subprocess.run(
        [*driver, colour, database_url],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["child"] != told["parent_before"]
    assert told["parent_after"] == told["parent_before"]
    assert told["memories"] == 41
    assert "Error" not in done.stderr
