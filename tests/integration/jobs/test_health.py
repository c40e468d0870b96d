"""Health: its figures and alarms."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import Memory
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.access.use_tools import Use, fold_all, item, log_later, note, notes, record

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)
LONG = NOW - 60 * DAY


def report(sql: Query, now: datetime = NOW, *, tenant: str = "acme") -> dict[str, Any]:
    [row] = sql("SELECT * FROM recall.health_report(%s)", (now,), tenant=tenant)
    return row


def alarms(sql: Query, now: datetime = NOW) -> list[str]:
    found: list[str] = report(sql, now)["alarms"]
    return found


def use(sql: Query, memories: Iterable[int], at: datetime) -> None:
    record(sql, [{"memory_id": memory, "at": at} for memory in memories], at)


def accessed(sql: Query, many: int = 20) -> list[int]:
    """Memories of all ages, each used at a time of its own, the last an hour ago."""
    ages = [60 * (place + 1) / many for place in range(many)]
    memories = [note(sql, f"k{place}", at=NOW - age * DAY) for place, age in enumerate(ages)]
    for memory, age in zip(memories, ages, strict=True):
        use(sql, [memory], NOW - age / 60 * DAY)
    use(sql, memories[:1], NOW - timedelta(hours=1))
    return memories


def run_job(sql: Query, job: str, state: str, at: datetime = NOW, **fields: Any) -> None:
    row = {"tenant": "acme", "counts": {}, "error": None, "ended": at, **fields}
    sql(
        "INSERT INTO recall.job_run (tenant, job, state, started_at, finished_at, counts, error) "
        "VALUES (%(tenant)s, %(job)s, %(state)s, %(at)s, %(ended)s, %(counts)s::jsonb, %(error)s)",
        {**row, "job": job, "state": state, "at": at, "counts": json.dumps(row["counts"])},
    )


# What is counted


def test_an_empty_memory_is_well(sql: Query) -> None:
    found = report(sql)
    counts = ("memories", "archived", "never_used", "accesses_waiting", "awaiting_embedding")
    assert {found[name] for name in counts} == {0}
    assert (found["layers"], found["alarms"], found["jobs"], found["last_access_at"]) == ([], [], [], None)


def test_a_memory_in_use_raises_no_alarm(sql: Query) -> None:
    accessed(sql)
    found = report(sql)
    assert found["alarms"] == []
    assert (found["memories"], found["never_used"]) == (20, 0)
    assert found["last_access_at"] == NOW - timedelta(hours=1)


def test_zones_are_counted_by_layer_with_floors_and_thresholds(sql: Query) -> None:
    note(sql, "new", at=NOW)
    pinned, forgotten = note(sql, "pinned", at=LONG), note(sql, "forgotten", at=LONG)
    note(sql, "old", at=LONG)
    note(sql, "talk", at=LONG, layer="activity")
    sql("SELECT recall.pin(%s)", (pinned,))
    sql("SELECT recall.forget(%s)", (forgotten,))
    found = report(sql)
    assert (found["memories"], found["archived"]) == (4, 1)
    assert found["layers"] == [
        {"layer": "activity", "memories": 1, "zones": {"dormant": 1}},
        {"layer": "knowledge", "memories": 3, "zones": {"active": 1, "stale": 1, "fading": 1}},
    ]
    sql("SELECT recall.set_layer('activity', p_fading => 0.01)")
    assert report(sql)["layers"][0]["zones"] == {"fading": 1}


def test_never_used_is_a_share_of_live_memories(sql: Query) -> None:
    used, shown, _, forgotten = notes(sql, 4, at=LONG)
    use(sql, [used, forgotten], NOW - DAY)
    # Ten showings make one whole access, but no use.
    log_later(sql, shown, Use(86_400 * 100, "retrieval"), 1, NOW)
    fold_all(sql)
    sql("SELECT recall.forget(%s)", (forgotten,))
    assert report(sql)["never_used"] == pytest.approx(2 / 3)
    use(sql, [shown], NOW)
    fold_all(sql)
    assert report(sql)["never_used"] == pytest.approx(1 / 3)


def test_the_bounds_of_vitality_hold_nine_tenths(sql: Query) -> None:
    memories = notes(sql, 100, at=LONG)
    use(sql, memories[:4], NOW - timedelta(minutes=2))
    sql("UPDATE recall.activation SET t1 = t1 - 86400 * 10000, first_at = first_at - 86400 * 10000 "
        "WHERE memory_id = ANY (%s)", (memories[-4:],))  # fmt: skip
    found = report(sql)
    [typical] = sql("SELECT recall.vitality(%s, %s) AS vitality", (memories[50], NOW))
    assert found["vitality_low"] == pytest.approx(typical["vitality"])
    assert found["vitality_high"] == pytest.approx(typical["vitality"])


def test_waiting_accesses_are_counted_and_count_as_a_sign_of_life(sql: Query) -> None:
    first, second = notes(sql, 2, at=LONG)
    for memory, minutes in ((first, 50), (second, 20), (first, 10)):
        at = NOW - timedelta(minutes=minutes)
        sql("INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES ('acme', ARRAY[%s, %s], %s)",
            (memory, memory, at))  # fmt: skip
    found = report(sql)
    assert (found["accesses_waiting"], found["waiting_since"]) == (6, NOW - timedelta(minutes=50))
    assert found["last_access_at"] == NOW - timedelta(minutes=10)
    assert found["alarms"] == []


def test_a_report_is_its_tenants_alone(sql: Query) -> None:
    notes(sql, 30, at=LONG)
    run_job(sql, "graph", "failed", error="no luck")
    found = report(sql, tenant="other")
    assert (found["memories"], found["jobs"], found["alarms"]) == (0, [], [])


def test_the_view_is_the_report_for_now(sql: Query) -> None:
    notes(sql, 3)
    [now] = sql("SELECT now() AS now")
    assert sql("SELECT * FROM recall.health") == [report(sql, now["now"])]


# Alarms


def test_silence_is_reported_once_memories_are_old_enough(sql: Query) -> None:
    memory = note(sql, "k", at=NOW - 7.5 * DAY)
    assert alarms(sql, NOW - DAY) == []
    [alarm] = alarms(sql)
    assert alarm == "No access has ever been recorded; without accesses, vitality depends on age alone."
    use(sql, [memory], NOW - 7.2 * DAY)
    assert alarms(sql) == [
        "No access has been recorded since 2026-05-25 07:12 UTC; "
        "without accesses, vitality depends on age alone."
    ]
    sql("SELECT recall.set_setting('health.silent_days', 7.3)")
    assert alarms(sql) == []
    sql("SELECT recall.set_setting('health.silent_days', 1)")
    log_later(sql, memory, Use(0, "retrieval"), 0.1, NOW)
    sql("UPDATE recall.access_queue SET at = %s", (NOW,))
    assert alarms(sql) == []


def test_old_notes_stored_today_are_no_silence(sql: Query) -> None:
    sql("SELECT recall.remember('old', p_occurred_at => %s, p_now => %s)", (LONG, NOW - DAY))
    assert alarms(sql) == []


def test_sameness_is_reported_from_twenty_memories_on(sql: Query) -> None:
    memories = notes(sql, 19, at=NOW - 2 * DAY)
    use(sql, memories, NOW - DAY)
    assert alarms(sql) == []
    use(sql, [note(sql, "one more", at=NOW - 2 * DAY)], NOW - DAY)
    assert alarms(sql) == [
        "Nine tenths of the 20 live memories have the same vitality, 0.631: it does not affect their order.",
        "All 20 live memories are in the zone active: the thresholds do not separate them.",
    ]


def test_memories_have_a_day_to_differ(sql: Query) -> None:
    use(sql, notes(sql, 30, at=NOW - timedelta(hours=23)), NOW)
    assert alarms(sql) == []
    assert len(alarms(sql, NOW + timedelta(hours=2))) == 2


def test_a_few_that_differ_do_not_hide_that_nearly_all_are_the_same(sql: Query) -> None:
    memories = notes(sql, 60, at=NOW - 2 * DAY)
    use(sql, memories[:1], NOW - DAY)
    [alarm] = alarms(sql)
    assert alarm.startswith("Nine tenths of the 60 live memories have the same vitality, 0.414")


def test_small_vitalities_that_differ_are_not_the_same(sql: Query) -> None:
    memories = [note(sql, f"k{place}", at=NOW - (2000 + 100 * place) * DAY) for place in range(30)]
    use(sql, memories[:1], NOW - DAY)
    found = report(sql)
    assert found["vitality_high"] - found["vitality_low"] < 0.01
    assert found["alarms"] == []


def test_accesses_that_wait_for_more_than_an_hour_are_reported(sql: Query) -> None:
    memories = accessed(sql)
    for minutes in (61, 30):
        at = NOW - timedelta(minutes=minutes)
        sql(
            "INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES ('acme', %s, %s)", (memories, at)
        )
    assert alarms(sql) == []  # no worker has run yet, which is no fault in the first week
    run_job(sql, "graph", "done")
    assert alarms(sql, NOW - timedelta(minutes=2)) == []
    assert alarms(sql) == [
        "The job fold does not keep up: 40 accesses wait, the oldest since 2026-06-01 10:59 UTC."
    ]
    fold_all(sql)
    assert alarms(sql) == []


def test_a_worker_that_never_ran_is_reported_after_a_week(sql: Query) -> None:
    memories = accessed(sql)
    at = NOW - timedelta(days=7, minutes=1)
    sql("INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES ('acme', %s, %s)", (memories, at))
    assert alarms(sql, NOW - timedelta(minutes=2)) == []
    assert alarms(sql) == [
        "The job fold does not keep up: 20 accesses wait, the oldest since 2026-05-25 11:59 UTC."
    ]


def test_accesses_queued_by_an_upgrade_are_reported_without_a_time(sql: Query) -> None:
    memories = accessed(sql)
    sql(
        "INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES ('acme', %s, '-infinity')",
        (memories,),
    )
    found = report(sql)
    assert found["waiting_since"] is None
    assert found["last_access_at"] == NOW - timedelta(hours=1)
    assert found["alarms"] == [
        "The job fold does not keep up: 20 accesses wait, the oldest since the last upgrade."
    ]


def test_late_embeddings_are_reported_if_there_is_an_embedder(sql: Query) -> None:
    accessed(sql)
    assert alarms(sql) == []
    sql("SELECT recall_private.require_embedder('model-x')")
    assert alarms(sql) == [
        "The job embed does not keep up: 20 memories wait for an embedding, "
        "the oldest since 2026-04-02 12:00 UTC."
    ]
    sql("UPDATE recall.memory SET updated_at = %s", (NOW - timedelta(hours=23),))
    assert alarms(sql) == []


def test_failed_jobs_are_reported_until_they_run_again(sql: Query) -> None:
    accessed(sql)
    run_job(sql, "graph", "failed", NOW - 2 * DAY, error="deadlock detected\nsecond line")
    run_job(sql, "partitions", "failed", NOW - DAY, error="no room", tenant="*")
    run_job(sql, "fold", "failed", NOW - 2 * DAY, error="passing")
    run_job(sql, "fold", "done", NOW - DAY)
    assert alarms(sql) == [
        "The job graph failed at 2026-05-30 12:00 UTC: deadlock detected",
        "The job partitions failed at 2026-05-31 12:00 UTC: no room",
    ]
    run_job(sql, "graph", "done")
    assert len(alarms(sql)) == 1


def test_a_run_without_its_worker_is_reported_as_abandoned(sql: Query) -> None:
    run_job(sql, "graph", "running", ended=None)
    assert [(run["job"], run["state"]) for run in report(sql)["jobs"]] == [("graph", "abandoned")]


@pytest.mark.parametrize(("problems", "many"), [(3, 1), (0, 0)])
def test_problems_of_the_last_verification_are_reported(sql: Query, problems: int, many: int) -> None:
    accessed(sql)
    run_job(sql, "verify", "done", counts={"checks": 12, "problems": problems})
    sentence = "The job verify found 3 problems at 2026-06-01 12:00 UTC; run it by hand to see them."
    assert alarms(sql) == [sentence] * many


# Status


def test_status_has_the_alarms_the_jobs_and_the_numbers(memory: Memory, query: Query) -> None:
    memory.remember("b", key="k", layer="entity")
    run_job(query, "graph", "failed", NOW, error="no luck")
    state = memory.status(now=NOW + 30 * DAY)
    assert [job.state for job in state.jobs if job.name == "graph"] == ["failed"]
    assert [job.name for job in state.jobs] == [job.name for job in memory.jobs.list()]
    assert "The job graph failed at 2026-06-01 12:00 UTC: no luck" in state.alarms
    assert (state.memories, state.never_used, state.accesses_waiting) == (1, 1, 0)
    assert (state.last_access_at, state.waiting_since) == (None, None)
    memory.record_access("k")
    assert memory.status().never_used == 0
    assert memory.status().last_access_at is not None


def test_status_counts_the_links_that_were_made_and_not_those_of_use(memory: Memory, query: Query) -> None:
    a, b = memory.remember("a").id, memory.remember("b").id
    memory.link(a, b)
    for stored in (a, b):
        memory.record_access(stored, "used", session_id="s")
    assert query("SELECT count(*) FROM recall.link") == [{"count": 2}]
    assert memory.status().links == 1


@pytest.mark.parametrize("moment", ["infinity", "-infinity", None])
def test_a_moment_at_which_nothing_can_be_computed_is_refused(sql: Query, moment: str | None) -> None:
    for call in ("health_report", "status", "verify"):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="it must be a moment"):
            sql(f"SELECT recall.{call}(%s::timestamptz)", (moment,))


def test_items_of_a_log_that_lies_in_the_past_still_say_when_the_last_use_was(sql: Query) -> None:
    memory = note(sql, "k")
    record(sql, [item(memory, Use(3600)), item(memory, Use(1800))], NOW)
    assert report(sql)["last_access_at"] == Use(3600).at
