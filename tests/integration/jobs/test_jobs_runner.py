"""The runner: locks between runners, failures and retries, stops, lost connections."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from threading import Event
from typing import Any

import psycopg
import pytest

from pgrecall import InvalidInput, Memory
from pgrecall.database.pool import Database
from pgrecall.jobs import worker
from pgrecall.jobs.catalogue import job_named
from pgrecall.jobs.job import Job, JobContext
from pgrecall.jobs.runner import Runner
from pgrecall.nouns.operation import Operation
from tests.databases import Query
from tests.waiting import PATIENCE, blocked, until

Made = Callable[..., Runner]


@pytest.fixture
def runner(database_url: str) -> Iterator[Made]:
    """Makes runners of the test's database that wait for nothing between attempts."""
    database = Database(database_url)
    database.open()
    yield lambda **named: Runner(database, **({"pauses": (0.0, 0.0)} | named))
    database.close()


@pytest.fixture
def queued(query: Query) -> list[int]:
    """Twenty memories of tenant ``acme``, each shown by one search that no fold has looked at."""
    return [shown(query, f"note {number}") for number in range(20)]


def shown(query: Query, body: str, *, tenant: str = "acme") -> int:
    """A memory that one search has returned, where being returned counts as a whole use."""
    query("SELECT recall.set_setting('access.weight_retrieval', 1)", tenant=tenant)
    [row] = query("SELECT recall.remember(%s) AS id", (body,), tenant=tenant)
    query(
        "WITH hit AS (INSERT INTO recall.access (tenant, memory_id, kind, weight, at) "
        "VALUES (%(tenant)s, %(id)s, 'retrieval', 1, now())) "
        "INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES (%(tenant)s, ARRAY[%(id)s], now())",
        {"tenant": tenant, "id": row["id"]},
    )
    return int(row["id"])


def waiting(query: Query) -> int:
    [row] = query("SELECT count(*) AS n FROM recall.access_queue")
    return int(row["n"])


def runs(query: Query, columns: str = "state", *, tenant: str = "acme") -> list[Any]:
    rows = query(f"SELECT {columns} FROM recall.job_runs() ORDER BY id", tenant=tenant)
    return [row[columns] if "," not in columns else tuple(row.values()) for row in rows]


def breaking(query: Query, table: str, condition: str, error: str = "RAISE 'It broke.'") -> None:
    """Makes every insert into a table fail that fits the condition."""
    query("CREATE SEQUENCE recall.tries; GRANT USAGE ON SEQUENCE recall.tries TO recall_owner")
    query(
        f"CREATE FUNCTION recall.breaks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {error}; END $$; "
        f"CREATE TRIGGER breaks BEFORE INSERT ON recall.{table} FOR EACH ROW WHEN ({condition}) "
        "EXECUTE FUNCTION recall.breaks()"
    )


def test_a_job_runs_step_by_step_and_writes_down_what_it_did(
    runner: Made, query: Query, queued: list[int]
) -> None:
    reached: list[int] = []
    made = runner(batch=8, progress=lambda _, done, __: reached.append(done))
    [outcome] = made.sweep(job_named("fold"), ["acme"])
    assert (outcome.state, outcome.done, outcome.counts) == ("done", 20, {"folded": 20})
    assert reached == [8, 16, 20]
    assert waiting(query) == 0
    assert runs(query, "state, done, counts, error") == [("done", 20, {"folded": 20}, None)]


def test_who_finds_the_lock_held_skips(runner: Made, query: Query, queued: list[int]) -> None:
    query("SELECT recall.begin_job('fold')")  # and this session goes on holding it
    [outcome] = runner().sweep(job_named("fold"), ["acme"])
    assert (outcome.state, outcome.error) == ("skipped", None)
    assert waiting(query) == 20
    assert runs(query) == ["running"]


def test_two_runners_at_once_do_everything_once(runner: Made, query: Query, queued: list[int]) -> None:
    before = Event(), Event()

    def hold(mine: Event, theirs: Event) -> Callable[[str, int], None]:
        def progress(tenant: str, done: int, of: int | None) -> None:
            mine.set()
            theirs.wait(PATIENCE)

        return progress

    states: list[str] = []

    def sweep(made: Runner, finished: Event) -> None:
        states.extend(outcome.state for outcome in made.sweep(job_named("fold"), ["acme"]))
        finished.set()

    first = threading.Thread(target=sweep, args=(runner(batch=1, progress=hold(*before)), Event()))
    first.start()
    assert before[0].wait(PATIENCE)
    sweep(runner(), before[1])
    first.join(PATIENCE)
    assert sorted(states) == ["done", "skipped"]
    assert waiting(query) == 0
    assert query("SELECT DISTINCT n FROM recall.activation") == [{"n": 2}]


def test_what_failed_is_tried_again(runner: Made, query: Query, queued: list[int]) -> None:
    breaking(query, "lexeme", "nextval('recall.tries') <= 2")
    [outcome] = runner().sweep(job_named("statistics"), ["acme"])
    assert (outcome.state, outcome.attempt, outcome.done) == ("done", 3, 20)
    assert runs(query, "state, attempt, error") == [
        ("failed", 1, "It broke."),
        ("failed", 2, "It broke."),
        ("done", 3, None),
    ]


def test_it_says_how_many_tenants_have_had_their_turn(runner: Made, queued: list[int]) -> None:
    turns: list[tuple[int, int]] = []
    runner().sweep(job_named("fold"), ["acme", "globex"], tenant_progress=lambda *turn: turns.append(turn))
    assert turns == [(0, 2), (1, 2), (2, 2)]


def test_the_failure_of_one_tenant_does_not_stop_the_others(runner: Made, query: Query) -> None:
    tenants = ["acme", "globex", "umbrella"]
    for tenant in tenants:
        shown(query, "a note", tenant=tenant)
    breaking(query, "lexeme", "NEW.tenant = 'globex'")
    outcomes = runner().sweep(job_named("statistics"), tenants)
    assert [(each.tenant, each.state, each.attempt) for each in outcomes] == [
        ("acme", "done", 1),
        ("globex", "failed", 3),
        ("umbrella", "done", 1),
    ]
    assert runs(query, tenant="globex") == ["failed"] * 3
    assert runs(query, tenant="umbrella") == ["done"]


def test_what_would_fail_again_is_not_tried_again(runner: Made, query: Query, queued: list[int]) -> None:
    reject = "PERFORM recall_private.raise_invalid('The words are wrong.', 'Mend them.')"
    breaking(query, "lexeme", "true", reject)
    [outcome] = runner().sweep(job_named("statistics"), ["acme"])
    assert (outcome.state, outcome.attempt, outcome.error) == ("failed", 1, "The words are wrong.")
    assert runs(query) == ["failed"]


def test_a_defect_in_a_job_stops_neither_the_others_nor_the_worker(
    runner: Made, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    def work(context: JobContext) -> None:
        context.report(1, good=1)
        raise ZeroDivisionError("a defect")

    outcomes = runner().sweep(Job("odd", "Breaks.", work), ["acme", "globex"])
    assert [each.state for each in outcomes] == ["failed", "failed"]
    assert runs(query, "state, done, error") == [
        ("failed", 1, "An unexpected ZeroDivisionError; see the log.")
    ]
    logged = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert ["raise ZeroDivisionError" in message for message in logged] == [True, True]


def test_a_job_may_know_another_way_when_a_step_fails(runner: Made) -> None:
    def work(context: JobContext) -> None:
        with pytest.raises(InvalidInput, match="division by zero"):
            context.execute(Operation("SELECT 1 / 0 AS n", {}, list))
        context.report(*context.execute(Operation("SELECT 7 AS n", {}, lambda rows: [rows[0]["n"]])))

    [outcome] = runner().sweep(Job("odd", "Tries twice.", work), ["acme"])
    assert (outcome.state, outcome.done) == ("done", 7)


def test_a_stop_ends_a_run_between_two_steps(runner: Made, query: Query, queued: list[int]) -> None:
    stop = Event()
    made = runner(batch=3, stop=stop, progress=lambda *_: stop.set())
    outcomes = made.sweep(job_named("fold"), ["acme", "globex"])
    assert [(each.tenant, each.state, each.done) for each in outcomes] == [("acme", "stopped", 3)]
    assert waiting(query) == 17
    assert runs(query, "state, done") == [("stopped", 3)]
    assert made.sweep(job_named("fold"), ["acme"]) == []
    [outcome] = runner().sweep(job_named("fold"), ["acme"])
    assert (outcome.state, outcome.done) == ("done", 17)


def test_a_long_statement_is_broken_off_once_the_worker_stops(runner: Made, query: Query) -> None:
    def work(context: JobContext) -> None:
        context.execute(Operation("SELECT pg_sleep(600)", {}, list))

    made = runner()
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.extend(made.sweep(Job("long", "Sleeps.", work), ["acme"])))
    thread.start()
    asleep = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
    until(lambda: query(asleep), "its sleep")
    made.stop.set()
    made.cancel()
    thread.join(PATIENCE)
    assert [outcome.state for outcome in ended] == ["stopped"]
    assert runs(query) == ["stopped"]


def test_a_stopped_worker_tries_again_to_break_off_what_runs(
    runner: Made, query: Query, queued: list[int], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "CANCEL_SECONDS", 0.1)
    made = runner()
    # As where the statement begins just after the others were broken off.
    cancel, tries = made.cancel, iter((lambda: None, lambda: None))
    monkeypatch.setattr(made, "cancel", lambda: next(tries, cancel)())
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM recall.activation FOR UPDATE")
        working = threading.Thread(target=worker.Worker(made).serve)
        working.start()
        blocked(holder)
        made.stop.set()
        working.join(PATIENCE)
        assert not working.is_alive()
    assert waiting(query) == 20


def test_a_worker_may_be_stopped_at_any_moment_of_its_start(runner: Made) -> None:
    for moment in range(30):
        made = runner()
        working = threading.Thread(target=worker.Worker(made).serve)
        working.start()
        time.sleep(moment / 400)
        made.stop.set()
        working.join(PATIENCE)
        assert not working.is_alive()  # and no thread of it raised, which pytest would tell


def test_a_lost_connection_is_replaced(runner: Made, query: Query, queued: list[int]) -> None:
    killed: list[object] = []

    def kill(tenant: str, done: int, of: int | None) -> None:
        if not killed:
            killed.extend(
                query(
                    "SELECT pg_terminate_backend(pid, 60000) FROM pg_locks JOIN pg_stat_activity USING (pid) "
                    "WHERE locktype = 'advisory' AND pid <> pg_backend_pid() AND datname = current_database()"
                )
            )

    outcomes = runner(batch=5, progress=kill).sweep(job_named("fold"), ["acme", "globex"])
    assert len(killed) == 1
    assert [(each.tenant, each.state, each.attempt) for each in outcomes] == [
        ("acme", "done", 2),
        ("globex", "done", 1),
    ]
    assert runs(query) == ["abandoned", "done"]
    assert waiting(query) == 0


def test_without_a_database_a_run_fails_with_a_sentence(runner: Made) -> None:
    database = Database("postgresql://127.0.0.1:1/none", connect_timeout=1)
    [outcome] = Runner(database, pauses=(0.0,)).sweep(job_named("fold"), ["acme"])
    assert (outcome.state, outcome.attempt) == ("failed", 2)
    assert outcome.error is not None
    assert outcome.error.startswith("Postgres cannot be reached")


def test_expired_memories_are_archived_batch_by_batch(runner: Made, query: Query, now: datetime) -> None:
    query(
        "SELECT recall.remember_many(jsonb_agg(jsonb_build_object('body', 'note ' || n, 'expires_at', "
        "'2026-05-01T00:00:00Z'::timestamptz + n * interval '1 day'))) FROM generate_series(1, 60) n"
    )
    [outcome] = runner(batch=7).sweep(job_named("expire"), ["acme"], now=now)
    assert (outcome.state, outcome.counts) == ("done", {"archived": 31})
    assert query("SELECT count(*) AS n FROM recall.memory WHERE archived_at IS NOT NULL") == [{"n": 31}]


def test_every_tenant_or_the_one_asked_for(runner: Made, query: Query) -> None:
    for tenant in ("acme", "globex"):
        shown(query, "a note", tenant=tenant)
    made = runner()
    assert made.targets(job_named("fold"), "acme") == ("acme",)
    assert made.targets(job_named("fold"), None) == ("acme", "globex")
    assert made.targets(job_named("partitions"), "acme") == ("*",)
    assert made.targets(job_named("reembed"), "acme") == ("acme", "globex")


def test_every_job_runs_in_a_small_database(memory: Memory, query: Query) -> None:
    from pgrecall.jobs.catalogue import JOBS

    for name in ("fold", "embed"):  # that are due every minute, and would be again
        query("INSERT INTO recall.setting VALUES ('*', %s, '60')", (f"job.{name}.minutes",))
    memory.remember("The tide gauge at Skarvik.", title="Tide gauge", key="gauge")
    memory.remember("It speaks of [[gauge]].", key="note")
    memory.link("note", "gauge")
    memory.record_access("gauge", "used")
    jobs = [job for job in JOBS if not (job.backs_up or job.follows)]  # which have tests of their own
    for job in jobs:
        [outcome] = memory.jobs.run(job.name)
        assert (outcome.state, outcome.error) == ("done", None), job.name
    runs = {run.job: run for run in memory.jobs.runs(limit=100)}
    assert {name: run.state for name, run in runs.items()} == {job.name: "done" for job in jobs}
    assert runs["dedupe"].counts == {"compared": 2, "planned": 0}
    assert {job.name: job.state for job in memory.jobs.list()} == {
        **{job.name: "manual" if job.by_hand else "waiting" for job in jobs}, "backup": "never",
        "import": "never",
    }  # fmt: skip


def test_a_transaction_that_a_tenant_leaves_open_stops_nobodys_jobs(
    runner: Made, query: Query, queued: list[int], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.database.session.LOCK_WAIT", "200ms")
    shown(query, "A note", tenant="globex")
    with psycopg.connect(database_url) as other:
        other.execute("SELECT set_config('recall.tenant', 'acme', true)")
        other.execute("SELECT recall.pin(%s)", (queued[0],))
        ended = runner().sweep(job_named("fold"), ["acme", "globex"])
        other.rollback()
    assert [(one.tenant, one.state, one.attempt) for one in ended] == [
        ("acme", "failed", 3), ("globex", "done", 1),
    ]  # fmt: skip
