"""run_due_job: one step of a job that is due, recorded as a worker records it."""

from __future__ import annotations

from itertools import pairwise

import psycopg
import pytest

from tests.databases import Query
from tests.integration.jobs.test_jobs_runner import runs, shown

DUE = "SELECT recall.run_due_job(%s) AS ran"


def run(query: Query, *jobs: str) -> bool:
    [row] = query(DUE, (list(jobs) or None,))
    return bool(row["ran"])


def test_nothing_is_due_in_an_empty_database_but_partitions(query: Query) -> None:
    assert not run(query, "fold", "verify")
    assert run(query)
    assert not run(query)
    assert query("SELECT tenant, job FROM recall.job_run") == [{"tenant": "*", "job": "partitions"}]


def test_the_job_that_comes_first_is_run_first_and_once(query: Query) -> None:
    shown(query, "A note on the tide.")
    assert run(query, "vitality", "fold")
    assert runs(query, "job, state, done") == [("fold", "done", 1)]
    assert run(query, "vitality", "fold")
    assert not run(query, "vitality", "fold")
    assert runs(query, "job") == ["fold", "vitality"]


def test_a_step_that_leaves_something_is_followed_by_another(query: Query) -> None:
    ids = [shown(query, f"note {number}") for number in range(3)]
    query(
        "INSERT INTO recall.search_log (tenant, query, profile, shown, at) "
        "SELECT 'acme', 'q', 'balanced', '{}', now() - interval '200 days' FROM generate_series(1, 1500)"
    )
    assert run(query, "expire")
    assert run(query, "expire")
    assert not run(query, "expire")
    assert runs(query, "job, state, done") == [("expire", "stopped", 1000), ("expire", "done", 500)]
    assert len(ids) == 3


def test_a_job_that_another_session_is_at_is_left_to_it(query: Query, database_url: str) -> None:
    shown(query, "A note on the tide.")
    query("SELECT recall_private.try_lock_tenant('acme', 'job fold')")  # once there, nobody waits for its row
    with psycopg.connect(database_url) as other:
        other.execute("SELECT set_config('recall.tenant', 'acme', true)")
        other.execute("SELECT recall.begin_job('fold')")
        assert not run(query, "fold")
        other.rollback()
    assert run(query, "fold")


def test_the_tenant_of_the_transaction_stays(query: Query) -> None:
    shown(query, "A note.", tenant="globex")
    [row] = query(
        "WITH ran AS MATERIALIZED (SELECT recall.run_due_job('{verify}') AS ran) "
        "SELECT ran, current_setting('recall.tenant') AS tenant FROM ran",
        tenant="acme",
    )
    assert row == {"ran": True, "tenant": "acme"}


@pytest.mark.parametrize("jobs", [["embed"], ["fold", "polish"], [None]])
def test_other_jobs_are_refused_by_name(query: Query, jobs: list[str | None]) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="SQL cannot run all of these jobs"):
        query(DUE, (jobs,))


def test_a_transaction_that_a_tenant_leaves_open_stops_nobodys_jobs(query: Query, database_url: str) -> None:
    """A run waits a while for what somebody holds, and fails; the next tenant has its turn."""
    used = shown(query, "A note on the tide.")
    shown(query, "A note.", tenant="globex")
    [row] = query("SELECT proconfig FROM pg_proc WHERE oid = 'recall.run_due_job'::regproc")
    assert "lock_timeout=20s" in row["proconfig"]
    query("ALTER FUNCTION recall.run_due_job SET lock_timeout = '200ms'")
    with psycopg.connect(database_url) as other:
        other.execute("SELECT set_config('recall.tenant', 'acme', true)")
        other.execute("SELECT recall.pin(%s)", (used,))
        assert (run(query, "fold"), run(query, "fold"), run(query, "fold")) == (True, True, False)
        other.rollback()
    assert runs(query, "job, state, error") == [("fold", "failed", "canceling statement due to lock timeout")]
    assert runs(query, "job, state", tenant="globex") == [("fold", "done")]


def test_the_graph_is_refreshed_once_no_link_is_pending(query: Query) -> None:
    """Seven in a row: the one in the middle holds three on each side, as soon as the last link is made."""
    ids = [shown(query, f"note {number}") for number in range(7)]
    for one, other in pairwise(ids[:-1]):
        query("SELECT recall.link(%s, %s)", (one, other))
    query("UPDATE recall.memory SET key = 'last' WHERE id = %s", (ids[-1],))
    query(
        "INSERT INTO recall.pending_link (tenant, src, target, relation, weight, created_at) "
        "VALUES ('acme', %s, 'last', 'mentions', 1, now())",
        (ids[-2],),
    )
    assert [run(query, "graph") for _ in range(3)] == [True, True, False]
    assert runs(query, "job, state, counts") == [
        ("graph", "stopped", {"memories": 0, "protected": 0}),
        ("graph", "done", {"memories": 7, "protected": 1}),
    ]
    held = query("SELECT memory_id FROM recall.activation WHERE tenant = 'acme' AND protected")
    assert held == [{"memory_id": ids[3]}]
