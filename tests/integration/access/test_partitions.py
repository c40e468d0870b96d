"""Where the log is written: a partition a month; a search's rows in one statement that touches nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import Memory
from tests.databases import Query
from tests.integration.access.use_tools import as_tenant, fold_all, note, rebuild, record, state
from tests.waiting import PATIENCE, blocked

DAY = timedelta(days=1)
FAR = datetime(2131, 11, 20, tzinfo=UTC)
"""A month that no installation has made a partition for, nor will soon."""


def make(sql: Query, now: datetime, ahead: int = 3) -> int:
    return int(sql("SELECT recall.make_access_partitions(%s, %s) AS made", (now, ahead))[0]["made"])


def partitions(sql: Query) -> dict[str, str]:
    """The partitions and what each is for."""
    rows = sql(
        "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i "
        "JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'recall.access'::regclass"
    )
    return {row["relname"]: row["bound"] for row in rows}


def places(sql: Query) -> list[tuple[str, datetime]]:
    """Where the uses lie that were recorded, by time of arrival."""
    rows = sql(
        "SELECT tableoid::regclass::text AS place, recorded_at FROM recall.access "
        "WHERE kind <> 'write' ORDER BY recorded_at, id"
    )
    return [(row["place"].removeprefix("recall."), row["recorded_at"]) for row in rows]


# Partitions


def test_a_new_database_has_this_month_and_the_next_three(sql: Query) -> None:
    """This month is that of its installation, hence that of a moment within the run."""
    first = min(partitions(sql).keys() - {"access_default"})
    [row] = sql(
        "SELECT array_agg('access_' || to_char(m, 'YYYY_MM')) AS names FROM generate_series(0, 3) n, LATERAL "
        "(SELECT to_date(%s, '\"access_\"YYYY_MM') + make_interval(months => n)) x(m)",
        (first,),
    )
    assert set(partitions(sql)) == {"access_default", *row["names"]}
    [now] = sql("SELECT now() AS now")
    this, last = (f"access_{now['now'] - ago:%Y_%m}" for ago in (timedelta(0), timedelta(hours=3)))
    assert first in (this, last)
    assert make(sql, now["now"]) == (0 if first == this else 1)


def test_months_are_made_once_and_end_where_the_next_begins(sql: Query) -> None:
    sql("SET LOCAL timezone = 'Pacific/Auckland'")
    assert (make(sql, FAR), make(sql, FAR), make(sql, FAR + 20 * DAY)) == (4, 0, 1)
    sql("SET LOCAL timezone = 'UTC'")
    bounds = partitions(sql)
    assert (
        bounds["access_2131_12"] == "FOR VALUES FROM ('2131-12-01 00:00:00+00') TO ('2132-01-01 00:00:00+00')"
    )
    assert {"access_2131_11", "access_2132_01", "access_2132_02", "access_2132_03"} <= set(bounds)


def test_an_access_lies_in_the_month_of_its_arrival(sql: Query) -> None:
    make(sql, FAR)
    memory = note(sql)
    arrivals = [FAR, FAR + 10 * DAY, FAR + 11 * DAY]
    for at in arrivals:
        record(sql, [{"memory_id": memory, "at": FAR - 300 * DAY}], at)
    assert places(sql) == list(
        zip(["access_2131_11", "access_2131_11", "access_2131_12"], arrivals, strict=True)
    )


def test_what_no_partition_was_for_moves_when_its_month_is_made(sql: Query) -> None:
    memory = note(sql)
    arrivals = [FAR - 40 * DAY, FAR, FAR + 10 * DAY, FAR + 11 * DAY, FAR + 400 * DAY]
    for at in arrivals:
        record(sql, [{"memory_id": memory, "session_id": "s", "idempotency_key": str(at)}], at)
    assert {place for place, _ in places(sql)} == {"access_default"}
    before = sql("SELECT * FROM recall.access ORDER BY id")
    assert make(sql, FAR, 1) == 2
    assert [place for place, _ in places(sql)] == [
        "access_default", "access_2131_11", "access_2131_11", "access_2131_12", "access_default",
    ]  # fmt: skip
    assert sql("SELECT * FROM recall.access ORDER BY id") == before
    assert (rebuild(sql), state(sql, memory)["n"]) == (0, 6)
    assert record(sql, [{"memory_id": memory, "idempotency_key": str(FAR)}], FAR + 12 * DAY) == 0


def test_a_partition_is_like_the_table(sql: Query) -> None:
    make(sql, FAR, 0)
    rows = sql(
        "SELECT tablename, regexp_replace(indexdef, 'INDEX \\S+ ON \\S+', '') AS made_of FROM pg_indexes "
        "WHERE schemaname = 'recall' AND tablename IN ('access_default', 'access_2131_11')"
    )
    made_of = {
        row["tablename"]: {r["made_of"] for r in rows if r["tablename"] == row["tablename"]} for row in rows
    }
    assert made_of["access_2131_11"] == made_of["access_default"]
    assert len(made_of["access_default"]) == 4
    with pytest.raises(psycopg.errors.CheckViolation):
        sql("INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at) "
            "VALUES ('acme', 1, 'glance', 1, now(), %s)", (FAR,))  # fmt: skip


def test_others_go_on_while_somebody_keeps_the_log_from_being_free(database_url: str, query: Query) -> None:
    """A reader's open transaction, of whichever tenant, keeps it for as long as the reader likes."""
    memory = note(query)
    making = "SELECT recall.make_access_partitions(%s, 1)"
    with (
        as_tenant(database_url) as reader,
        as_tenant(database_url) as maker,
        as_tenant(database_url) as writer,
        ThreadPoolExecutor(1) as threads,
    ):
        with reader.transaction():
            reader.execute("SELECT recall.accesses_of(%s)", (memory,))
            made = threads.submit(lambda: maker.execute(making, (FAR,)).fetchall())
            blocked(reader)
            writer.execute("SET lock_timeout = '5s'")
            for _ in range(5):
                writer.execute("SELECT recall.record_access(%s)", (memory,))
        assert made.result(timeout=PATIENCE) == [(2,)]


def test_many_may_make_partitions_while_accesses_arrive(database_url: str, query: Query) -> None:
    memory = note(query)

    def make_some(_: int) -> int:
        with as_tenant(database_url) as connection:
            [row] = connection.execute("SELECT recall.make_access_partitions(%s, 5)", (FAR,)).fetchall()
            return int(row[0])

    def use(_: int) -> None:
        with as_tenant(database_url) as connection:
            for day in range(25):
                call = "SELECT recall.record_access(%s, p_now => %s)"
                connection.execute(call, (memory, FAR + 9 * day * DAY))

    with ThreadPoolExecutor(6) as threads:
        using = [threads.submit(use, worker) for worker in range(3)]
        made = list(threads.map(make_some, range(3)))
        for job in using:
            job.result(timeout=PATIENCE)
    assert sorted(made) == [0, 0, 6]
    assert state(query, memory)["n"] == 76
    in_default = {at for place, at in places(query) if place == "access_default"}
    assert all(at >= datetime(2132, 5, 1, tzinfo=UTC) for at in in_default)
    assert rebuild(query) == 0


@pytest.mark.parametrize("moment", ["infinity", "-infinity", None])
def test_partitions_need_a_moment(sql: Query, moment: str | None) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="it must be a moment"):
        sql("SELECT recall.make_access_partitions(%s)", (moment,))


# What a search writes

SEARCH = (
    "SELECT * FROM recall.search_and_log(jsonb_build_object("
    "'query', 'harbour', 'k', %s::int, 'session_id', %s::text), p_now => %s)"
)
ROWS = (
    "SELECT 'memory' AS kind, id, xmin::text, xmax::text, ctid::text FROM recall.memory "
    "UNION ALL SELECT 'activation', memory_id, xmin::text, xmax::text, ctid::text FROM recall.activation "
    "ORDER BY 1, 2"
)


def harbours(query: Query, many: int, now: datetime) -> list[int]:
    return [
        int(query("SELECT recall.remember(%s, p_now => %s) AS id", (f"harbour {place}", now - DAY))[0]["id"])
        for place in range(many)
    ]


def test_a_search_writes_what_it_shows_in_one_row_each_and_one_for_the_fold(
    query: Query, now: datetime
) -> None:
    ids = harbours(query, 5, now)
    rows = query(ROWS)
    hits = query(SEARCH, (3, "s", now))
    assert query(ROWS) == rows  # not a memory nor an activation was changed, or locked
    shown = query("SELECT * FROM recall.access WHERE kind <> 'write' ORDER BY id")
    assert sorted(row["memory_id"] for row in shown) == sorted(hit["id"] for hit in hits)
    assert set(ids) > {hit["id"] for hit in hits}
    assert len(shown) == 3
    facts = {(row["kind"], row["weight"], row["at"], row["recorded_at"], row["session_id"]) for row in shown}
    assert facts == {("retrieval", 0.1, now, now, "s")}
    [waiting] = query("SELECT memory_ids, at FROM recall.access_queue")
    assert (sorted(waiting["memory_ids"]), waiting["at"]) == (sorted(hit["id"] for hit in hits), now)
    assert fold_all(query) == 1
    assert {round(state(query, hit["id"])["credit"], 9) for hit in hits} == {0.1}


def test_a_search_waits_for_no_lock(database_url: str, query: Query, now: datetime) -> None:
    harbours(query, 2, now)
    with as_tenant(database_url, autocommit=False) as other:
        other.execute("SELECT FROM recall.memory FOR UPDATE")
        other.execute("SELECT FROM recall.activation FOR UPDATE")
        assert (
            len(
                query(
                    "SELECT set_config('lock_timeout', '5s', true), x.id FROM (" + SEARCH + ") x",
                    (5, None, now),
                )
            )
            == 2
        )


def test_a_logged_search_answers_as_a_search_does(query: Query, now: datetime) -> None:
    harbours(query, 6, now)
    plain = query("SELECT * FROM recall.search('harbour', p_k => 4, p_now => %s)", (now,))
    logged = query(SEARCH, (4, None, now))
    for row in logged:
        shown = (row["hit_ground"], logged[0]["search_ground"])
        explained = (
            "SELECT recall.hit_explanation(%s::recall.hit_ground, %s::recall.search_ground) AS explanation"
        )
        row |= query(explained, shown)[0]
    assert [{name: row[name] for name in plain[0]} for row in logged] == plain
    assert {row["search_id"] for row in logged} == {query("SELECT id FROM recall.search_log")[0]["id"]}


def test_a_search_without_hits_logs_that_nothing_was_shown(query: Query, now: datetime) -> None:
    harbours(query, 1, now)
    [row] = query("""SELECT * FROM recall.search_and_log('{"query": "lighthouse"}', p_now => %s)""", (now,))
    assert row["id"] is None
    assert query("SELECT id, shown FROM recall.search_log") == [{"id": row["search_id"], "shown": []}]
    assert query("SELECT 1 FROM recall.access_queue") == []
    assert query("SELECT 1 FROM recall.access WHERE kind <> 'write'") == []


def test_a_search_of_a_session_id_that_is_too_long_is_refused(query: Query, now: datetime) -> None:
    harbours(query, 1, now)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="The session id has 1001 bytes"):
        query(SEARCH, (3, "s" * 1001, now))
    assert query("SELECT 1 FROM recall.access_queue") == []


def test_shown_ten_times_is_one_access_and_a_burst_of_them_a_tenth(
    memory: Memory, query: Query, now: datetime
) -> None:
    stored = memory.remember("the harbour contract", key="a").id
    start = query("SELECT now() AS now")[0]["now"]
    for turn in range(10):
        query(SEARCH, (3, None, start + turn * DAY))
        query(SEARCH, (3, "s", start + timedelta(seconds=turn)))
    fold_all(query)
    row: dict[str, Any] = state(query, stored)
    assert (row["n"], round(row["credit"], 9)) == (2, 0.1)
