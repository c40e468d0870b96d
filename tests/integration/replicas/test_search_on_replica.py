"""Searches that a standby answers: what it finds, how old that may be, and when the primary answers."""

from __future__ import annotations

import asyncio
from functools import partial

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import InvalidInput, MemoryNotFound
from pgrecall.nouns.search.models import SearchResult
from pgrecall.schema import roles
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.integration.replicas.conftest import Opened, Pair
from tests.waiting import until

TEXTS = ("Mira mends the winch", "The winch stands on the quay", "Olaf paints the shed")


def by_replica(client: Memory, query: str = "winch", **options: object) -> SearchResult:
    """A search that the replica has answered, once it is recent enough."""

    def answered() -> SearchResult | None:
        result = client.search(query, **options)
        return None if result.staleness is None else result

    return until(answered, "an answer of the replica")


def found(result: SearchResult) -> list[tuple[int, float]]:
    return [(hit.id, hit.relevance) for hit in result.hits]


@pytest.fixture
def stored(opened: Opened, pair: Pair) -> Memory:
    """A client of a tenant with three memories that the replica has."""
    client = opened()
    for text in TEXTS:
        client.remember(text)
    pair.catch_up()
    return client


def test_same_answer_as_primary(stored: Memory, opened: Opened, pair: Pair) -> None:
    alone = Memory(
        pair.primary.url,
        settings=Settings(tenant=stored.tenant, embedder="hash"),
        embedder=HashEmbedder(DIMENSIONS),
    )
    with alone:
        for options in ({}, {"require_answer": True}, {"explain": False}, {"queries": ["quay", "shed"]}):
            theirs = by_replica(stored, log=False, **options)
            ours = alone.search("winch", log=False, **options)
            assert [(hit.id, hit.relevance) for hit in theirs.hits] == [
                (hit.id, hit.relevance) for hit in ours.hits
            ]
            assert theirs.skipped == ours.skipped
            assert ours.staleness is None


def test_hits_are_logged_by_primary(stored: Memory, pair: Pair) -> None:
    result = by_replica(stored)
    assert result.search_id is not None
    assert stored.used(result.search_id, result.hits[0].id) == 1
    with pair.primary.admin() as admin:
        logged = admin.execute(
            "SELECT count(*), "
            "(SELECT shown FROM recall.search_log WHERE tenant = %(tenant)s AND id = %(id)s) "
            "FROM recall.access WHERE tenant = %(tenant)s AND kind = 'retrieval'",
            {"tenant": stored.tenant, "id": result.search_id},
        ).fetchone()
    assert logged is not None
    assert logged[0] >= len(result.hits) > 0
    assert logged[1] == [hit.id for hit in result.hits]


def test_replica_serves_while_primary_is_down(stored: Memory, opened: Opened, pair: Pair) -> None:
    client = opened(lag=3600.0, connect_timeout=1.0)
    by_replica(client)
    pair.primary.stop()
    result = client.search("winch")
    assert {hit.body for hit in result.hits} >= set(TEXTS[:2])
    assert result.staleness is not None
    assert result.search_id is None
    assert any(step.startswith("log: the primary does not answer") for step in result.skipped)


def test_own_writes_are_found(stored: Memory, pair: Pair) -> None:
    by_replica(stored)
    pair.pause()
    stored.remember("The winch is red now", key="red")
    result = stored.search("winch red")
    assert "The winch is red now" in {hit.body for hit in result.hits}
    assert result.staleness is None
    pair.resume()
    assert "The winch is red now" in {hit.body for hit in by_replica(stored, "winch red").hits}


def test_what_nobody_has_committed_is_not_waited_for(stored: Memory, pair: Pair) -> None:
    """A quiet primary writes the end of its log seconds later."""
    by_replica(stored)
    for number in range(5):
        body = f"The winch has {number} ropes"
        result = until(
            partial(unwritten, stored, body, pair), "a search before the end of the log was written"
        )
        assert result.staleness is not None, result.skipped
        assert body in {hit.body for hit in result.hits}


def unwritten(client: Memory, body: str, pair: Pair) -> SearchResult | None:
    """A search after a write, while the end of the log is not on disk; None if it was written meanwhile."""
    written = "SELECT pg_current_wal_flush_lsn()"
    client.remember(body)
    pair.catch_up()
    with pair.primary.admin() as admin:
        before = admin.execute(written).fetchone()
        admin.execute("SELECT pg_logical_emit_message(false, 'test', 'not on disk yet')")
        result = client.search("winch ropes", log=False)
        return result if admin.execute(written).fetchone() == before else None


def test_commits_that_wait_for_no_disk_are_found_too(opened: Opened, pair: Pair) -> None:
    client = opened()
    client.remember("The winch")
    pair.catch_up()
    by_replica(client)
    with pair.primary.admin() as admin:
        admin.execute("ALTER SYSTEM SET synchronous_commit = off")
        admin.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
        admin.execute("SELECT pg_reload_conf()")
        try:
            for number in range(5):
                client.remember(f"The winch has {number} wheels")
                found = {hit.body for hit in client.search("winch wheels").hits}
                assert f"The winch has {number} wheels" in found
        finally:
            admin.execute("ALTER SYSTEM RESET synchronous_commit")
            admin.execute("ALTER SYSTEM RESET wal_writer_delay")
            admin.execute("SELECT pg_reload_conf()")


def test_others_do_not_wait_for_own_writes(stored: Memory, pair: Pair) -> None:
    other = stored.for_tenant("someone-else")
    other.remember("A lamp")
    pair.catch_up()
    by_replica(other, "lamp")
    pair.pause()
    stored.remember("The winch is blue now")
    assert other.search("lamp").staleness is not None
    assert stored.search("winch").staleness is None


def test_primary_answers_beyond_the_limit(stored: Memory, opened: Opened, pair: Pair) -> None:
    client = opened(lag=0.3)
    by_replica(client)
    pair.pause()
    stored.remember("The winch is green now")
    late = until(lambda: (r := client.search("winch green")).skipped and r, "a replica that is too late")
    assert late.staleness is None
    assert "The winch is green now" in {hit.body for hit in late.hits}
    assert late.skipped == ("replica: it lags more than 0.3 s, so the primary answered",)
    status = client.status()
    assert status.replica is not None
    assert status.replica.behind is not None
    assert status.replica.behind > 0
    assert "lags more than 0.3 s" in status.replica.problem
    pair.resume()
    by_replica(client)


def test_primary_answers_for_a_replica_that_is_down(stored: Memory, opened: Opened, pair: Pair) -> None:
    client = opened()
    by_replica(client)
    pair.standby.stop()
    result = client.search("winch")
    assert {hit.body for hit in result.hits} >= set(TEXTS[:2])
    assert result.staleness is None
    assert [step for step in result.skipped if step.startswith("replica: the primary answered: ")]
    status = client.status()
    assert status.replica is not None
    assert status.replica.problem


def test_no_standby_is_refused(stored: Memory, opened: Opened, pair: Pair) -> None:
    client = opened(replica=pair.primary.url)
    result = client.search("winch")
    assert result.staleness is None
    assert result.skipped == ("replica: the primary answered: its server is not a standby",)
    assert result.hits


def test_standby_of_another_database_is_refused(stored: Memory, opened: Opened, pair: Pair) -> None:
    client = opened(replica=make_conninfo(pair.standby.url, dbname="template1"))
    result = client.search("winch")
    assert result.staleness is None
    assert result.skipped == ("replica: the primary answered: it is not a standby of this database",)
    assert result.hits


def test_errors_are_those_of_the_primary(stored: Memory) -> None:
    by_replica(stored)
    with pytest.raises(InvalidInput, match="The query is empty"):
        stored.search("")
    with pytest.raises(MemoryNotFound, match="no-such-memory"):
        stored.search("winch", cues=("no-such-memory",))
    assert by_replica(stored).skipped == ()


def test_context_on_a_replica(stored: Memory) -> None:
    by_replica(stored)
    block = stored.context("who mends the winch?", require_answer=False)
    assert TEXTS[0] in block.text
    assert block.search_id is not None
    assert block.skipped == ()


def test_standby_changes_nothing(stored: Memory, pair: Pair) -> None:
    with psycopg.connect(pair.standby.url) as connection:
        connection.execute("SELECT set_config('recall.tenant', %s, true)", (stored.tenant,))
        rows = connection.execute("SELECT * FROM recall.search(p_query => 'winch')").fetchall()
    assert len(rows) == 2


def test_plain_role_needs_no_more_rights(stored: Memory, pair: Pair) -> None:
    role = f"reader_{stored.tenant.replace('-', '_')}"
    roles.create(pair.primary.url, role, may="app", tenant=stored.tenant, password=None)
    client = Memory(
        make_conninfo(pair.primary.url, user=role),
        replica=make_conninfo(pair.standby.url, user=role),
        settings=Settings(tenant=stored.tenant, embedder="hash"),
        embedder=HashEmbedder(DIMENSIONS),
    )
    with client:
        pair.catch_up()
        assert by_replica(client).search_id is not None
        status = client.status().replica
    assert status is not None
    assert status.problem == ""


def test_async_client(stored: Memory, pair: Pair) -> None:
    async def searched() -> SearchResult:
        settings = Settings(tenant=stored.tenant, embedder="hash")
        memory = AsyncMemory(
            pair.primary.url, replica=pair.standby.url, settings=settings, embedder=HashEmbedder(DIMENSIONS)
        )
        async with memory:
            while (result := await memory.search("winch")).staleness is None:
                await asyncio.sleep(0.01)
            return result

    assert {hit.body for hit in asyncio.run(searched()).hits} >= set(TEXTS[:2])


def test_replica_without_database_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no database that it replicates"):
        Memory(settings=Settings(embedder="none", replica_url="postgresql://localhost/recall"))
