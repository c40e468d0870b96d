"""Rebuilding from the log, and folds that are broken off: whatever was lost, the log brings it back."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.databases import Query
from tests.integration.access.use_tools import (
    Use,
    as_tenant,
    fold_all,
    fold_of_log,
    fold_once,
    folded,
    item,
    log_later,
    notes,
    rebuild,
    record,
    state,
    states,
    waiting,
)
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

# Rebuilding


def test_rebuilding_finds_out_again_what_memories_say_unless_somebody_marked_it(sql: Query) -> None:
    said = [
        {"body": "Always answer in French.", "role": "user"},
        {"body": "Never call me before nine.", "role": "user", "speech_act": "statement"},
        {"body": "The pump is blue.", "role": "user"},
    ]
    read, marked, plain = (
        row["id"] for row in sql("SELECT id FROM recall.remember_many(%s)", (Jsonb(said),))
    )
    sql("UPDATE recall.memory SET speech_act = 'statement'")  # as an earlier version would have read them
    assert rebuild(sql) == 1
    acts = {row["id"]: row["speech_act"] for row in sql("SELECT id, speech_act FROM recall.memory")}
    assert acts == {read: "instruction", marked: "statement", plain: "statement"}
    assert rebuild(sql) == 0


def test_rebuilding_repairs_a_lost_queue(sql: Query, now: datetime) -> None:
    used, shown, idle = notes(sql, 3)
    record(sql, [item(used, Use(60))], now)
    log_later(sql, shown, Use(90), 1, now)
    sql("DELETE FROM recall.access_queue")
    assert rebuild(sql) == 1
    assert [state(sql, memory)["n"] for memory in (used, shown, idle)] == [2, 2, 1]
    assert rebuild(sql) == 0


@pytest.mark.parametrize(
    "damage",
    [
        "n = n + 3", "first_at = first_at - 1", "credit = 0.5", "t1 = t1 + 1", "t3 = NULL",
        "folded_until = folded_until - interval '1 second'", "t2 = t1, t3 = t1, t4 = t1, n = 400",
    ],
)  # fmt: skip
def test_rebuilding_repairs_a_wrong_summary(sql: Query, now: datetime, damage: str) -> None:
    wrong, right = notes(sql, 2)
    for memory in (wrong, right):
        record(sql, [item(memory, Use(day * 86_400)) for day in range(1, 12)], now)
    before = states(sql)
    sql(f"UPDATE recall.activation SET {damage} WHERE memory_id = %s", (wrong,))
    assert rebuild(sql) == 1
    assert states(sql) == before
    assert rebuild(sql) == 0


def test_rebuilding_some_leaves_the_others_alone(sql: Query) -> None:
    memories = notes(sql, 3)
    sql("UPDATE recall.activation SET n = 99")
    assert rebuild(sql, memories[:1]) == 1
    assert [state(sql, memory)["n"] for memory in memories] == [1, 99, 99]
    assert rebuild(sql, []) == 0
    assert rebuild(sql, [4711]) == 0


def test_rebuilding_a_tenant_leaves_the_others_alone(sql: Query) -> None:
    notes(sql, 2)
    sql("UPDATE recall.activation SET n = 99")
    assert sql("SELECT recall.rebuild() AS changed", tenant="other") == [{"changed": 0}]
    assert rebuild(sql) == 2


def test_a_log_without_a_memorys_accesses_leaves_its_summary_alone(sql: Query, now: datetime) -> None:
    [memory] = notes(sql, 1)
    record(sql, [item(memory, Use(60))], now)
    before = state(sql, memory)
    sql("DELETE FROM recall.access")
    assert rebuild(sql) == 0
    assert state(sql, memory) == before


# Broken off


def test_a_fold_that_is_rolled_back_has_not_happened(
    sql: Query, shared_connection: psycopg.Connection[Any], now: datetime
) -> None:
    memories = notes(sql, 4)
    for place, memory in enumerate(memories):
        record(sql, [item(memory, Use(40_000))], now)
        log_later(sql, memory, Use(60 + place, "used", "s"), 1, now)
    before = states(sql)
    with shared_connection.transaction(force_rollback=True):
        assert fold_once(sql) == 4
        assert states(sql) != before
    assert (states(sql), waiting(sql)) == (before, 4)
    assert fold_all(sql, 1) == 4
    assert [folded(row) for row in states(sql).values()] == [fold_of_log(sql, memory) for memory in memories]
    assert rebuild(sql) == 0


@pytest.mark.parametrize("call", ["recall.fold_accesses()", "recall.rebuild()"])
def test_a_worker_killed_halfway_leaves_all_for_the_next(
    database_url: str, query: Query, now: datetime, call: str
) -> None:
    """It dies in the middle of its work: when it has taken its searches and waits for a row."""
    memories = notes(query, 3)
    for place, memory in enumerate(memories):
        log_later(query, memory, Use(60 + place), 1, now)
    before = states(query)
    with psycopg.connect(database_url) as user, as_tenant(database_url) as worker:
        user.execute("SELECT FROM recall.activation WHERE memory_id = %s FOR UPDATE", (memories[1],))
        with ThreadPoolExecutor(1) as thread:
            work = thread.submit(worker.execute, f"SELECT {call}")
            blocked(user)
            # Gone, or what it held would be passed over a moment longer.
            user.execute("SELECT pg_terminate_backend(%s, 60000)", (worker.info.backend_pid,))
            with pytest.raises(psycopg.errors.AdminShutdown):
                work.result(timeout=PATIENCE)
    assert (states(query), waiting(query)) == (before, 3)
    assert fold_all(query) == 3
    assert [state(query, memory)["n"] for memory in memories] == [2, 2, 2]
    assert rebuild(query) == 0


def test_a_worker_killed_before_its_commit_leaves_all_for_the_next(
    database_url: str, query: Query, now: datetime
) -> None:
    [memory] = notes(query, 1)
    log_later(query, memory, Use(60), 1, now)
    with as_tenant(database_url, autocommit=False) as worker:
        assert worker.execute("SELECT recall.fold_accesses()").fetchall() == [(1,)]
        query("SELECT pg_terminate_backend(%s, 60000)", (worker.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError):
            worker.commit()
    assert (state(query, memory)["n"], waiting(query)) == (1, 1)
    assert fold_all(query) == 1
    assert state(query, memory)["n"] == 2


def test_an_access_killed_before_its_commit_can_be_sent_again(
    database_url: str, query: Query, now: datetime
) -> None:
    """Its key, its links, its spreading: nothing of it is left."""
    first, second = notes(query, 2)
    query("SELECT recall.link(%s, %s, p_now => '2026-01-01 UTC')", (first, second))
    before = states(query)
    use = "SELECT recall.record_access(%s, 'used', %s, 's', 'turn 1', %s)"
    with as_tenant(database_url, autocommit=False) as client:
        client.execute(use, (first, now, now))
        client.execute(use.replace("turn 1", "turn 2"), (second, now, now))
        query("SELECT pg_terminate_backend(%s, 60000)", (client.info.backend_pid,))
    assert states(query) == before
    assert query("SELECT 1 FROM recall.access_key") == []
    assert query("SELECT 1 FROM recall.link WHERE relation = 'co_access'") == []
    for turn, memory in enumerate((first, second), 1):
        [row] = query(use.replace("turn 1", f"turn {turn}"), (memory, now, now))
        assert list(row.values()) == [True]
    assert [state(query, memory)["n"] for memory in (first, second)] == [2, 2]


def test_a_worker_passes_over_what_another_has_taken(database_url: str, query: Query, now: datetime) -> None:
    memories = notes(query, 3)
    for memory in memories:
        log_later(query, memory, Use(60), 1, now)
    with as_tenant(database_url, autocommit=False) as first, as_tenant(database_url) as second:
        assert first.execute("SELECT recall.fold_accesses(1)").fetchall() == [(1,)]
        second.execute("SET lock_timeout = '10s'")
        folded_by_others = second.execute("SELECT recall.fold_accesses() FROM generate_series(1, 2)")
        assert folded_by_others.fetchall() == [(2,), (0,)]
        first.commit()
    assert [state(query, memory)["n"] for memory in memories] == [2, 2, 2]


def test_two_workers_take_different_searches(database_url: str, query: Query, now: datetime) -> None:
    """Nothing is taken twice, and nothing is left, while more arrives."""
    memories = notes(query, 5)
    stop = threading.Event()
    taken: list[int] = []

    def work(_: int) -> None:
        with as_tenant(database_url) as connection:
            while not stop.is_set():
                [row] = connection.execute("SELECT recall.fold_accesses(3)").fetchall()
                taken.append(row[0])

    with ThreadPoolExecutor(3) as threads:
        workers = [threads.submit(work, worker) for worker in range(3)]
        try:
            for turn in range(60):
                use = Use(turn * 977 % 50_000, "used" if turn % 3 else "retrieval", "st"[turn % 2])
                log_later(query, memories[turn % 5], use, 1 if turn % 3 else 0.1, now)
        finally:
            stop.set()
        for worker in workers:
            worker.result(timeout=PATIENCE)
    assert sum(taken) + fold_all(query) == 60
    assert [folded(row) for row in states(query).values()] == [
        fold_of_log(query, memory) for memory in memories
    ]
    assert rebuild(query) == 0
