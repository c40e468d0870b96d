"""Memory.used and Memory.rejected: what they change, once, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import Draft, InvalidInput, Memory, MemoryNotFound
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.access.use_tools import as_tenant, notes
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

BIRTH = NOW - timedelta(days=200)
VERDICTS = "SELECT memory_id, verdict FROM recall.judgement ORDER BY search_id, memory_id"
USES = "SELECT memory_id, session_id FROM recall.access WHERE kind = 'used' ORDER BY memory_id, id"


def show(query: Query, ids: Sequence[int], question: str = "q", at: Any = NOW, **options: Any) -> int:
    """Logs a search that showed these; returns its id."""
    call = "SELECT recall.log_shown(%s, 's', %s, %s) AS id"
    return int(query(call, (list(ids), at, question), **options)[0]["id"])


def judge(query: Query, verdict: str, search: Any, ids: Any, at: Any = NOW, **options: Any) -> int:
    call = f"SELECT recall.{verdict}(%s, %s::bigint[], %s) AS new"
    return int(query(call, (search, ids, at), **options)[0]["new"])


def verdicts(query: Query) -> dict[int, str]:
    return {row["memory_id"]: row["verdict"] for row in query(VERDICTS)}


@pytest.fixture
def twins(memory: Memory) -> Memory:
    """Two memories that answer about as well as each other."""
    drafts = [Draft(f"The harbour contract {number}", key=f"k{number}") for number in (17, 18)]
    memory.remember_many(drafts, now=BIRTH)
    return memory


def order(memory: Memory) -> list[str]:
    return [str(hit.key) for hit in memory.search("harbour contract", log=False).hits]


# The loop


def test_what_was_used_is_livelier_and_comes_first(twins: Memory) -> None:
    first, second = order(twins)
    before = twins.get(second).vitality
    block = twins.context("harbour contract")
    assert [hit.key for hit in block.hits] == [first, second]
    assert twins.used(block.search_id, second) == 1
    after = twins.get(second).vitality
    assert after.accesses == before.accesses + 1
    assert after.vitality > before.vitality
    assert after.vitality > twins.get(first).vitality.vitality
    assert order(twins) == [second, first]


def test_what_was_rejected_is_as_lively_as_before(twins: Memory, query: Query) -> None:
    first, second = order(twins)
    search = twins.context("harbour contract").search_id
    assert twins.rejected(search, [first, twins.get(second).id]) == 2
    assert twins.get(first).vitality.accesses == 1
    assert query(USES) == []
    assert order(twins) == [first, second]


def test_a_use_is_logged_in_the_session_of_the_search(sql: Query) -> None:
    a, b, c = notes(sql, 3, at=BIRTH)
    search = show(sql, [c, a, b])
    assert judge(sql, "used", search, [c, a]) == 2
    assert sql(USES) == [{"memory_id": one, "session_id": "s"} for one in (a, c)]
    assert verdicts(sql) == {a: "used", c: "used"}
    linked = sql("SELECT DISTINCT least(src, dst) AS x, greatest(src, dst) AS y FROM recall.link")
    assert linked == [{"x": a, "y": c}]


def test_a_use_brings_back_what_a_plan_archived(sql: Query) -> None:
    [a] = notes(sql, 1, at=BIRTH)
    search = show(sql, [a])
    sql("SELECT recall_private.archive_memories('acme', %s, 'pruned', 7, %s)", ([a], NOW))
    judge(sql, "rejected", search, [a])
    assert sql("SELECT archived_at FROM recall.memory") == [{"archived_at": NOW}]
    judge(sql, "used", search, [a])
    assert sql("SELECT archived_at FROM recall.memory") == [{"archived_at": None}]


# Once


def test_a_repeated_verdict_counts_once(sql: Query) -> None:
    a, b = notes(sql, 2, at=BIRTH)
    search = show(sql, [a, b])
    assert judge(sql, "used", search, [a, a]) == 1
    day_after = NOW + timedelta(days=1)
    assert judge(sql, "used", search, [a], day_after) == 0
    assert judge(sql, "used", search, [b, a], day_after) == 1
    assert [row["memory_id"] for row in sql(USES)] == [a, b]
    assert judge(sql, "used", show(sql, [a], at=day_after), [a], day_after) == 1
    assert [row["memory_id"] for row in sql(USES)] == [a, a, b]


def test_the_later_verdict_stands_and_the_use_stays_logged(sql: Query) -> None:
    [a] = notes(sql, 1, at=BIRTH)
    search = show(sql, [a])
    told = [judge(sql, verdict, search, [a]) for verdict in ("used", "rejected", "rejected", "used")]
    assert told == [1, 1, 0, 1]
    assert verdicts(sql) == {a: "used"}
    judge(sql, "rejected", search, [a])
    assert verdicts(sql) == {a: "rejected"}
    assert len(sql(USES)) == 1


def test_two_at_once_count_once(database_url: str, query: Query) -> None:
    ids = notes(query, 5, at=BIRTH)
    search = show(query, ids)

    def say(place: int) -> int:
        with as_tenant(database_url) as connection:
            chosen = ids if place % 2 else ids[::-1]
            call = "SELECT recall.used(%s, %s, %s)"
            return int(connection.execute(call, (search, chosen, NOW)).fetchall()[0][0])

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(say, range(8))) == 5
    assert [row["memory_id"] for row in query(USES)] == ids
    assert query("SELECT recall.rebuild() AS wrong") == [{"wrong": 0}]


@pytest.mark.parametrize("verdict", ["used", "rejected"])
def test_a_memory_forgotten_meanwhile_leaves_no_verdict(
    database_url: str, query: Query, verdict: str
) -> None:
    a, b = notes(query, 2, at=BIRTH)
    search = show(query, [a, b])
    with as_tenant(database_url, autocommit=False) as forgetter, ThreadPoolExecutor(1) as thread:
        forgetter.execute("SELECT recall.forget(%s, true)", (a,))
        judging = thread.submit(judge, query, verdict, search, [a, b])
        blocked(forgetter)
        forgetter.commit()
        refused = (psycopg.errors.InvalidParameterValue, psycopg.errors.NoDataFound)
        with pytest.raises(refused, match=f"{a}"):
            judging.result(timeout=PATIENCE)
    assert verdicts(query) == {}
    assert query(USES) == []
    assert judge(query, verdict, search, [b]) == 1


@pytest.mark.parametrize("verdict", ["used", "rejected"])
def test_forgetting_waits_for_a_verdict_and_takes_it_along(
    database_url: str, query: Query, verdict: str
) -> None:
    a, b = notes(query, 2, at=BIRTH)
    search = show(query, [a, b])
    with as_tenant(database_url, autocommit=False) as judging, ThreadPoolExecutor(1) as thread:
        judging.execute(f"SELECT recall.{verdict}(%s, %s, %s)", (search, [a, b], NOW))
        forgetting = thread.submit(query, "SELECT recall.forget(%s, true)", (a,))
        blocked(judging)
        judging.commit()
        forgetting.result(timeout=PATIENCE)
    assert verdicts(query) == {b: verdict}


def test_a_search_that_expires_meanwhile_cannot_be_judged(database_url: str, query: Query) -> None:
    [a] = notes(query, 1, at=BIRTH)
    search = show(query, [a])
    later = NOW + timedelta(days=91)
    with as_tenant(database_url, autocommit=False) as expiring, ThreadPoolExecutor(1) as thread:
        assert expiring.execute("SELECT recall.expire_searches(10, %s)", (later,)).fetchall() == [(1,)]
        judging = thread.submit(judge, query, "used", search, [a], later)
        blocked(expiring)
        expiring.commit()
        with pytest.raises(psycopg.errors.InvalidParameterValue, match=f"no search {search}"):
            judging.result(timeout=PATIENCE)
    assert query(USES) == []


# Refused, whole


@pytest.mark.parametrize("verdict", ["used", "rejected"])
def test_only_what_a_search_of_this_tenant_showed_can_be_judged(sql: Query, verdict: str) -> None:
    a, b = notes(sql, 2, at=BIRTH)
    search = show(sql, [a])
    refusals: list[tuple[Any, Any, Any, str]] = [
        (search, [a, b], NOW, f"Memory {b} was not shown by search {search}."),
        (search, [10**15], NOW, f"Memory {10**15} was not shown by search"),
        (search + 1000, [a], NOW, f"There is no search {search + 1000} in this tenant."),
        (None, [a], NOW, "There is no search NULL in this tenant."),
        (search, None, NOW, "One of the judged memories is NULL."),
        (search, [a, None], NOW, "One of the judged memories is NULL."),
        (search, [a], NOW - timedelta(hours=1), f"Search {search} was made at"),
        (search, [a], None, "p_now is NULL"),
        (search, [a], "infinity", "p_now is infinity"),
    ]
    for number, ids, at, sentence in refusals:
        with pytest.raises(psycopg.errors.InvalidParameterValue, match=sentence):
            judge(sql, verdict, number, ids, at)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="There is no search"):
        judge(sql, verdict, search, [a], tenant="other")
    assert verdicts(sql) == {}
    assert sql(USES) == []
    assert judge(sql, verdict, search, []) == 0


@pytest.mark.parametrize("search", [0, -1, 2**63, 2**70, True, 1.5, "1"])
def test_what_is_no_search_is_refused(memory: Memory, search: Any) -> None:
    with pytest.raises(InvalidInput, match="There is no search"):
        memory.used(search, [1])


def test_what_was_not_logged_cannot_be_judged(twins: Memory) -> None:
    unlogged = twins.context("harbour", log=False)
    with pytest.raises(InvalidInput, match=r"was not logged.*log=True"):
        twins.used(unlogged.search_id, "k17")


@pytest.mark.parametrize(
    ("memories", "part"),
    [
        (None, "None names no memories"),
        ([1.5], "names no memories"),
        ({"a": 1}, "names no memories"),
        (list(range(1001)), "1,001 memories to judge"),
        ("a\0b", "NUL"),
    ],
)
def test_what_is_no_memory_is_refused(twins: Memory, memories: Any, part: str) -> None:
    search = twins.context("harbour").search_id
    with pytest.raises(InvalidInput, match=part):
        twins.rejected(search, memories)


def test_an_unknown_key_is_refused(twins: Memory, query: Query) -> None:
    search = twins.context("harbour").search_id
    with pytest.raises(MemoryNotFound, match="'nope'"):
        twins.used(search, ["k17", "nope"])
    assert query(USES) == []
    assert twins.used(search, []) == 0
