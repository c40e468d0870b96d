"""Clocks that step: what a wrong one did stays sound, and once it is right everything goes on."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import datetime, timedelta, tzinfo
from typing import Any

import pytest

from pgrecall import Draft, Memory
from pgrecall.database.pool import Database
from pgrecall.errors import InvalidInput
from pgrecall.jobs import worker
from pgrecall.jobs.catalogue import JOBS
from pgrecall.jobs.runner import Runner
from pgrecall.jobs.worker import Worker
from tests.conftest import NOW
from tests.databases import Query
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.integration.versions.settled import settle
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.fault

YEAR = timedelta(days=365)
DAY = timedelta(days=1)
STEPS = {"a year ahead": YEAR, "a day ahead": DAY, "a day back": -DAY}


@pytest.fixture(params=STEPS)
def wrong(request: pytest.FixtureRequest, inject: Inject) -> datetime:
    """The time of a clock that is wrong."""
    inject(f"a clock {request.param}")
    return NOW + STEPS[request.param]


def ran(query: Query, job: str, at: datetime) -> None:
    """A run of a job that began and ended at this time."""
    [run] = query("SELECT recall.begin_job(%s, p_now => %s) AS id", (job, at))
    query("SELECT recall.end_job(%s, 'done', 0, '{}', p_now => %s)", (run["id"], at))


def due(query: Query, at: datetime) -> bool:
    return bool(query("SELECT * FROM recall.due_tenants('fold', p_now => %s)", (at,)))


def test_schedules_go_on_after_a_wrong_clock(query: Query, wrong: datetime) -> None:
    query("SELECT recall.remember('A note', p_now => %s)", (NOW,))
    ran(query, "fold", wrong)
    assert due(query, NOW), "nothing would run until the wrong time has come"
    [state] = query("SELECT * FROM recall.job_states(ARRAY['fold'], p_now => %s)", (NOW,))
    assert state["due_at"] <= NOW
    ran(query, "fold", NOW)
    assert not due(query, NOW)
    assert due(query, NOW + timedelta(minutes=1))


def test_the_worker_goes_on_after_the_clock_was_set_back(
    database_url: str, query: Query, inject: Inject, monkeypatch: pytest.MonkeyPatch
) -> None:
    query("INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'job.fold.minutes', '0.002')")
    query("SELECT recall.remember('The harbour opens at six')")
    shift = [timedelta()]

    class Stepping(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + shift[0]

    monkeypatch.setattr("apscheduler.schedulers.base.datetime", Stepping)
    monkeypatch.setattr(worker, "REFRESH_SECONDS", 0.2)

    def folded() -> bool:
        return query("SELECT FROM recall.access_queue") == []

    with closing(Database(database_url)) as database:
        runner = Runner(database)
        working = threading.Thread(target=Worker(runner).serve)
        working.start()
        try:
            for step in (YEAR, timedelta(), -DAY):
                shift[0] = step
                for _ in range(3):  # the first may have been about to begin
                    query("""SELECT recall.search_and_log('{"query": "harbour"}')""")
                    until(folded, "a fold")
                inject("a clock stepped under the worker")
        finally:
            runner.stop.set()
            working.join(PATIENCE)


def use_a_day(memory: Memory, at: datetime, *, pinned: bool) -> None:
    """Everything that a day brings, at a time."""
    memory.remember_many(
        [
            Draft(f"Note {number} of the harbour at {at:%Y-%m-%d}", key=f"n{number}", title=f"Note {number}")
            for number in range(4)
        ],
        now=at,
    )
    memory.link("n0", "n1", now=at)
    memory.record_access("n0", "used", session_id="s", now=at)
    memory.record_access("n1", "used", session_id="s", now=at)
    memory.pin("n2", pinned, now=at)
    memory.pin("n3", now=at)
    memory.forget("n1", now=at)
    memory.supersede("n2", "n3", now=at)
    memory.search("harbour note", now=at, session_id="s")
    memory.maintenance.fold()
    memory.maintenance.refresh_statistics(now=at)
    memory.plans.prune(now=at, max_share=1.0)
    for job in JOBS:
        if not (job.by_hand or job.backs_up or job.follows):
            [outcome] = memory.jobs.run(job.name, now=at)
            assert outcome.state == "done", outcome


def test_a_life_by_changing_clocks_is_sound(
    memory: Memory, query: Query, database_url: str, wrong: datetime
) -> None:
    hour = timedelta(hours=1)
    for turn, at in enumerate((NOW, wrong, NOW + hour, wrong + hour, NOW + 2 * hour)):
        use_a_day(memory, at, pinned=turn % 2 == 1)
        sound(database_url, "acme")
    now = NOW + timedelta(hours=3)
    assert memory.maintenance.rebuild() == 0
    for hit in memory.search("harbour", now=now, k=10).hits:
        assert 0 < hit.vitality < 1
    assert memory.pin("n3", False, now=now)
    floors = query("SELECT count(*) AS n FROM recall.floor_change")
    assert not memory.pin("n3", False, now=now)
    assert query("SELECT count(*) AS n FROM recall.floor_change") == floors
    sound(database_url, "acme")


def test_what_a_clock_ahead_stored_can_be_used_at_once(
    memory: Memory, database_url: str, inject: Inject
) -> None:
    inject("a clock a year ahead")
    memory.remember_many([Draft("The harbour opens at six", key="early")], now=NOW + YEAR)
    assert memory.record_access("early", "used", now=NOW)
    assert [hit.key for hit in memory.search("harbour", now=NOW).hits] == ["early"]
    with pytest.raises(InvalidInput, match="before memory"):
        memory.record_access("early", "used", at=NOW - DAY, now=NOW)
    sound(database_url, "acme")


def test_nothing_expires_twice(memory: Memory, query: Query, database_url: str, inject: Inject) -> None:
    inject("a clock a year ahead")
    soon, later = NOW + DAY, NOW + YEAR / 2
    memory.remember_many(
        [Draft("Soon over", key="soon", expires_at=soon), Draft("Later over", key="later", expires_at=later)],
        now=NOW,
    )

    def expire(at: datetime) -> int:
        return int(query("SELECT recall.expire_memories(p_now => %s) AS n", (at,))[0]["n"])

    assert [expire(NOW), expire(NOW - DAY), expire(NOW + 2 * DAY)] == [0, 0, 1]
    assert [expire(NOW + YEAR), expire(NOW), expire(NOW + YEAR), expire(NOW)] == [1, 0, 0, 0]
    assert memory.remember("Later over", key="later", expires_at=later).outcome == "revived"
    assert expire(NOW) == 0
    assert query("SELECT count(*) AS n FROM recall.archival") == [{"n": 2}]
    sound(database_url, "acme")


def test_a_plan_of_another_time_is_not_applied(memory: Memory, query: Query, inject: Inject) -> None:
    memory.remember_many([Draft("Old", key="old", layer="activity")], now=NOW - 3 * YEAR)
    for planned, applied, why in ((NOW + YEAR, NOW, "in the future"), (NOW, NOW + YEAR, "has expired")):
        plan = memory.plans.prune(now=planned, max_share=1.0)
        inject("a clock a year ahead")
        with pytest.raises(InvalidInput, match=why):
            memory.plans.apply(plan.id, now=applied)
    assert query("SELECT FROM recall.archival") == []


def test_partitions_of_the_wrong_time_leave_no_gap(
    memory: Memory, query: Query, database_url: str, wrong: datetime
) -> None:
    for turn, at in enumerate((NOW, wrong, NOW + DAY)):
        memory.remember_many([Draft("A note", key=f"{turn}")], now=at)
        query("SELECT recall.make_access_partitions(%s)", (at,))
        memory.remember_many([Draft("A note", key=f"{turn} again")], now=at)
    query("SELECT recall.make_access_partitions(%s)", (NOW + timedelta(days=200),))
    assert query("SELECT count(*) AS n FROM recall.access_default") == [{"n": 0}]
    assert query("SELECT count(*) AS n FROM recall.access") == [{"n": 6}]
    sound(database_url, "acme")


def test_changes_of_a_wrong_clock_are_kept_as_long_as_others(
    memory: Memory, query: Query, inject: Inject
) -> None:
    def kept(limit: int, at: datetime) -> list[str | None]:
        query("SELECT recall.expire_changes(%s, %s)", (limit, at))
        return [change.key for change in memory.history.changes(cursor)]

    memory.remember_many([Draft("A note", key="before")], now=NOW)
    settle(query)
    cursor = memory.history.cursor()
    inject("a clock a year back")
    memory.remember_many([Draft("A note of then", key="back")], now=NOW - YEAR)
    settle(query)
    assert kept(1000, NOW) == ["back"], "who reads on has not read it yet"
    assert query("SELECT recall.expire_changes(1000, %s) AS gone", (NOW + 100 * DAY,)) == [{"gone": 2}]
    inject("a clock a year ahead")
    memory.remember_many([Draft(f"Note {n}", key=f"ahead {n}") for n in range(3)], now=NOW + YEAR)
    memory.remember_many([Draft("A note of now", key="now")], now=NOW)
    assert query("SELECT recall.expire_changes(2, %s) AS gone", (NOW + 100 * DAY,)) == [{"gone": 1}]
