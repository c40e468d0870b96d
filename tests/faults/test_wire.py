"""Connections that are cut, half-open or silent: clients recover by themselves, or say what happened."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from pgrecall import AsyncMemory, Memory
from pgrecall.database import connections
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.database.connections import FRESH_SECONDS, KEEPALIVES, connect
from pgrecall.database.pool import Database
from pgrecall.errors import DatabaseError, DatabaseTimeout, DatabaseUnavailable
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.faults.conftest import Inject
from tests.faults.wire import QUICKLY, Wire, wire
from tests.integration.client.blocking import memories_locked, waiting
from tests.waiting import BLOCKED, PATIENCE, until

pytestmark = pytest.mark.fault


@pytest.fixture
def line(database_url: str) -> Iterator[Wire]:
    with wire(database_url) as made:
        yield made


@pytest.fixture
def far(line: Wire) -> Settings:
    """Of a client at the other end of the wire."""
    return Settings(
        database_url=line.url + QUICKLY, tenant="acme", embedder="none", connect_timeout=9, pool_size=2
    )


@pytest.fixture
def remote(far: Settings) -> Iterator[Memory]:
    with Memory(settings=far, embedder=HashEmbedder(DIMENSIONS)) as memory:
        memory.remember("The harbour opens at six", key="harbour")
        yield memory


OPTIONS = {
    "keepalives_idle": socket.TCP_KEEPIDLE,
    "keepalives_interval": socket.TCP_KEEPINTVL,
    "keepalives_count": socket.TCP_KEEPCNT,
    "tcp_user_timeout": socket.TCP_USER_TIMEOUT,
}


def keepalives_of(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> dict[str, int]:
    """What the kernel was told of this connection."""
    with socket.socket(fileno=connection.fileno()) as end:
        try:
            return {name: end.getsockopt(socket.IPPROTO_TCP, option) for name, option in OPTIONS.items()}
        finally:
            end.detach()


def test_every_connection_notices_that_the_other_end_is_gone(line: Wire) -> None:
    database = Database(line.url)
    with database.transaction("acme") as pooled:
        assert keepalives_of(pooled) == KEEPALIVES
    database.close()
    with connect(line.url) as single:
        assert keepalives_of(single) == KEEPALIVES

    async def use() -> None:
        waiting = AsyncDatabase(line.url)
        pool = await waiting._open_pool()
        async with pool.connection() as awaited:
            assert keepalives_of(awaited) == KEEPALIVES
        await waiting.close()

    asyncio.run(use())


def test_what_the_url_says_of_it_holds(line: Wire) -> None:
    with connect(line.url + " keepalives_idle=7 tcp_user_timeout=0") as single:
        assert keepalives_of(single) == KEEPALIVES | {"keepalives_idle": 7, "tcp_user_timeout": 0}


@pytest.mark.parametrize("fault", ["cut", "go_dead", "stall"])
def test_an_idle_connection_that_broke_is_replaced(
    remote: Memory, line: Wire, query: Query, fault: str, inject: Inject
) -> None:
    time.sleep(FRESH_SECONDS)  # then it is asked before it is used
    getattr(line, fault)()
    inject(f"an idle connection: {fault.replace('_', ' ')}")
    assert remote.record_access("harbour")
    assert remote.get("harbour").key == "harbour"
    assert query("SELECT count(*) AS n FROM recall.access WHERE kind = 'read'") == [{"n": 1}]


def broken_off(call: Callable[[], object]) -> DatabaseError:
    """The error of a call that comes back within the bounds of these tests."""
    began = time.monotonic()
    with pytest.raises(DatabaseError) as caught:
        call()
    assert time.monotonic() - began < PATIENCE
    assert caught.value.message.endswith(".")
    assert caught.value.hint
    return caught.value


def test_a_call_on_a_dead_connection_fails_with_a_sentence(
    remote: Memory, line: Wire, query: Query, database_url: str, inject: Inject
) -> None:
    with memories_locked(database_url):
        killer = threading.Thread(target=lambda: (waiting(query), line.go_dead()))
        killer.start()
        error = broken_off(lambda: remote.record_access("harbour"))
        killer.join()
    inject("a half-open connection under a call")
    assert isinstance(error, DatabaseUnavailable)
    assert "It may or may not have completed" in error.hint
    assert remote.get("harbour").key == "harbour"


def test_a_silent_server_is_left_after_the_clients_own_timeout(
    far: Settings, line: Wire, query: Query, database_url: str, inject: Inject
) -> None:
    # Time enough to see it wait, before the server breaks it off and answers.
    with Memory(settings=far, embedder=HashEmbedder(DIMENSIONS), timeout=10) as memory:
        memory.remember("The harbour opens at six", key="harbour")
        with memories_locked(database_url):
            killer = threading.Thread(target=lambda: (waiting(query), line.stall()))
            killer.start()
            error = broken_off(lambda: memory.get("harbour"))
            killer.join()
        assert isinstance(error, DatabaseTimeout)
        inject("a stalled connection under a call")
        assert memory.get("harbour").key == "harbour"


def test_an_answer_that_is_lost_is_not_taken_for_a_failure_nor_repeated(
    far: Settings, line: Wire, query: Query, inject: Inject, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of several connections one might be made only after the answers of the others are lost; and one that
    # is asked whether it works, for a moment has passed, is replaced before the call.
    alone = replace(far, pool_size=1)
    monkeypatch.setattr(connections, "FRESH_SECONDS", PATIENCE)
    with Memory(settings=alone, embedder=HashEmbedder(DIMENSIONS)) as remote:
        remote.remember("The harbour opens at six", key="harbour")
        answers_are_lost(remote, line, query, inject)


def answers_are_lost(remote: Memory, line: Wire, query: Query, inject: Inject) -> None:
    line.lose_answers()
    error = broken_off(lambda: remote.record_access("harbour"))
    assert "It may or may not have completed" in error.hint
    inject("the answer to a commit lost")
    assert query("SELECT count(*) AS n FROM recall.access WHERE kind = 'read'") == [{"n": 1}]
    assert remote.get("harbour").key == "harbour"
    line.lose_answers()
    assert remote.record_access("harbour", idempotency_key="once") is False  # done, told the second time
    inject("the answer to a commit lost")
    assert query("SELECT count(*) AS n FROM recall.access WHERE kind = 'read'") == [{"n": 2}]


def test_tasks_do_not_wait_for_a_dead_wire_either(
    far: Settings, line: Wire, query: Query, database_url: str, inject: Inject
) -> None:
    async def use() -> None:
        async with AsyncMemory(settings=far, embedder=HashEmbedder(DIMENSIONS)) as memory:
            await memory.remember("The harbour opens at six", key="harbour")
            with memories_locked(database_url):
                calls = [asyncio.create_task(memory.get("harbour")) for _ in range(2)]
                await asyncio.to_thread(until, lambda: len(query(BLOCKED)) == 2, "two waits")
                line.go_dead()
            async with asyncio.timeout(PATIENCE):  # a question is asked again, over connections of its own
                assert [(await call).key for call in calls] == ["harbour"] * 2

    asyncio.run(use())
    inject("half-open connections under tasks", 2)
