"""Runs of jobs in the database: the lock, the row, what is due, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from pgrecall import InvalidInput
from pgrecall.database.pool import Database
from pgrecall.jobs.catalogue import JOBS
from pgrecall.nouns.operation import Operation
from tests.databases import Query
from tests.waiting import until

pytestmark = pytest.mark.in_turns

START = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def other(database_url: str) -> Iterator[Query]:
    """Another session of the same database, as tenant ``acme``."""
    with psycopg.connect(database_url, row_factory=dict_row, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        yield lambda sql, parameters=None: connection.execute(sql, parameters).fetchall()


def begin(run: Query, job: str = "fold", *, at: datetime = START, **named: Any) -> int | None:
    [row] = run(
        "SELECT recall.begin_job(%s, p_whole_database => %s, p_now => %s) AS id",
        (job, named.get("whole", False), at),
        **({"tenant": named["tenant"]} if "tenant" in named else {}),
    )
    return row["id"]


def end(run: Query, number: int | None, state: str = "done", *, at: datetime = START, **named: Any) -> bool:
    error = "It broke." if state == "failed" else None
    [row] = run(
        "SELECT recall.end_job(%s, %s, 7, '{\"folded\": 7}', %s, %s, %s) AS ended",
        (number, state, error, named.get("whole", False), at),
        **({"tenant": named["tenant"]} if "tenant" in named else {}),
    )
    return bool(row["ended"])


def states(run: Query) -> list[str]:
    return [row["state"] for row in run("SELECT state FROM recall.job_runs()")]


def due(run: Query, at: datetime, job: str = "fold", *, whole: bool = False) -> list[str]:
    return [r["t"] for r in run("SELECT * FROM recall.due_tenants(%s, %s, %s) AS t", (job, whole, at))]


def test_a_run_holds_its_lock_from_begin_to_end(query: Query, other: Query) -> None:
    run = begin(query)
    assert begin(other) is None
    assert begin(other, "graph") is not None
    assert end(query, run)
    assert begin(other) is not None


def test_the_same_job_of_two_tenants_and_of_the_database_do_not_exclude_each_other(
    query: Query, other: Query
) -> None:
    assert begin(query, tenant="globex") is not None
    assert begin(query, whole=True) is not None
    assert begin(other) is not None


def test_a_run_is_returned_with_all_it_did(query: Query) -> None:
    run = begin(query)
    query("SELECT recall.report_job(%s, 3, '{\"folded\": 3}')", (run,))
    [row] = query("SELECT * FROM recall.job_runs('fold')")
    assert (row["state"], row["done"], row["counts"], row["finished_at"]) == (
        "running",
        3,
        {"folded": 3},
        None,
    )
    assert end(query, run, at=START + timedelta(seconds=2))
    [row] = query("SELECT * FROM recall.job_runs('fold')")
    assert row == {
        "id": run, "tenant": "acme", "job": "fold", "state": "done", "started_at": START,
        "finished_at": START + timedelta(seconds=2), "attempt": 1, "done": 7, "counts": {"folded": 7},
        "error": None,
    }  # fmt: skip
    assert query("SELECT * FROM recall.job_runs('graph')") == []


def test_a_run_ends_once(query: Query) -> None:
    run = begin(query)
    assert end(query, run, "failed")
    assert not end(query, run)
    query("SELECT recall.report_job(%s, 99, '{}')", (run,))
    [row] = query("SELECT * FROM recall.job_runs()")
    assert (row["state"], row["error"], row["done"]) == ("failed", "It broke.", 7)


def test_a_run_that_was_killed_is_abandoned_at_once_and_marked_by_the_next(
    query: Query, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as killed:
        killed.execute("SELECT set_config('recall.tenant', 'acme', false)")
        killed.execute("SELECT recall.begin_job('fold')")
        assert states(query) == ["running"]
    # The server notices in a moment that the connection is gone.
    until(lambda: states(query) == ["abandoned"], "the end of its session")
    assert query("SELECT state FROM recall.job_run") == [{"state": "running"}]
    assert begin(query) is not None
    assert [row["state"] for row in query("SELECT state FROM recall.job_run ORDER BY id")] == [
        "abandoned",
        "running",
    ]


def test_runs_of_other_tenants_stay_theirs(query: Query) -> None:
    end(query, begin(query, tenant="globex"), tenant="globex")
    end(query, begin(query, "partitions", whole=True), whole=True)
    assert [row["job"] for row in query("SELECT job FROM recall.job_runs()")] == ["partitions"]


def test_the_newest_thousand_runs_are_kept(query: Query) -> None:
    query(
        "INSERT INTO recall.job_run (tenant, job, state, started_at, finished_at) "
        "SELECT t, 'fold', 'done', now(), now() "
        "FROM generate_series(1, 1100), unnest(ARRAY['acme', 'globex']) t"
    )
    newest = begin(query)
    end(query, newest)
    [row] = query("SELECT count(*) AS kept, max(id) AS newest FROM recall.job_run WHERE tenant = 'acme'")
    assert row == {"kept": 1000, "newest": newest}
    assert query("SELECT count(*) AS n FROM recall.job_run WHERE tenant = 'globex'") == [{"n": 1100}]


@pytest.mark.parametrize("state", ["running", "abandoned", "perfect", None])
def test_a_run_cannot_end_in_a_state_that_is_no_end(query: Query, state: str | None) -> None:
    run = begin(query)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="A run cannot end as"):
        query("SELECT recall.end_job(%s, %s, 0, '{}')", (run, state))


@pytest.mark.parametrize(
    "counts",
    ["[]", "3", "null", '"x"', '{"a": "3"}', '{"a": [1]}', '{"a": 0.5}', '{"a": 1e300}', '{"a": null}',
     json.dumps({"x" * 101: 1}), json.dumps({str(n): n for n in range(101)})],
)  # fmt: skip
@pytest.mark.parametrize("call", ["report_job(%s, 3, %s)", "end_job(%s, 'done', 3, %s)"])
def test_counts_are_whole_numbers_by_name(query: Query, call: str, counts: str) -> None:
    run = begin(query)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="The counts of a run"):
        query(f"SELECT recall.{call}", (run, counts))
    [row] = query("SELECT * FROM recall.job_runs('fold')")
    assert (row["state"], row["done"], row["counts"]) == ("running", 0, {})


def test_a_run_keeps_ten_thousand_characters_of_its_error(query: Query) -> None:
    run = begin(query)
    query("SELECT recall.end_job(%s, 'failed', 0, '{}', %s)", (run, "x" * 1_000_000))
    [row] = query("SELECT * FROM recall.job_runs('fold')")
    assert row["error"] == "x" * 10_000


@pytest.mark.parametrize("job", ["", None, "x" * 101])
def test_a_job_has_a_name(query: Query, job: str | None) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="The name of a job has 1 to 100"):
        query("SELECT recall.begin_job(%s)", (job,))


def test_figures_for_everybody_name_known_jobs_alone(query: Query) -> None:
    known = sorted(job.name for job in JOBS)
    for job in (*known, "the merger with globex", "fold\n", 'a"b'):
        end(query, begin(query, job, whole=job in ("backup", "partitions")))
    [row] = query("SELECT recall.census() -> 'jobs' AS jobs")
    assert [job["job"] for job in row["jobs"]] == known


def test_tenants_are_those_with_memories_searches_or_waiting_accesses(query: Query) -> None:
    assert query("SELECT * FROM recall.tenants()") == []
    for tenant in ("globex", "acme", "acme"):
        query("SELECT recall.remember('A note.')", tenant=tenant)
    query("INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES ('umbrella', '{1}', now())")
    query("SELECT recall.log_shown('{}', p_query => 'q')", tenant="hooli")
    owners = [row["t"] for row in query("SELECT t FROM recall.tenants() t")]
    assert owners == ["acme", "globex", "hooli", "umbrella"]


def test_a_job_is_due_an_interval_after_it_began(query: Query) -> None:
    query("SELECT recall.remember('A note.')")
    assert due(query, START) == ["acme"]
    end(query, begin(query))
    assert due(query, START) == []
    assert due(query, START + timedelta(seconds=20)) == []
    assert due(query, START + timedelta(seconds=30)) == ["acme"]
    assert due(query, START, "vitality") == ["acme"]


def test_what_was_broken_off_is_due_at_once_and_what_failed_soon(query: Query) -> None:
    query("SELECT recall.remember('A note.')")
    end(query, begin(query, "prune"), "stopped")
    assert due(query, START, "prune") == ["acme"]
    end(query, begin(query, "prune"), "failed")
    assert due(query, START, "prune") == []
    assert due(query, START + timedelta(minutes=10), "prune") == ["acme"]
    end(query, begin(query, "prune"))
    assert due(query, START + timedelta(hours=23), "prune") == []
    assert due(query, START + timedelta(hours=24), "prune") == ["acme"]


def test_who_waited_longest_comes_first(query: Query) -> None:
    for tenant, minutes in (("acme", 3), ("globex", 1), ("umbrella", 2)):
        query("SELECT recall.remember('A note.')", tenant=tenant)
        end(query, begin(query, at=START + timedelta(minutes=minutes), tenant=tenant), tenant=tenant)
    query("SELECT recall.remember('A note.')", tenant="zeta")
    assert due(query, START + timedelta(hours=1)) == ["zeta", "globex", "umbrella", "acme"]


def test_intervals_are_settings_and_0_switches_a_job_off(query: Query) -> None:
    def configure(minutes: float, tenant: str) -> None:
        query(
            "INSERT INTO recall.setting (tenant, name, value) "
            "VALUES (%s, 'job.fold.minutes', %s::text::jsonb) "
            "ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value",
            (tenant, minutes),
        )

    def pace() -> float | None:
        [row] = query("SELECT recall.shortest_job_interval('fold') AS minutes")
        minutes: float | None = row["minutes"]
        return minutes

    for tenant in ("acme", "globex"):
        query("SELECT recall.remember('A note.')", tenant=tenant)
    assert pace() == 0.5
    configure(0, "globex")
    assert (due(query, START), pace()) == (["acme"], 0.5)
    configure(0, "*")
    assert (due(query, START), pace()) == ([], None)
    configure(3, "globex")
    assert (due(query, START), pace()) == (["globex"], 3)


def test_a_job_of_the_whole_database_is_due_without_tenants(query: Query) -> None:
    assert due(query, START, "partitions", whole=True) == ["*"]
    end(query, begin(query, "partitions", whole=True), whole=True)
    assert due(query, START, "partitions", whole=True) == []


def test_the_state_of_jobs_in_the_order_asked_for(query: Query) -> None:
    end(query, begin(query))
    rows = query(
        "SELECT * FROM recall.job_states(ARRAY['reembed', 'fold', 'partitions'], ARRAY['partitions'], %s)",
        (START,),
    )
    assert [(r["job"], r["minutes"], r["due_at"]) for r in rows] == [
        ("reembed", None, None),
        ("fold", 0.5, START + timedelta(seconds=30)),
        ("partitions", 1440, None),
    ]
    assert rows[1]["last"]["state"] == "done"
    assert rows[0]["last"] is rows[2]["last"] is None


def call(sql: str) -> Operation[Any]:
    return Operation(sql, {}, list)


def test_a_session_keeps_its_connection_and_translates_errors(database_url: str) -> None:
    with Database(database_url).session() as session:
        first = session.fetch(call("SELECT recall.begin_job('fold') AS id"), tenant="acme")
        with pytest.raises(InvalidInput, match="name of a job"):
            session.fetch(call("SELECT recall.begin_job('')"), tenant="acme")
        again = session.fetch(call("SELECT state FROM recall.job_runs()"), tenant="acme")
        assert (len(first), again) == (1, [{"state": "running"}])
