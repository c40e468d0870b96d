"""How long a search is kept, and what forgetting a memory for good leaves of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from pgrecall import Memory
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.access.use_tools import as_tenant, fold_all, notes
from tests.integration.feedback.test_feedback import BIRTH, judge, show, verdicts
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)


def kept(query: Query, **options: str) -> list[str]:
    return [row["query"] for row in query("SELECT query FROM recall.search_log ORDER BY id", **options)]


def expire(query: Query, limit: int = 1000, *, days: float = 0, tenant: str = "acme") -> int:
    call = "SELECT recall.expire_searches(%s, %s) AS dropped"
    return int(query(call, (limit, NOW + days * DAY), tenant=tenant)[0]["dropped"])


def wrong(query: Query) -> int:
    [row] = query("SELECT count(*) FROM recall_private.wrong_feedback('acme')")
    return int(row["count"])


# How long


def test_old_searches_and_their_verdicts_are_dropped_in_batches(sql: Query) -> None:
    [a] = notes(sql, 1, at=BIRTH)
    searches = [show(sql, [a], f"day {day}", NOW - day * DAY) for day in range(88, 93)]
    for search in searches:
        judge(sql, "used", search, [a])
    theirs = sql("SELECT recall.log_shown('{}', NULL, %s, 'theirs') AS id", (BIRTH,), tenant="other")
    assert theirs[0]["id"] is not None
    assert [expire(sql, 2), expire(sql, 2), expire(sql, 2)] == [2, 1, 0]
    assert sql("SELECT query FROM recall.search_log WHERE tenant = 'acme' ORDER BY id") == [
        {"query": "day 88"},
        {"query": "day 89"},
    ]
    assert sql("SELECT search_id FROM recall.judgement ORDER BY 1") == [
        {"search_id": search} for search in searches[:2]
    ]
    assert sql("SELECT count(*) FROM recall.access WHERE kind = 'used'") == [{"count": 5}]
    assert expire(sql, tenant="other") == 1


def test_days_are_a_setting_and_none_keeps_none(sql: Query) -> None:
    [a] = notes(sql, 1, at=BIRTH)
    show(sql, [a], "yesterday", NOW - DAY)
    sql("SELECT recall.set_setting('search.log_days', 0.5)")
    show(sql, [a], "today")
    assert expire(sql) == 1
    assert kept(sql) == ["today"]
    sql("SELECT recall.set_setting('search.log_days', 0)")
    assert sql("SELECT recall.log_shown(%s, NULL, %s, 'never') AS id", ([a], NOW)) == [{"id": None}]
    assert sql("SELECT count(*) FROM recall.access WHERE kind = 'retrieval'") == [{"count": 3}]
    assert expire(sql) == 1
    assert kept(sql) == []


def test_the_job_drops_them_also_where_nothing_is_remembered(memory: Memory, query: Query) -> None:
    assert memory.context("anything").hits == ()
    assert kept(query) == ["anything"]
    assert [row["t"] for row in query("SELECT t FROM recall.tenants() t")] == ["acme"]
    [outcome] = memory.jobs.run("expire", all_tenants=True)
    assert (outcome.state, dict(outcome.counts)) == ("done", {})
    query("UPDATE recall.search_log SET at = at - interval '91 days'")
    [outcome] = memory.jobs.run("expire", all_tenants=True)
    assert (outcome.state, dict(outcome.counts)) == ("done", {"searches": 1})
    assert kept(query) == []


def test_what_is_just_being_judged_is_left_for_the_next_time(database_url: str, query: Query) -> None:
    [a] = notes(query, 1, at=BIRTH)
    search = show(query, [a])
    with as_tenant(database_url, autocommit=False) as judging:
        judging.execute("SELECT recall.used(%s, %s, %s)", (search, [a], NOW))
        assert expire(query, days=91) == 0
        judging.commit()
    assert expire(query, days=91) == 1
    assert verdicts(query) == {}


# What forgetting leaves


def test_forgetting_for_good_leaves_a_gap_and_no_verdict(sql: Query) -> None:
    a, b, c = notes(sql, 3, at=BIRTH)
    search, other = show(sql, [b, a, c]), show(sql, [c])
    judge(sql, "used", search, [a, c])
    sql("SELECT recall.forget(%s, true)", (a,))
    assert sql("SELECT id, shown FROM recall.search_log ORDER BY id") == [
        {"id": search, "shown": [b, None, c]},
        {"id": other, "shown": [c]},
    ]
    assert verdicts(sql) == {c: "used"}
    assert wrong(sql) == 0
    ranks = sql("SELECT rank, shown, used FROM recall.feedback_by_rank()")
    assert [tuple(row.values()) for row in ranks] == [(1, 2, 0), (3, 1, 1)]
    [told] = sql("SELECT judgements FROM recall.feedback_qrels()")
    assert [(one["id"], one["rank"]) for one in told["judgements"]] == [(b, 1), (c, 3)]


def test_archiving_leaves_everything(sql: Query) -> None:
    [a] = notes(sql, 1, at=BIRTH)
    search = show(sql, [a])
    sql("SELECT recall.forget(%s)", (a,))
    assert judge(sql, "used", search, [a]) == 1
    assert wrong(sql) == 0


def test_a_search_that_shows_what_is_just_forgotten_leaves_no_trace(database_url: str, query: Query) -> None:
    a, b = notes(query, 2, at=BIRTH)
    with as_tenant(database_url, autocommit=False) as searching:
        searching.execute("SELECT recall.log_shown(%s, NULL, %s, 'q')", ([a, b], NOW))
        query("SELECT recall.forget(%s, true)", (a,))
        searching.commit()
    assert query("SELECT shown FROM recall.search_log") == [{"shown": [a, b]}]
    assert wrong(query) == 0, "what waits to be folded is not wrong yet"
    fold_all(query)
    assert query("SELECT shown FROM recall.search_log") == [{"shown": [None, b]}]
    assert wrong(query) == 0
    assert query("SELECT count(*) FROM recall.access WHERE memory_id = %s", (a,)) == [{"count": 0}]


def test_forgetting_expiring_judging_and_folding_at_once(database_url: str, query: Query) -> None:
    turns = 12
    ids = notes(query, turns * 2, at=BIRTH)
    searches = [show(query, ids, at=NOW + place * DAY / 24) for place in range(turns)]
    doomed, staying = ids[:turns], ids[turns:]
    late, expired = NOW + 100 * DAY, ("SELECT recall.expire_searches(1, %s)", (NOW + 90.05 * DAY,))

    def run(statements: list[tuple[str, tuple[object, ...]]]) -> None:
        with as_tenant(database_url) as connection:
            connection.execute("SET deadlock_timeout = '100ms'")
            for statement, parameters in statements:
                connection.execute(statement, parameters)

    judged = [(one, late) for one in searches[turns // 2 :]]
    with ThreadPoolExecutor(5) as threads:
        jobs = [
            [("SELECT recall.forget(%s, true)", (one,)) for one in doomed],
            [("SELECT recall.used(%s, %s, %s)", (one, staying, at)) for one, at in judged],
            [("SELECT recall.rejected(%s, %s, %s)", (one, staying[::-1], at)) for one, at in judged[::-1]],
            [expired] * turns,
            [("SELECT recall.fold_accesses(1)", ())] * turns,
        ]
        list(threads.map(run, jobs))
    run([expired, expired])
    fold_all(query)
    assert query("SELECT recall.rebuild() AS wrong") == [{"wrong": 0}]
    assert query("SELECT * FROM recall_private.verification_findings('acme')") == []
    shown = query("SELECT shown FROM recall.search_log ORDER BY id")
    assert [row["shown"] for row in shown] == [[*[None] * turns, *staying]] * (turns - 2)
    assert query("SELECT count(*) FROM recall.judgement") == [{"count": turns * turns // 2}]


def test_two_that_are_forgotten_at_once_both_leave(database_url: str, query: Query) -> None:
    a, b = notes(query, 2, at=BIRTH)
    show(query, [a, b])
    with as_tenant(database_url, autocommit=False) as first, ThreadPoolExecutor(1) as thread:
        first.execute("SELECT recall.forget(%s, true)", (a,))
        second = thread.submit(query, "SELECT recall.forget(%s, true)", (b,))
        blocked(first)
        first.commit()
        second.result(timeout=PATIENCE)
    assert query("SELECT shown FROM recall.search_log") == [{"shown": [None, None]}]
