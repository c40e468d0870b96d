"""unlink and unarchive: what people take back on a memory, and what is left of it."""

from __future__ import annotations

from datetime import datetime, timedelta

import psycopg
import pytest

from pgrecall import Draft, InvalidInput, Memory, MemoryNotFound
from tests.databases import Query
from tests.integration.links.test_links import cited, links, note

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)


def test_a_link_goes_and_its_count_with_it(sql: Query, now: datetime) -> None:
    a, b = note(sql, "a"), note(sql, "b")
    sql("SELECT recall.link(%s, %s, p_now => %s)", (a, b, now))
    assert cited(sql, b)[0] == 1
    assert sql("SELECT recall.unlink(%s, %s, p_now => %s) AS n", (a, b, now + DAY)) == [{"n": 1}]
    assert links(sql) == []
    assert cited(sql, b) == (0, None)
    assert sql("SELECT recall.unlink(%s, %s) AS n", (a, b)) == [{"n": 0}]
    assert sql("SELECT src, dst, created_at, removed_at FROM recall.link_history") == [
        {"src": a, "dst": b, "created_at": now, "removed_at": now + DAY}
    ]


def test_one_relation_or_all_that_people_make(sql: Query) -> None:
    a, b = note(sql, "a"), note(sql, "b")
    for relation in ("mentions", "supports", "co_access"):
        sql("SELECT recall.link(%s, %s, %s)", (a, b, relation))
    sql("SELECT recall.link(%s, %s)", (b, a))
    assert sql("SELECT recall.unlink(%s, %s, 'mentions') AS n", (a, b)) == [{"n": 1}]
    assert sql("SELECT recall.unlink(%s, %s) AS n", (a, b)) == [{"n": 1}]
    assert links(sql) == [("a", "co_access", "b"), ("b", "links_to", "a")], "the other direction stays"


def test_what_is_no_longer_superseded_holds_again(memory: Memory) -> None:
    memory.remember("The office is at Pier 4", key="old")
    memory.remember("The office is at the Ropeworks", key="new")
    memory.supersede("old", "new")
    assert {hit.key for hit in memory.search("office").hits} == {"new"}
    assert memory.unlink("new", "old", "supersedes") == 1
    assert memory.get("old").superseded_by is None
    assert {hit.key for hit in memory.search("office").hits} == {"old", "new"}
    assert all(not check.problems for check in memory.maintenance.verify())


def test_a_past_moment_still_has_the_link(memory: Memory, now: datetime) -> None:
    memory.remember_many(
        [Draft("The office is at Pier 4", key="old"), Draft("elsewhere", key="new")], now=now
    )
    memory.supersede("old", "new", now=now + DAY)
    memory.unlink("new", "old", now=now + 3 * DAY)
    found = memory.search("office", as_of=now + 2 * DAY, now=now + 4 * DAY).hits
    assert "old" not in {hit.key for hit in found}


def test_what_cannot_be_unlinked(query: Query, memory: Memory) -> None:
    a, b = note(query, "a"), note(query, "b")
    with pytest.raises(InvalidInput, match="The link relation 'hates' is unknown"):
        memory.unlink(a, b, "hates")
    with pytest.raises(MemoryNotFound):
        memory.unlink(a, "nobody")
    with pytest.raises(psycopg.errors.NoDataFound):
        query("SELECT recall.unlink(%s, %s)", (a, b), tenant="other")


def test_unarchive_brings_a_memory_back_as_it_was(query: Query, memory: Memory) -> None:
    note(query, "a", "b")
    note(query, "b")
    before = memory.get("a"), cited(query, memory.get("b").id)
    memory.forget("a")
    assert memory.get("a").archived_at is not None
    assert cited(query, memory.get("b").id)[0] == 0
    assert memory.unarchive("a") is True
    assert memory.unarchive("a") is False
    after = memory.get("a")
    assert (after.body, after.links, after.archived_at, after.access_counts) == (
        before[0].body, before[0].links, None, before[0].access_counts,
    )  # fmt: skip
    assert cited(query, memory.get("b").id) == before[1]
    assert [row["restored_at"] is None for row in query("SELECT restored_at FROM recall.archival")] == [False]
    with pytest.raises(MemoryNotFound):
        memory.unarchive("nobody")
    with pytest.raises(psycopg.errors.NoDataFound):
        query("SELECT recall.unarchive(%s)", (after.id,), tenant="other")
