"""record_access: the log, the summary it feeds, and what happens to late, repeated and wrong events."""

from __future__ import annotations

import json
import math
import random
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall import Access, InvalidInput, Memory, MemoryNotFound
from pgrecall.vitality.activation import AccessSummary
from tests.databases import Query
from tests.integration.access.use_tools import BIRTH, logged, note, record, state, summary
from tests.scale import SCALE
from tests.waiting import PATIENCE

pytestmark = pytest.mark.in_turns

# The summary

events = st.lists(st.integers(-300, 5 * 30 * 86_400), min_size=1, max_size=25)
"""Seconds since birth, before which clocks may put an event by five minutes."""


@settings(
    max_examples=25 * SCALE,
    deadline=None,
    derandomize=SCALE == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events, st.integers(1, 25))
def test_the_summary_is_the_one_of_python_in_any_order_and_batching(
    sql: Query, now: datetime, seconds: list[int], batch: int
) -> None:
    memory = note(sql, uuid.uuid4().hex)
    expected = AccessSummary.of([BIRTH.timestamp()])
    times = [BIRTH + timedelta(seconds=second) for second in seconds]
    for start in range(0, len(times), batch):
        items = [{"memory_id": memory, "at": at} for at in times[start : start + batch]]
        assert record(sql, items, now) == len(items)
    for at in times:
        expected = expected.add(at.timestamp())
    assert summary(sql, memory) == expected


def test_one_batch_over_many_memories_is_the_same_as_each_alone(sql: Query, now: datetime) -> None:
    chance = random.Random(7)
    memories = [note(sql, f"k{place}") for place in range(40)]
    items = [
        {"memory_id": memory, "at": BIRTH + timedelta(seconds=chance.randrange(10**7))}
        for memory in memories
        for _ in range(chance.randint(0, 30))
    ]
    chance.shuffle(items)
    assert record(sql, items, now) == len(items)
    for memory in memories:
        times = [item["at"].timestamp() for item in items if item["memory_id"] == memory]
        assert summary(sql, memory) == AccessSummary.of([BIRTH.timestamp(), *times])


def test_an_access_of_now_is_the_default(sql: Query, now: datetime) -> None:
    memory = note(sql)
    sql("SELECT recall.record_access(%s, p_now => %s)", (memory, now))
    assert summary(sql, memory).recent == (now.timestamp(), BIRTH.timestamp())
    [row] = sql("SELECT kind, weight, at, recorded_at FROM recall.access WHERE kind <> 'write'")
    assert row == {"kind": "read", "weight": 1, "at": now, "recorded_at": now}


def test_a_late_event_older_than_all_that_is_kept_only_counts(sql: Query, now: datetime) -> None:
    memory = note(sql)
    record(sql, [{"memory_id": memory, "at": BIRTH + timedelta(days=day)} for day in range(1, 12)], now)
    before = summary(sql, memory)
    record(sql, [{"memory_id": memory, "at": BIRTH - timedelta(minutes=4)}], now)
    after = summary(sql, memory)
    assert (after.count, after.recent) == (before.count + 1, before.recent)
    assert after.first == (BIRTH - timedelta(minutes=4)).timestamp()


def test_an_access_leaves_the_rest_of_the_row_alone(sql: Query, now: datetime) -> None:
    memory = note(sql)
    sql("UPDATE recall.activation SET spread = 0.5, spread_at = 1, in_degree = 3, last_linked_at = 2")
    before = state(sql, memory)
    sql("SELECT recall.record_access(%s, p_now => %s)", (memory, now))
    changed = {name for name, value in state(sql, memory).items() if value != before[name]}
    assert changed == {"n", "t1", "t2", "folded_until"}


SEQUENCES = json.loads((Path(__file__).parents[2] / "actr_vectors.json").read_text())["sequences"]


@pytest.mark.parametrize("sequence", SEQUENCES, ids=[entry["name"] for entry in SEQUENCES])
def test_the_update_sequences_of_the_vector_file(sql: Query, sequence: dict[str, Any]) -> None:
    """Born before all of them and used so: the file keeps k times, the product eight, hence the exact sum."""
    moments = sequence["accesses_epoch_s"]
    born, *later = sorted(moments)
    memory = note(sql, at=datetime.fromtimestamp(born, UTC))
    now = datetime.fromtimestamp(sequence["now_epoch_s"], UTC)
    moments.remove(born)
    for moment in moments:
        record(sql, [{"memory_id": memory, "at": datetime.fromtimestamp(moment, UTC)}], now)
    row = state(sql, memory)
    expected, k = sequence["state"], sequence["k"]
    assert (row["n"], row["first_at"]) == (expected["n"], expected["first"])
    assert [row[f"t{rank}"] for rank in range(1, k + 1)][: row["n"]] == expected["recent_newest_first"]
    kept = [row[f"t{rank}"] for rank in range(8, 0, -1)]
    assert [moment for moment in kept if moment is not None] == [born, *later][-8:]

    def base(most: int) -> float:
        newest = [row[f"t{rank}"] if rank <= most else None for rank in range(1, 9)]
        call = "SELECT ln(recall_private.power_sum(%s, %s, " + "%s, " * 8 + "%s, %s, %s)) AS base"
        [answer] = sql(call, (row["n"], row["first_at"], *newest, sequence["d"], sequence["now_epoch_s"],
                              sequence["min_age_days"] * 86_400))  # fmt: skip
        return float(answer["base"]) + sequence["d"] * math.log(86_400)

    assert base(k) == pytest.approx(sequence["B_hybrid"], abs=1e-11, rel=1e-11)
    assert base(8) == pytest.approx(sequence["B_exact"], abs=1e-11, rel=1e-11)
    sql("UPDATE recall.activation SET decay = %s", (sequence["d"],))
    [terms] = sql("SELECT base FROM recall.explain_vitality(%s, %s)", (memory, now))
    assert terms["base"] == pytest.approx(sequence["B_exact"], abs=1e-9)


# Kinds and weights


@pytest.mark.parametrize("kind", ["write", "read", "reference", "used"])
def test_whole_kinds_count_one(sql: Query, now: datetime, kind: str) -> None:
    memory = note(sql)
    sql("SELECT recall.record_access(%s, %s, p_now => %s)", (memory, kind, now))
    row = state(sql, memory)
    assert (row["n"], row["credit"]) == (2, 0)


def test_ten_retrievals_are_one_access_at_the_time_of_the_last(sql: Query, now: datetime) -> None:
    memory = note(sql)
    for turn in range(9):
        record(sql, [{"memory_id": memory, "kind": "retrieval", "at": BIRTH + timedelta(days=turn)}], now)
        row = state(sql, memory)
        assert (row["n"], row["credit"]) == (1, pytest.approx((turn + 1) / 10))
    last = BIRTH + timedelta(days=20)
    record(sql, [{"memory_id": memory, "kind": "retrieval", "at": last}], now)
    row = state(sql, memory)
    assert (row["n"], row["credit"], row["t1"], row["t2"]) == (2, 0, last.timestamp(), BIRTH.timestamp())
    assert logged(sql) == 10


def test_retrievals_of_one_batch_count_alike(sql: Query, now: datetime) -> None:
    memory = note(sql)
    items = [{"memory_id": memory, "kind": "retrieval"}] * 37
    assert record(sql, items, now) == 37
    row = state(sql, memory)
    assert (row["n"], row["credit"]) == (4, pytest.approx(0.7))


def test_a_thousand_retrievals_are_a_hundred_accesses(sql: Query, now: datetime) -> None:
    memory = note(sql)
    for _ in range(100):
        record(sql, [{"memory_id": memory, "kind": "retrieval"}] * 10, now)
    row = state(sql, memory)
    assert (row["n"], row["credit"]) == (101, 0)


def test_whole_and_partial_kinds_mix(sql: Query, now: datetime) -> None:
    memory = note(sql)
    read, shown = BIRTH + timedelta(days=3), BIRTH + timedelta(days=5)
    items = [{"memory_id": memory, "kind": "read", "at": read}]
    items += [{"memory_id": memory, "kind": "retrieval", "at": shown}] * 10
    record(sql, items, now)
    assert summary(sql, memory).recent == (shown.timestamp(), read.timestamp(), BIRTH.timestamp())


# Once


def test_an_idempotency_key_counts_once(sql: Query, now: datetime) -> None:
    memory, other = note(sql), note(sql, "other")
    item = {"memory_id": memory, "idempotency_key": "turn-1"}
    assert record(sql, [item], now) == 1
    assert record(sql, [item, item | {"memory_id": other}, item | {"idempotency_key": "turn-2"}], now) == 1
    assert (state(sql, memory)["n"], state(sql, other)["n"]) == (3, 1)


def test_an_idempotency_key_twice_in_one_batch_counts_once(sql: Query, now: datetime) -> None:
    memory = note(sql)
    assert record(sql, [{"memory_id": memory, "idempotency_key": "x"}] * 5, now) == 1
    assert (state(sql, memory)["n"], logged(sql)) == (2, 1)


def test_idempotency_keys_belong_to_a_tenant(sql: Query) -> None:
    for tenant in ("acme", "other"):
        memory = note(sql, tenant=tenant)
        call = "SELECT recall.record_access(%s, p_idempotency_key => 'x') AS new"
        assert sql(call, (memory,), tenant=tenant) == [{"new": True}]
        assert sql(call, (memory,), tenant=tenant) == [{"new": False}]


def test_accesses_without_an_idempotency_key_all_count(sql: Query, now: datetime) -> None:
    memory = note(sql)
    assert record(sql, [{"memory_id": memory}] * 3, now) == 3
    assert state(sql, memory)["n"] == 4


# The client


def test_the_client_records_by_id_or_key(memory: Memory) -> None:
    stored = memory.remember("b", key="k")
    assert memory.record_access("k", "used", session_id="s", idempotency_key="one")
    assert not memory.record_access("k", "used", idempotency_key="one")
    assert memory.record_accesses([Access("k"), Access(stored.id, "reference")]) == 2
    assert memory.get("k").vitality.accesses == 4
    assert memory.record_accesses([]) == 0


def test_a_use_makes_a_memory_livelier(memory: Memory, now: datetime) -> None:
    memory.remember("b", key="k", occurred_at=now - timedelta(days=90))
    before = memory.get("k", now=now).vitality
    memory.record_access("k", at=now - timedelta(hours=1), now=now)
    after = memory.get("k", now=now).vitality
    assert (before.zone, after.zone) == ("dormant", "active")
    assert memory.get("k", now=now + timedelta(days=90)).vitality.vitality < after.vitality


def test_the_session_is_logged(memory: Memory, query: Query) -> None:
    memory.remember("b", key="k")
    memory.record_access("k", session_id="s-1")
    assert query("SELECT session_id FROM recall.access WHERE kind = 'read'") == [{"session_id": "s-1"}]


def test_the_client_says_what_is_wrong(memory: Memory, now: datetime) -> None:
    memory.remember("b", key="k")
    for unknown in ("nobody", 4711):
        with pytest.raises(MemoryNotFound) as caught:
            memory.record_access(unknown)
        assert caught.value.reference == unknown
    with pytest.raises(InvalidInput, match=r"^The access kind 'glance' is unknown\. Use write, read"):
        memory.record_access("k", "glance")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="lies in the future"):
        memory.record_access("k", at=now + timedelta(hours=1), now=now)


# At once


def test_eight_threads_on_the_same_memories_lose_nothing(database_url: str, query: Query) -> None:
    memories = [note(query, f"k{place}") for place in range(6)]
    now = BIRTH + timedelta(days=100)
    barrier = threading.Barrier(8)
    sent: list[tuple[int, float]] = []

    def job(worker: int) -> None:
        chance = random.Random(worker)
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            barrier.wait(timeout=PATIENCE)
            for turn in range(25):
                items = []
                for memory in chance.sample(memories, 6):
                    at = BIRTH + timedelta(seconds=chance.randrange(8_000_000))
                    items.append({"memory_id": memory, "at": at.isoformat()})
                    items.append({"memory_id": memory, "kind": "retrieval", "at": BIRTH.isoformat()})
                    sent.append((memory, at.timestamp()))
                # Every thread also reports the same event; it must count once.
                items.append({"key": "k0", "at": BIRTH.isoformat(), "idempotency_key": f"turn {turn}"})
                connection.execute("SELECT recall.record_accesses(%s::jsonb, %s)", (json.dumps(items), now))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(job, range(8)))
    born = BIRTH.timestamp()
    for memory in memories:
        times = [at for target, at in sent if target == memory]
        retrievals, shared = 200 // 10, 25 if memory == memories[0] else 0
        expected = AccessSummary.of([born] * (1 + retrievals + shared) + times)
        assert summary(query, memory) == expected
        assert state(query, memory)["credit"] == 0
    assert logged(query) == 8 * 25 * 12 + 25
