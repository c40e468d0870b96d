"""Leaving default search and coming back: why, by whom, and what it does to the memories referred to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import Draft, ImportReport, Memory
from tests.databases import Query
from tests.integration.access.use_tools import Use, as_tenant, fold_all, log_later, note, notes, record, state
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)


def archive(
    sql: Query, ids: list[int], now: datetime, reason: str = "pruned", plan: int | None = 7
) -> list[int]:
    call = "SELECT recall_private.archive_memories('acme', %s::bigint[], %s, %s, %s) AS ids"
    return list(sql(call, (ids, reason, plan if reason == "pruned" else None, now))[0]["ids"])


def restore(sql: Query, ids: list[int], now: datetime) -> list[int]:
    return list(
        sql("SELECT recall_private.restore_memories('acme', %s::bigint[], %s) AS ids", (ids, now))[0]["ids"]
    )


def expire(sql: Query, now: datetime, limit: int = 1000) -> int:
    return int(sql("SELECT recall.expire_memories(%s, %s) AS n", (limit, now))[0]["n"])


def live(sql: Query) -> set[int]:
    return {row["id"] for row in sql("SELECT id FROM recall.memory WHERE archived_at IS NULL")}


def archivals(sql: Query) -> list[dict[str, Any]]:
    return sql(
        "SELECT memory_id, archived_at, reason, plan_id, restored_at FROM recall.archival "
        "WHERE tenant = 'acme' ORDER BY id"
    )


def archival(
    memory: int, at: datetime, reason: str, plan: int | None, restored: datetime | None
) -> dict[str, Any]:
    return {
        "memory_id": memory,
        "archived_at": at,
        "reason": reason,
        "plan_id": plan,
        "restored_at": restored,
    }


def mortal(sql: Query, key: str, expires: datetime, now: datetime) -> int:
    draft = "jsonb_build_array(jsonb_build_object('key', %s::text, 'body', 'b', 'expires_at', %s::text))"
    rows = sql(f"SELECT id FROM recall.remember_many({draft}, p_now => %s)", (key, str(expires), now))
    return int(rows[0]["id"])


def star(sql: Query, now: datetime) -> tuple[int, list[int]]:
    """A memory that two others refer to."""
    target, *sources = notes(sql, 3)
    for source in sources:
        sql("SELECT recall.link(%s, %s, p_now => %s)", (source, target, now))
    return target, sources


# Archiving and restoring


def test_archiving_says_which_why_and_when(sql: Query, now: datetime) -> None:
    a, b, c = notes(sql, 3)
    assert archive(sql, [c, a, 4711], now) == [a, c]
    assert live(sql) == {b}
    assert archivals(sql) == [archival(a, now, "pruned", 7, None), archival(c, now, "pruned", 7, None)]
    assert archive(sql, [a, b, c], now + DAY, "expired") == [b]
    assert archivals(sql)[2] == archival(b, now + DAY, "expired", None, None)
    assert archive(sql, [], now) == archive(sql, [a], now) == []


def test_restoring_closes_the_archival_and_leaves_the_live_alone(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    archive(sql, [a], now)
    assert restore(sql, [b, a, 4711], now + DAY) == [a]
    assert restore(sql, [a, b], now + 2 * DAY) == []
    assert live(sql) == {a, b}
    archive(sql, [a], now + 3 * DAY, "forgotten")
    assert archivals(sql) == [
        archival(a, now, "pruned", 7, now + DAY),
        archival(a, now + 3 * DAY, "forgotten", None, None),
    ]


@pytest.mark.parametrize(
    ("reason", "plan"), [("pruned", None), ("expired", 7), ("forgotten", 7), ("bored", None)]
)
def test_an_archival_without_a_reason_that_holds_is_refused(
    sql: Query, now: datetime, reason: str, plan: int | None
) -> None:
    a, b = notes(sql, 2)
    with pytest.raises(psycopg.errors.CheckViolation):
        sql("SELECT recall_private.archive_memories('acme', %s, %s, %s, %s)", ([a, b], reason, plan, now))
    assert live(sql) == {a, b}


def test_another_tenants_memories_are_not_touched(sql: Query, now: datetime) -> None:
    theirs = note(sql, tenant="other")
    assert archive(sql, [theirs], now) == []
    assert theirs in live(sql)


def test_references_count_while_their_source_is_live(sql: Query, now: datetime) -> None:
    target, sources = star(sql, now)
    degrees = []
    for step in (archive, restore, archive):
        step(sql, sources, now)
        degrees.append(state(sql, target)["in_degree"])
    assert degrees == [0, 2, 0]
    restore(sql, sources[:1], now)
    assert (state(sql, target)["in_degree"], state(sql, target)["last_linked_at"]) == (1, now.timestamp())


def test_forgetting_is_an_archival_of_its_own_kind(sql: Query, now: datetime) -> None:
    memory = note(sql)
    call = "SELECT recall.forget(%s, p_now => %s) AS changed"
    assert [sql(call, (memory, now + day * DAY))[0]["changed"] for day in (0, 1)] == [True, False]
    assert archivals(sql) == [archival(memory, now, "forgotten", None, None)]


# Time to live


def test_what_has_expired_is_archived_and_nothing_else(sql: Query, now: datetime) -> None:
    due, over, later = (
        mortal(sql, key, now + days * DAY, now - DAY) for key, days in (("a", 0), ("b", -0.5), ("c", 0.5))
    )
    immortal = note(sql, "d")
    assert expire(sql, now) == 2
    assert live(sql) == {later, immortal}
    assert archivals(sql) == [archival(memory, now, "expired", None, None) for memory in sorted((due, over))]
    assert sql("SELECT count(*) FROM recall.memory") == [{"count": 4}]
    assert expire(sql, now) == 0


def test_expiry_works_in_batches_the_longest_overdue_first(sql: Query, now: datetime) -> None:
    ids = [mortal(sql, f"k{place}", now - place * DAY, now - 30 * DAY) for place in range(5)]
    assert [expire(sql, now, 2) for _ in range(4)] == [2, 2, 1, 0]
    order = [row["memory_id"] for row in archivals(sql)]
    assert [set(order[:2]), set(order[2:4]), set(order[4:])] == [{ids[4], ids[3]}, {ids[2], ids[1]}, {ids[0]}]


def test_what_has_expired_is_out_of_search_until_it_is_asked_for(
    memory: Memory, query: Query, now: datetime
) -> None:
    memory.remember_many([Draft("the harbour contract", key="a", expires_at=now - DAY)], now=now - 9 * DAY)
    assert [hit.key for hit in memory.search("harbour contract", now=now - 2 * DAY).hits] == ["a"]
    assert query("SELECT recall.expire_memories(p_now => %s) AS n", (now,)) == [{"n": 1}]
    assert memory.search("harbour contract", now=now).hits == ()
    found = memory.search("harbour contract", include_archived=True, now=now).hits
    assert [hit.key for hit in found] == ["a"]


def test_expiry_passes_over_what_is_being_renewed(database_url: str, query: Query, now: datetime) -> None:
    mortal(query, "a", now, now - DAY)
    other = mortal(query, "b", now, now - DAY)
    with as_tenant(database_url, autocommit=False) as writer:
        writer.execute("UPDATE recall.memory SET expires_at = %s WHERE key = 'a'", (now + DAY,))
        query("SET lock_timeout = '10s'")
        assert expire(query, now) == 1
        writer.commit()
    assert expire(query, now) == 0
    assert [row["memory_id"] for row in archivals(query)] == [other]


# Use brings back what a plan took


@pytest.mark.parametrize(
    ("reason", "kind", "returns"),
    [
        ("pruned", "used", True), ("pruned", "read", True), ("pruned", "reference", True),
        ("pruned", "write", False), ("pruned", "retrieval", False),
        ("forgotten", "used", False), ("expired", "used", False),
    ],
)  # fmt: skip
def test_a_use_brings_back_what_a_plan_archived(
    sql: Query, now: datetime, reason: str, kind: str, returns: bool
) -> None:
    target, [source, other] = star(sql, now)
    archive(sql, [source, other], now, reason)
    record(sql, [{"memory_id": source, "kind": kind}], now + DAY)
    assert live(sql) == ({target, source} if returns else {target})
    assert state(sql, target)["in_degree"] == int(returns)
    assert archivals(sql)[0]["restored_at"] == (now + DAY if returns else None)
    assert archivals(sql)[1]["restored_at"] is None


def test_a_use_that_came_late_brings_back_too(sql: Query, now: datetime) -> None:
    memory = note(sql)
    archive(sql, [memory], now)
    record(sql, [{"memory_id": memory, "at": now - DAY}], now + DAY)
    assert live(sql) == {memory}


def test_a_use_seen_before_or_of_no_weight_brings_nothing_back(sql: Query, now: datetime) -> None:
    memory = note(sql)
    use = {"memory_id": memory, "kind": "used", "idempotency_key": "x"}
    record(sql, [use], now)
    archive(sql, [memory], now)
    assert record(sql, [use], now + DAY) == 0
    sql("SELECT recall.set_setting('access.weight_used', 0)")
    assert record(sql, [use | {"idempotency_key": "y"}], now + DAY) == 1
    assert live(sql) == set()


def test_being_shown_brings_nothing_back(sql: Query, now: datetime) -> None:
    memory = note(sql)
    archive(sql, [memory], now)
    log_later(sql, memory, Use(60, "retrieval"), 1, now)
    fold_all(sql)
    assert live(sql) == set()


def test_a_memory_in_use_is_archived_after_the_use_and_comes_back_by_the_next(
    database_url: str, query: Query, now: datetime
) -> None:
    """Archiving waits for a use that has begun, and a use waits for an archiving that has."""
    memory = note(query)
    use = "SELECT recall.record_access(%s, 'used', p_now => %s)"
    with as_tenant(database_url, autocommit=False) as user, ThreadPoolExecutor(1) as thread:
        user.execute(use, (memory, now))
        archiving = thread.submit(archive, query, [memory], now)
        blocked(user)
        user.commit()
        assert archiving.result(timeout=PATIENCE) == [memory]
    with as_tenant(database_url, autocommit=False) as pruner, ThreadPoolExecutor(1) as thread:
        restore(query, [memory], now)
        pruner.execute("SELECT recall_private.archive_memories('acme', %s, 'pruned', 8, %s)", ([memory], now))
        using = thread.submit(query, use, (memory, now + DAY))
        blocked(pruner)
        pruner.commit()
        using.result(timeout=PATIENCE)
    assert live(query) == {memory}
    assert [(row["plan_id"], row["restored_at"]) for row in archivals(query)] == [(7, now), (8, now + DAY)]


# Remembering brings back whatever took it


@pytest.mark.parametrize("reason", ["pruned", "forgotten", "expired"])
def test_remembering_again_restores_and_closes_the_archival(sql: Query, now: datetime, reason: str) -> None:
    target, sources = star(sql, now)
    archive(sql, sources, now, reason)
    sql("SELECT recall.remember('rewritten', p_key => 'k1', p_now => %s)", (now + DAY,))
    assert live(sql) == {target, sources[0]}
    assert [row["restored_at"] for row in archivals(sql)] == [now + DAY, None]
    assert state(sql, target)["in_degree"] == 1


# Remembered again


def test_remembering_what_was_forgotten_brings_it_back(memory: Memory, query: Query) -> None:
    first = memory.remember("the harbour contract", key="contract")
    other = memory.remember("the harbour chart", key="chart")
    memory.link(other.id, first.id)
    for body in ("the harbour contract", "the signed harbour contract"):
        memory.forget(first.id)
        again = memory.remember(body, key="contract")
        assert (again.id, again.outcome) == (first.id, "revived")
        assert memory.search("contract", log=False).hits[0].id == first.id
    assert memory.remember("the signed harbour contract", key="contract").outcome == "unchanged"
    assert [row["reason"] for row in archivals(query) if row["restored_at"] is None] == []
    assert [link.other for link in memory.get(first.id).links] == [other.id]
    assert query("SELECT count(*) FROM recall.access WHERE memory_id = %s", (first.id,)) == [{"count": 3}]
    assert [check for check in memory.maintenance.verify() if check.problems] == []


def test_a_text_without_a_key_is_remembered_again(memory: Memory) -> None:
    first = memory.remember("a lamp by the harbour")
    memory.forget(first.id)
    again = memory.remember("a lamp by the harbour")
    assert again.outcome == "created"
    assert [hit.id for hit in memory.search("lamp").hits] == [again.id]


def test_an_import_leaves_what_was_forgotten_until_its_source_says_more(memory: Memory) -> None:
    def bring(body: str) -> ImportReport:
        return memory.import_drafts([Draft(body, key="note", source="notes")], source="notes")

    bring("the harbour contract")
    memory.forget("note")
    assert (bring("the harbour contract").unchanged, memory.search("contract").hits) == (1, ())
    assert (bring("the harbour contract, signed").updated, len(memory.search("contract").hits)) == (1, 1)
