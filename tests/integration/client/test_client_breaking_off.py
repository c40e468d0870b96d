"""Calls that are broken off, by a task, Ctrl-C or a timeout: in Postgres too, and nothing stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio
import pytest

from pgrecall import AsyncMemory, DatabaseTimeout, InvalidInput, Memory
from pgrecall.database import async_pool, connections, pool, statements
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.faults.wire import wire
from tests.integration.client.blocking import memories_locked, silent, waiting
from tests.waiting import PATIENCE, until

WAITING = (
    "SELECT count(*) AS n FROM pg_stat_activity "
    "WHERE datname = current_database() AND state = 'active' AND backend_type = 'client backend' "
    "AND pid <> pg_backend_pid()"
)


def client(settings: Settings, timeout: float | None = None) -> AsyncMemory:
    return AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS), timeout=timeout)


async def blocked(query: Query) -> int:
    return await asyncio.to_thread(waiting, query)


def nothing_runs(query: Query) -> None:
    """No call is left in Postgres, though what it waited for is still held; the last may take a moment."""
    until(lambda: query(WAITING) == [{"n": 0}], "the end of all calls")


async def answer(call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """What a call gives that nobody holds up, however long a busy machine keeps it from its timeout."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(DatabaseTimeout):
                return await call()


class Clock:
    """By which a client waits for an answer; put forward, it need not be waited for."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (connections, statements, pool, async_pool):
        monkeypatch.setattr(module, "time", made)
    return made


def test_a_cancelled_search_is_cancelled_in_postgres(
    settings: Settings, database_url: str, query: Query
) -> None:
    async def use() -> None:
        async with client(settings) as memory:
            await memory.remember("The harbour opens at six", key="harbour")
            with memories_locked(database_url):
                searching = asyncio.create_task(memory.search("harbour"))
                await blocked(query)
                searching.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await searching
                await asyncio.to_thread(nothing_runs, query)
            assert len((await memory.search("harbour")).hits) == 1

    asyncio.run(use())


def test_so_is_one_whose_task_is_cancelled_again_and_again(
    settings: Settings, database_url: str, query: Query
) -> None:
    async def use(url: str) -> None:
        async with client(replace(settings, database_url=url, pool_size=1)) as memory:
            await memory.remember("The harbour opens at six", key="harbour")
            connections = len(tcp.lines)
            for _ in range(3):
                with memories_locked(database_url):
                    async with anyio.create_task_group() as group:  # cancels in every turn of the event loop
                        group.start_soon(memory.search, "harbour")
                        await blocked(query)
                        group.cancel_scope.cancel()
                    await asyncio.to_thread(nothing_runs, query)
            assert len((await memory.search("harbour")).hits) == 1
            cancellations = len(tcp.lines) - connections
            assert cancellations == 3, "the client goes on with its connection"

    with wire(database_url) as tcp:  # over TCP a request to cancel takes several turns
        asyncio.run(use(tcp.url))


def test_a_cancelled_write_leaves_nothing(settings: Settings, database_url: str, query: Query) -> None:
    async def use() -> None:
        async with client(settings) as memory:
            with memories_locked(database_url):
                writing = asyncio.create_task(memory.remember("The harbour opens at six"))
                await blocked(query)
                writing.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await writing
            assert (await memory.status()).memories == 0

    asyncio.run(use())


async def within(seconds: float, *calls: Coroutine[Any, Any, object]) -> None:
    async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(call)


def test_a_task_group_and_a_timeout_of_asyncio_cancel_as_well(
    settings: Settings, database_url: str, query: Query
) -> None:
    async def use() -> None:
        async with client(settings) as memory:
            with memories_locked(database_url):
                with pytest.raises(TimeoutError):
                    await within(0.3, *(memory.search("harbour") for _ in range(5)))
                await asyncio.to_thread(nothing_runs, query)

    asyncio.run(use())


def test_a_cancelled_job_stops(settings: Settings, database_url: str, query: Query) -> None:
    async def use() -> None:
        async with client(settings) as memory:
            with memories_locked(database_url):
                running = asyncio.create_task(memory.jobs.run("verify"))
                await blocked(query)
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
                await asyncio.to_thread(nothing_runs, query)
            [run] = await memory.jobs.runs("verify")
            assert run.state == "stopped"

    asyncio.run(use())


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C means what it does in a terminal: who starts the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_cancels_in_postgres(memory: Memory, database_url: str, query: Query) -> None:
    memory.remember("The harbour opens at six", key="harbour")
    with memories_locked(database_url):

        def interrupt() -> None:
            waiting(query)
            os.kill(os.getpid(), signal.SIGINT)

        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            memory.search("harbour")
        interrupter.join()
        nothing_runs(query)
    assert len(memory.search("harbour").hits) == 1


def test_a_call_that_takes_too_long_is_broken_off(
    settings: Settings, database_url: str, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "GRACE", PATIENCE)  # it is the server that breaks it off
    query("SELECT recall.remember('The harbour opens at six')")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS), timeout=4) as memory:
        with memories_locked(database_url):
            with pytest.raises(DatabaseTimeout, match=r"did not finish within 4 s") as caught:
                memory.search("harbour")
            assert caught.value.sqlstate == "57014"
            nothing_runs(query)
        until(lambda: found(memory) == 1, "a search within its timeout")


def found(memory: Memory) -> int | None:
    """How many memories speak of the harbour; None where the machine was too busy to tell in time."""
    with suppress(DatabaseTimeout):
        return len(memory.search("harbour").hits)
    return None


def test_so_is_one_that_is_awaited(settings: Settings, database_url: str, query: Query) -> None:
    async def use() -> None:
        timed = replace(settings, timeout=4)
        async with client(timed) as memory:
            with memories_locked(database_url):
                with pytest.raises(DatabaseTimeout):
                    await memory.get("harbour")
                await asyncio.to_thread(nothing_runs, query)
            assert (await answer(memory.status)).memories == 0

    asyncio.run(use())


def test_views_keep_the_timeout(settings: Settings, database_url: str) -> None:
    with (
        Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS), timeout=0.2) as memory,
        memories_locked(database_url),
        pytest.raises(DatabaseTimeout),
    ):
        memory.for_tenant("other").session("s").search("harbour")


def test_a_server_that_is_silent_is_not_waited_for(
    settings: Settings, database_url: str, query: Query, clock: Clock
) -> None:
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS), timeout=PATIENCE) as memory:
        memory.remember("The harbour opens at six", key="harbour")
        errors: list[BaseException] = []

        def get() -> None:
            try:
                memory.get("harbour")
            except DatabaseTimeout as error:
                errors.append(error)

        with memories_locked(database_url) as locked:
            getting = threading.Thread(target=get)
            getting.start()
            with silent(waiting(query)):
                clock.ahead += 2 * PATIENCE
                getting.join()
                assert [type(error) for error in errors] == [DatabaseTimeout]
                locked.rollback()
                assert memory.get("harbour").key == "harbour"  # over another connection


def test_so_it_is_for_a_task(settings: Settings, database_url: str, query: Query, clock: Clock) -> None:
    async def use() -> None:
        async with client(settings, timeout=PATIENCE) as memory:
            with memories_locked(database_url) as locked:
                getting = asyncio.create_task(memory.status())
                with silent(await blocked(query)):
                    clock.ahead += 2 * PATIENCE
                    with pytest.raises(DatabaseTimeout):
                        await getting
                    locked.rollback()
                    assert (await memory.status()).memories == 0

    asyncio.run(use())


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e9])
def test_a_timeout_that_cannot_be(settings: Settings, timeout: float) -> None:
    with pytest.raises(InvalidInput, match="The timeout is"):
        Memory(settings=settings, timeout=timeout)
