"""Views of a client: another tenant, a session; over the same connections."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from pgrecall import Access, AsyncMemory, InvalidInput, Memory, MemoryNotFound
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.waiting import until

pytestmark = pytest.mark.in_turns

LOGGED = "SELECT kind, session_id FROM recall.access WHERE kind <> 'write' ORDER BY kind, session_id"


def test_a_tenant_sees_its_own(memory: Memory) -> None:
    other = memory.for_tenant("other")
    memory.remember("The harbour opens at six", key="harbour")
    assert (other.tenant, memory.tenant) == ("other", "acme")
    assert other.search("harbour").no_match
    with pytest.raises(MemoryNotFound):
        other.get("harbour")
    other.remember("The harbour is closed", key="harbour")
    assert memory.get("harbour").body == "The harbour opens at six"
    assert other.for_tenant("acme").get("harbour").body == "The harbour opens at six"


def test_views_share_connections_and_models(settings: Settings, query: Query) -> None:
    one = replace(settings, pool_size=1)
    ours = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    before = {row["pid"] for row in query(ours)}
    with Memory(settings=one, embedder=HashEmbedder(DIMENSIONS)) as memory:
        views = [memory.for_tenant(f"tenant-{n}").session("s") for n in range(5)]
        for view in views:
            view.remember("The harbour opens at six")
        assert {id(view.embedder) for view in views} == {id(memory.embedder)}
        # One that only showed that the server answers may take a moment to end.
        until(lambda: len({row["pid"] for row in query(ours)} - before) == 1, "one connection")


def test_closing_a_view_closes_nothing(memory: Memory) -> None:
    with memory.for_tenant("other") as other, other.session("s") as session:
        session.remember("The harbour opens at six")
    memory.for_tenant("other").close()
    assert other.status().memories == 1
    assert memory.status().memories == 0


def test_a_view_ends_with_its_client(settings: Settings) -> None:
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        view = memory.for_tenant("other")
    with pytest.raises(InvalidInput, match=r"^This Memory is closed\. Open a new one\.$"):
        view.status()


@pytest.mark.parametrize("tenant", ["", "*", "a*", "nul\0", "x" * 201])
def test_a_tenant_that_cannot_be_is_refused(memory: Memory, settings: Settings, tenant: str) -> None:
    with pytest.raises(InvalidInput, match="A tenant cannot be named"):
        memory.for_tenant(tenant)
    with pytest.raises(InvalidInput, match="A tenant cannot be named"):
        Memory(settings=settings, tenant=tenant)
    with pytest.raises(InvalidInput, match="A tenant cannot be named"):
        AsyncMemory(settings=settings, tenant=tenant)


def test_a_session_is_carried_into_what_is_done_in_it(memory: Memory, query: Query) -> None:
    for key in ("harbour", "ferry", "buoy", "pier"):
        memory.remember(f"The {key} opens at six", key=key)
    with memory.session("chat-42") as session:
        session.search("harbour", k=1)
        session.context("ferry", k=1)
        session.record_access("buoy", "used")
        session.record_accesses([Access("pier", "read"), Access("pier", "reference", session_id="own")])
        session.record_access("harbour", "reference", session_id="own")
    memory.record_access("harbour", "used")
    assert [tuple(row.values()) for row in query(LOGGED)] == [
        ("read", "chat-42"),
        ("reference", "own"),
        ("reference", "own"),
        ("retrieval", "chat-42"),
        ("retrieval", "chat-42"),
        ("used", "chat-42"),
        ("used", None),
    ]


def test_a_search_in_a_session_may_belong_to_another(memory: Memory, query: Query) -> None:
    memory.remember("The harbour opens at six", key="harbour")
    session = memory.session("chat-42")
    session.search("harbour", session_id="own")
    session.search("harbour", session_id=None)
    assert {row["session_id"] for row in query(LOGGED)} == {"own", None}


def test_a_session_has_a_name(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="has no name"):
        memory.session("")


def test_views_of_tasks(settings: Settings, query: Query) -> None:
    async def use() -> None:
        client = AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS))
        early = client.for_tenant("other")
        async with client as memory:
            await early.remember("The harbour opens at six", key="harbour")
            await memory.remember("The ferry leaves at noon", key="ferry")
            async with memory.session("chat-42") as session:
                assert [hit.key for hit in (await session.search("ferry")).hits] == ["ferry"]
                await session.record_access("ferry", "used")
            async with memory.for_tenant("other") as other:
                assert (await other.status()).memories == 1
            assert (await early.get("harbour")).key == "harbour"
        with pytest.raises(InvalidInput, match="is closed"):
            await early.status()

    asyncio.run(use())
    assert [tuple(row.values()) for row in query(LOGGED)] == [("retrieval", "chat-42"), ("used", "chat-42")]


def test_from_a_search_to_postgres_it_is_a_short_walk(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks: list[list[str]] = []
    execute = psycopg.Cursor.execute

    def followed(cursor: psycopg.Cursor[Any], *arguments: Any, **named: Any) -> Any:
        stack = traceback.extract_stack()
        first = next((place for place, frame in enumerate(stack) if frame.name == "search"), len(stack))
        walks.append([f"{frame.filename}:{frame.name}" for frame in stack[first:-1]])
        return execute(cursor, *arguments, **named)

    monkeypatch.setattr(psycopg.Cursor, "execute", followed)
    memory.search("harbour")
    ours = [[step for step in walk if "/pgrecall/" in step] for walk in walks if walk]
    # A connection that was idle for a second is tried first.
    ours = [walk for walk in ours if not walk[-1].endswith("pool.py:_check")]
    assert ours
    for walk in ours:
        assert walk[0].endswith("memory.py:search")
        assert len(walk) + 1 <= 7, walk  # with execute itself
        assert len({step.rpartition(":")[0] for step in walk}) + 1 <= 6, walk


def test_an_empty_setting_names_no_directory_of_cells(database_url: str) -> None:
    with Memory(settings=Settings(database_url=database_url, cells="", embedder="none")) as memory:
        assert memory.list() == ()
    with pytest.raises(InvalidInput, match="both a database and a directory of cells"):
        Memory(settings=Settings(database_url=database_url, cells="host=elsewhere"))
