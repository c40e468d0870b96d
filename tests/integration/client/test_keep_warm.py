"""Connections that have made their first search before they are used."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import InvalidInput
from pgrecall.nouns.operation import Operation, read_bool
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.waiting import PATIENCE, until

PLAN_OF_A_SEARCH = """
SELECT EXISTS (
    SELECT FROM pg_backend_memory_contexts
    WHERE name = 'CachedPlan' AND position('WITH rated AS MATERIALIZED' IN ident) > 0
) AS kept
"""


def has_searched(memory: Memory) -> bool:
    """Whether the next free connection of this client keeps the plan of the main statement of a search."""
    with memory._connection.database.transaction(memory.tenant) as connection:
        [row] = connection.execute(PLAN_OF_A_SEARCH).fetchall()
    return bool(row["kept"])


def is_ready(memory: Memory, connections: int) -> bool:
    return memory.pool_stats().get("pool_available") == connections


def opened(settings: Settings) -> Memory:
    return Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS))


def test_connections_have_searched_before_they_are_used_and_leave_no_trace(
    settings: Settings, query: Query
) -> None:
    with opened(settings) as memory:
        memory.remember("Mira mends the winch")
        assert not has_searched(memory)
    with opened(settings) as memory:
        memory.keep_warm(2)
        until(lambda: is_ready(memory, 2), "the connections are open")
        assert [has_searched(memory) for _ in range(2)] == [True, True]
        assert memory.search("who mends the winch?").hits
    [row] = query("SELECT count(*) AS logged FROM recall.search_log")
    assert row["logged"] == 1


def test_a_lost_connection_is_replaced_by_a_prepared_one(settings: Settings, query: Query) -> None:
    with opened(settings) as memory:
        memory.keep_warm()
        until(lambda: is_ready(memory, 1), "the connections are open")
        query(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert memory.search("winch").hits == ()
        assert has_searched(memory)


def test_what_cannot_be_prepared_is_used_as_it_is(settings: Settings, query: Query) -> None:
    with opened(settings) as memory:
        memory.remember("Mira mends the winch", key="winch")
    with opened(settings) as memory:
        query("ALTER FUNCTION recall.find RENAME TO find_renamed")
        memory.keep_warm()
        until(lambda: is_ready(memory, 1), "the connections are open")
        assert memory.get("winch").key == "winch"
        assert not has_searched(memory)


def test_a_pooler_would_keep_what_is_prepared(settings: Settings) -> None:
    with opened(replace(settings, prepared_statements="off")) as memory:
        memory.keep_warm()
        until(lambda: is_ready(memory, 1), "the connections are open")
        assert not has_searched(memory)


def test_an_event_loop_keeps_connections_too(settings: Settings) -> None:
    async def kept() -> bool:
        async with AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
            await memory.keep_warm()
            async with asyncio.timeout(PATIENCE):
                while memory.pool_stats().get("pool_available") != 1:
                    await asyncio.sleep(0.01)
            asking = Operation(PLAN_OF_A_SEARCH, {}, read_bool)
            [row] = await memory._connection.database.fetch(asking, tenant=memory.tenant)
            return bool(row["kept"])

    assert asyncio.run(kept())


@pytest.mark.parametrize("connections", [0, -1])
def test_at_least_one_is_kept(memory: Memory, connections: int) -> None:
    with pytest.raises(InvalidInput, match=f"^{connections} connections cannot be kept warm"):
        memory.keep_warm(connections)


def test_no_more_are_kept_than_the_pool_may_have(settings: Settings) -> None:
    with opened(replace(settings, pool_size=1)) as memory:
        memory.keep_warm(5)
        until(lambda: is_ready(memory, 1), "the connections are open")
        assert memory.pool_stats()["pool_max"] == 1
