"""Many clients share few server connections: no call is answered by another client's statement."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from pgrecall import AsyncMemory, DatabaseError, Memory
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.database.pool import Database
from pgrecall.schema import migrate
from pgrecall.settings import Settings
from tests.given_server import Server
from tests.pooler.bouncer import Bouncer, bouncing
from tests.pooler.conftest import settings_of

TURNS = 12  # more than the executions after which psycopg prepares a statement


def a_day(memory: Memory, name: str) -> list[str]:
    """Calls of many kinds and parameters; returns the keys that a search found."""
    found = []
    for turn in range(TURNS):
        key = f"{name}-{turn}"
        memory.remember(f"The harbour opens at {turn} for {name}", key=key, tags=[name])
        assert memory.get(key).key == key
        memory.record_access(key, "used")
        memory.link(key, f"{name}-0") if turn else None
        found += [hit.key or "" for hit in memory.search("harbour", tags=[name], k=50).hits][:1]
    return found


def test_many_clients(pooled: Settings) -> None:
    with ExitStack() as opened, ThreadPoolExecutor(6) as threads:
        clients = [opened.enter_context(Memory(settings=pooled)) for _ in range(3)]
        names = [f"n{number}" for number in range(6)]
        days = [threads.submit(a_day, clients[place % 3], name) for place, name in enumerate(names)]
        for name, day in zip(names, days, strict=True):
            assert [key.partition("-")[0] for key in day.result()] == [name] * TURNS
        assert clients[0].status().memories == 6 * TURNS


def test_many_tasks(pooled: Settings) -> None:
    async def day(memory: AsyncMemory, name: str) -> None:
        for turn in range(TURNS):
            key = f"{name}-{turn}"
            await memory.remember(f"The harbour opens at {turn} for {name}", key=key, tags=[name])
            assert (await memory.get(key)).key == key
            await memory.record_access(key, "used")
            hits = (await memory.search("harbour", tags=[name], k=50)).hits
            assert {hit.key for hit in hits} == {f"{name}-{n}" for n in range(turn + 1)}

    async def days() -> int:
        async with AsyncMemory(settings=pooled) as first, AsyncMemory(settings=pooled) as second:
            await asyncio.gather(*(day((first, second)[n % 2], f"n{n}") for n in range(6)))
            return (await first.status()).memories

    assert asyncio.run(days()) == 6 * TURNS


def test_one_server_connection_serves_all(server: Server, database_url: str) -> None:
    """The worst case: two clients with the same names of statements, turn by turn on one connection."""
    with bouncing(server.url, size=1) as pooler:
        settings = settings_of(pooler.url(database_url))
        with Memory(settings=settings) as first, Memory(settings=settings) as second:
            for turn in range(TURNS):
                first.remember(f"note {turn}", key=f"k{turn}")
                assert second.get(f"k{turn}").body == f"note {turn}"
                assert [hit.key for hit in first.search(f"note {turn}", k=1).hits] == [f"k{turn}"]


@pytest.mark.parametrize("given", ["auto", "off"])
def test_no_message_comes_after_the_end_of_a_transaction(
    given: str, server: Server, database_url: str
) -> None:
    """For a late Flush the pooler lends the server connection once more, and never gets it back."""

    async def tasks() -> None:
        async with AsyncMemory(settings=settings) as memory:
            await memory.remember("note", key="k")
            await memory.search("note")

    with bouncing(server.url, size=1, verbose=2) as pooler:
        settings = settings_of(pooler.url(database_url), prepared_statements=given, timeout=100.0)
        with Memory(settings=settings) as memory:
            a_day(memory, "a")
        asyncio.run(tasks())
        log = (pooler.folder / "log").read_text()
    assert "read pkt='Q'" in log
    assert "read pkt='S'" in log
    assert "read pkt='H'" not in log


def take_turns(first: Memory, second: Memory) -> None:
    for _ in range(TURNS):
        first.get("k")
        second.status()


def test_prepared_statements_without_tracking_fail_with_the_way_out(
    server: Server, database_url: str
) -> None:
    with bouncing(server.url, size=1) as pooler:
        settings = settings_of(pooler.url(database_url), prepared_statements="on")
        with Memory(settings=settings) as first, Memory(settings=settings) as second:
            first.remember("note", key="k")
            with pytest.raises(DatabaseError) as caught:
                take_turns(first, second)
            assert "A connection pooler mixed up prepared statements; nothing" in caught.value.message
            assert "PGRECALL_PREPARED_STATEMENTS=off" in caught.value.hint


def test_a_pooler_that_tracks_them_may_have_them(server: Server, database_url: str) -> None:
    with bouncing(server.url, tracking=True) as pooler:
        settings = settings_of(pooler.url(database_url), prepared_statements="on")
        with Memory(settings=settings) as first, Memory(settings=settings) as second:
            assert a_day(first, "a")
            assert a_day(second, "b")


@pytest.mark.parametrize(
    ("given", "direct", "through"), [("auto", 5, None), ("off", None, None), ("on", 5, 5)]
)
def test_which_connections_prepare(
    given: str, direct: int | None, through: int | None, database_url: str, pooled_url: str
) -> None:
    for url, expected in ((database_url, direct), (pooled_url, through)):
        database = Database(url, prepared_statements=given)  # type: ignore[arg-type]  # one of the three
        with database.transaction("acme") as connection:
            assert connection.prepare_threshold == expected
        database.close()
        assert asyncio.run(_threshold_of_tasks(url, given)) == expected


async def _threshold_of_tasks(url: str, given: str) -> int | None:
    database = AsyncDatabase(url, prepared_statements=given)  # type: ignore[arg-type]  # one of the three
    async with (await database._open_pool()).connection() as connection:
        threshold = connection.prepare_threshold
    await database.close()
    return threshold


def test_an_installation_an_export_and_an_import(
    pooler: Bouncer, empty_database: str, database_url: str, tmp_path: Path
) -> None:
    """An upgrade prepares nothing: what it left in a server connection would be in the way of others."""
    url = pooler.url(empty_database)
    migrate.upgrade(url, dimensions=64)
    with psycopg.connect(url, autocommit=True) as connection:
        left = connection.execute("SELECT name FROM pg_prepared_statements").fetchall()
    assert left == []
    with Memory(settings=settings_of(url)) as memory:
        a_day(memory, "a")
        with (tmp_path / "export.jsonl").open("wb") as file:
            memory.export.write(file)
    with Memory(settings=settings_of(pooler.url(database_url))) as other:
        with (tmp_path / "export.jsonl").open("rb") as file:
            other.export.read(file)
        assert other.status().memories == TURNS
