"""AsyncMemory: the same answers as Memory, awaited, and an event loop that is never kept waiting."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest

from pgrecall import (
    AsyncMemory,
    DatabaseUnavailable,
    Draft,
    EmbedderError,
    EmbedderMismatch,
    InvalidInput,
    Memory,
    MemoryNotFound,
    SchemaMismatch,
)
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query, new_database
from tests.integration.client.client_calls import CALLS, methods_of, timeless
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.in_turns

NOT_AWAITED = {"for_tenant", "for_project", "session", "unlogged", "pool_stats", "jobs.runner"}
"""Answered without asking the database."""

ELSEWHERE = {"quality.calibrate", "share"}
"""``test_calibrate`` asks both with hundreds of judged questions, ``test_share`` with another tenant."""


@pytest.fixture
def other_url(server: EmbeddedServer, template: str) -> Iterator[str]:
    """The URL of a second migrated database."""
    yield from new_database(server, template)


def made(settings: Settings, **arguments: Any) -> AsyncMemory:
    return AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS), **arguments)


def test_every_method_gives_the_same_in_both_colours(
    memory: Memory, settings: Settings, other_url: str
) -> None:
    async def answers() -> list[Any]:
        found = []
        async with made(settings, url=other_url) as client:
            for call in CALLS:
                awaited = attrgetter(call.name)(client)(*call.positional, **call.named)
                assert inspect.isawaitable(awaited), call.name
                found.append(timeless(await awaited))
        return found

    expected = [timeless(attrgetter(call.name)(memory)(*call.positional, **call.named)) for call in CALLS]
    for call, wanted, found in zip(CALLS, expected, asyncio.run(answers()), strict=True):
        assert found == wanted or call.by_the_clock, call.name


def test_every_method_is_among_the_calls() -> None:
    assert {call.name for call in CALLS} == methods_of(AsyncMemory).keys() - NOT_AWAITED - ELSEWHERE - {
        "open",
        "close",
    }


def test_a_list_is_paged_to_its_end(memory: Memory, settings: Settings) -> None:
    memory.remember_many(
        [
            Draft(f"gauge {n}", key=f"g{n}", tags=("odd",) if n % 2 else (), metadata={"n": n})
            for n in range(5)
        ]
    )

    async def awaited() -> list[str | None]:
        seen: list[str | None] = []
        after = None
        async with made(settings) as client:
            while page := await client.list(after=after, limit=2):
                seen += [listed.key for listed in page]
                after = page[-1].cursor
        return seen

    assert asyncio.run(awaited()) == ["g4", "g3", "g2", "g1", "g0"]
    first = memory.list(order="vitality", limit=3)
    rest = memory.list(order="vitality", limit=3, after=first[-1].cursor)
    assert {listed.key for listed in (*first, *rest)} == {f"g{n}" for n in range(5)}
    assert [listed.key for listed in memory.list(tags=("odd",), metadata={"n": 3})] == ["g3"]
    memory.forget("g3")
    assert [listed.key for listed in memory.list(tags=("odd",))] == ["g1"]
    assert [listed.key for listed in memory.list(tags=("odd",), include_archived=True)] == ["g3", "g1"]
    assert memory.get("g1").vitality.accesses == 1  # when it was stored
    with pytest.raises(InvalidInput, match="not a cursor"):
        memory.list(after="7")
    with pytest.raises(InvalidInput):
        memory.list(limit=2**40)


def test_errors_are_those_of_memory(memory: Memory, settings: Settings) -> None:
    async def errors() -> None:
        async with made(settings) as client:
            with pytest.raises(MemoryNotFound) as missing:
                await client.get("nowhere")
            assert missing.value.reference == "nowhere"
            with pytest.raises(InvalidInput, match="empty"):
                await client.search("  ")
            with pytest.raises(InvalidInput):
                await client.remember_many([Draft("fine"), Draft("")])
            assert (await client.status()).memories == 0

    asyncio.run(errors())


class RefusingEmbedder(HashEmbedder):
    """Fails as an embedder may."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise EmbedderError(f"It takes none of these {len(texts)} texts.")


def test_every_error_reaches_the_client_code_where_it_awaited(settings: Settings, database_url: str) -> None:
    """Of a model, of Postgres, and of work in a thread: a search knows another way, the rest is told."""
    refusing = RefusingEmbedder(DIMENSIONS)

    def broken() -> Iterator[Draft]:
        yield Draft("fine")
        raise RuntimeError("the file is torn")

    async def awaited() -> list[Any]:
        async with AsyncMemory(settings=settings, embedder=refusing) as client:
            found = await client.search("harbour")
            errors = []
            for call in (client.remember("The harbour"), client.import_drafts(broken(), source="notes")):
                with pytest.raises((EmbedderError, RuntimeError)) as raised:
                    await call
                errors.append(raised.value)
            return [found.skipped, *map(repr, errors)]

    with Memory(settings=settings, embedder=refusing) as memory:
        found = memory.search("harbour")
        with pytest.raises(EmbedderError) as refused:
            memory.remember("The harbour")
        with pytest.raises(RuntimeError) as torn:
            memory.import_drafts(broken(), source="notes")
    assert found.skipped[0].startswith("meaning: It takes none")
    assert asyncio.run(awaited()) == [found.skipped, repr(refused.value), repr(torn.value)]


def test_what_is_not_open_says_so(settings: Settings) -> None:
    client = made(settings)
    with pytest.raises(DatabaseUnavailable, match="not open"):
        asyncio.run(client.status())


def test_a_closed_client_does_not_open_itself_again(settings: Settings) -> None:
    async def use() -> None:
        client = await made(settings).open()
        await client.status()
        await client.close()
        with pytest.raises(InvalidInput, match=r"^This AsyncMemory is closed\. Open a new one\.$"):
            await client.status()
        await client.close()

    asyncio.run(use())


def test_opening_twice_is_opening_once(settings: Settings) -> None:
    async def use() -> None:
        client = made(settings)
        await asyncio.gather(client.open(), client.open())
        assert (await client.status()).memories == 0
        await client.close()

    asyncio.run(use())


def test_a_database_that_will_not_do_is_refused_on_opening(empty_database: str, settings: Settings) -> None:
    async def use() -> None:
        with pytest.raises(SchemaMismatch, match="not initialised"):
            await made(settings, url=empty_database).open()
        with pytest.raises(EmbedderMismatch):
            await AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS + 1)).open()
        with pytest.raises(DatabaseUnavailable, match="cannot be reached"):
            await made(settings, url="postgresql://127.0.0.1:1/none").open()

    asyncio.run(use())


def test_it_belongs_to_its_event_loop(settings: Settings) -> None:
    async def opened() -> AsyncMemory:
        client = await made(settings).open()
        await client.status()
        return client

    async def used_elsewhere(client: AsyncMemory) -> None:
        with pytest.raises(InvalidInput, match="a different event loop"):
            await client.status()

    with asyncio.Runner() as first:
        client = first.run(opened())
        asyncio.run(used_elsewhere(client))
        assert first.run(client.status()).memories == 0
        first.run(client.close())


def test_the_embedded_server_is_used_and_left(embedded: EmbeddedServer) -> None:
    settings = Settings(data_dir=embedded.data_dir, embedder="hash", embedder_dimensions=DIMENSIONS)

    async def use() -> int:
        async with AsyncMemory(settings=settings, tenant="async-embedded") as client:
            assert client.server is not None
            await client.remember("The harbour opens at six")
            held = (await client.status()).memories
        assert client.server is None
        return held

    assert asyncio.run(use()) == 1
    assert embedded.running


class WaitingEmbedder(HashEmbedder):
    """Embeds only once it is told to, as a slow model does."""

    def __init__(self) -> None:
        super().__init__(DIMENSIONS)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return super().embed(texts)


def test_the_loop_turns_while_a_model_works(settings: Settings) -> None:
    embedder = WaitingEmbedder()

    async def use() -> str:
        async with AsyncMemory(settings=settings, embedder=embedder) as client:
            remembering = asyncio.create_task(client.remember("The harbour opens at six", key="harbour"))
            while not embedder.begun.is_set():
                await asyncio.sleep(0)
            # Only the loop itself lets the model go on: had it been blocked, nothing would.
            assert (await client.status()).memories == 0
            embedder.go_on.set()
            return (await remembering).outcome

    assert asyncio.run(use()) == "created"


def test_files_are_read_and_jobs_run_beside_the_loop(settings: Settings) -> None:
    threads: set[str] = set()

    def reading() -> Iterator[Draft]:
        threads.add(threading.current_thread().name)
        yield Draft("The harbour opens at six", key="harbour")

    async def use() -> None:
        async with made(settings) as client:
            report = await client.import_drafts(reading(), source="notes")
            assert report.created == 1
            await client.search("harbour")
            [outcome] = await client.jobs.run(
                "fold", progress=lambda *_: threads.add(threading.current_thread().name)
            )
            assert (outcome.state, outcome.counts) == ("done", {"folded": 1})

    asyncio.run(use())
    assert threads
    assert threading.current_thread().name not in threads


def test_many_tasks_share_few_connections(settings: Settings, query: Query) -> None:
    few = replace(settings, pool_size=3, connect_timeout=PATIENCE)  # for the last of sixty, too
    ours = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    before = {row["pid"] for row in query(ours)}

    def others() -> set[int]:
        return {row["pid"] for row in query(ours)} - before

    async def use() -> None:
        async with made(few) as client:
            await client.remember_many([Draft(f"Note {n} on the harbour", key=f"n{n}") for n in range(20)])
            found = await asyncio.gather(*(client.search(f"note {n} harbour", k=1) for n in range(60)))
            assert all(len(result.hits) == 1 for result in found)
            # One that only showed that the server answers may take a moment to end.
            await asyncio.to_thread(until, lambda: len(others()) <= 3, "three connections")

    asyncio.run(use())
