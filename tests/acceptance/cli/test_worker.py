"""The worker as a process: beside others, stopped, cut off from its database; and jobs by command."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.jobs.catalogue import JOBS
from tests.acceptance.cli.command_tools import Command, started, without_progress
from tests.databases import Query
from tests.waiting import PATIENCE, until

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(database_url: str) -> Iterator[Start]:
    """Starts the command as a process that goes on; what is still running at the end is killed."""
    with ExitStack() as stack:

        def run(*arguments: str, **settings: str) -> subprocess.Popen[str]:
            told = {"database_url": database_url, "tenant": "acme", **settings}
            return stack.enter_context(started(*arguments, **told))

        yield run


@pytest.fixture
def hurried(query: Query) -> None:
    """Folds every tenth of a second."""
    query("INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'job.fold.minutes', '0.002')")


@pytest.fixture
def seldom(query: Query) -> None:
    """What is due every minute is so every hour: it does not come again while a test looks."""
    for name in ("fold", "embed"):
        query("INSERT INTO recall.setting VALUES ('*', %s, '60')", (f"job.{name}.minutes",))


def search(query: Query, searches: int, *, tenant: str = "acme") -> None:
    """Stores a memory and logs so many searches that have shown it, each counting as a whole use."""
    query(
        "WITH made AS (SELECT recall.remember('A note on the tide.') AS id), hit AS ("
        "  INSERT INTO recall.access (tenant, memory_id, kind, weight, at) "
        "  SELECT %(tenant)s, id, 'retrieval', 1, now() + s * interval '1 ms' "
        "  FROM made, generate_series(1, %(searches)s) s) "
        "INSERT INTO recall.access_queue (tenant, memory_ids, at) "
        "SELECT %(tenant)s, ARRAY[id], now() + s * interval '1 ms' "
        "FROM made, generate_series(1, %(searches)s) s",
        {"tenant": tenant, "searches": searches},
        tenant=tenant,
    )


def folded(query: Query) -> bool:
    return query("SELECT count(*) AS n FROM recall.access_queue") == [{"n": 0}]


def counted(query: Query) -> int:
    """How many logged searches were folded by runs that came to their end: one that has just folded the last
    has yet to say so, and would take what comes now too."""
    runs = query("SELECT done FROM recall.job_run WHERE job = 'fold' AND state = 'done'")
    return sum(run["done"] for run in runs)


def fold_waits(query: Query) -> bool:
    """Whether a fold waits for a lock in this database."""
    waiting = query(
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return any("recall.fold_accesses" in statement["query"] for statement in waiting)


def accesses(query: Query) -> list[int]:
    return [row["n"] for row in query("SELECT n FROM recall.activation ORDER BY tenant, memory_id")]


def states(query: Query, job: str) -> list[str]:
    return [r["state"] for r in query("SELECT state FROM recall.job_run WHERE job = %s ORDER BY id", (job,))]


def ended(worker: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = worker.communicate(timeout=PATIENCE)
    assert "Traceback" not in err, err
    return worker.returncode, out, without_progress(err)


def until_it_says(process: subprocess.Popen[str], words: str) -> None:
    """Reads its standard error up to the line with these words."""
    assert process.stderr is not None
    while words not in (line := process.stderr.readline()):
        assert line, f"it ended and never said {words}"


def test_a_worker_folds_and_stops_on_sigterm(start: Start, query: Query, hurried: None) -> None:
    search(query, 30)
    search(query, 12, tenant="globex")
    worker = start("worker")
    until(lambda: counted(query) == 42, "a fold of each tenant")
    search(query, 5)  # and what comes while it runs
    until(lambda: counted(query) == 47, "a fold")
    worker.send_signal(signal.SIGTERM)
    code, out, err = ended(worker)
    assert (code, out) == (0, "")
    assert sorted(accesses(query)) == [6, 13, 31]
    lines = [line for line in err.splitlines() if "job=" in line]
    form = r"[\d-]{10}T[\d:]{8}Z job=\w+ tenant=[\w*-]+ state=\w+ attempt=\d seconds=[\d.]+ done=\d+.*"
    assert all(re.fullmatch(form, line) for line in lines), err
    assert any("job=fold tenant=acme state=done" in line and "folded=30" in line for line in lines)
    assert query("SELECT FROM recall.job_run WHERE state = 'running'") == []


def test_a_worker_does_every_job_at_its_start(start: Start, query: Query) -> None:
    search(query, 3)
    worker = start("worker")
    scheduled = {job.name for job in JOBS if not (job.by_hand or job.alerts or job.backs_up or job.follows)}
    done = "SELECT job FROM recall.job_run WHERE state = 'done'"
    until(lambda: {row["job"] for row in query(done)} == scheduled, "every job")
    worker.send_signal(signal.SIGINT)
    assert ended(worker)[0] == 0
    assert query("SELECT count(*) AS n FROM recall.memory WHERE embedded_with IS NULL") == [{"n": 0}]


def test_a_worker_calls_the_alert_hook(start: Start, query: Query, tmp_path: Path) -> None:
    """An alarm that begins while it runs, and its end; the command learns nothing of the database."""
    query("INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'job.alerts.minutes', '0.002')")
    query("SELECT recall.remember('A note on the tide.')")
    log, known = tmp_path / "alerts", tmp_path / "environment"
    keep = (
        "import os, sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10)); "
        "open(sys.argv[2], 'w').write(' '.join(os.environ))"
    )
    command = shlex.join([sys.executable, "-c", keep, str(log), str(known)])
    worker = start("worker", alert_command=command)
    until(lambda: "done" in states(query, "alerts"), "a look for alarms")
    assert not log.exists()
    ran = (
        "INSERT INTO recall.job_run (tenant, job, state, started_at, finished_at, error) "
        "VALUES ('acme', 'verify', %s, now(), now(), %s)"
    )
    query(ran, ("failed", "The disk is gone."))
    until(lambda: log.exists() and log.read_text().count("\n") == 1, "an alert")
    query(ran, ("done", None))
    until(lambda: log.read_text().count("\n") == 2, "the end of the alarm")
    begun, over = (json.loads(line) for line in log.read_text().splitlines())
    assert begun["tenant"] == "acme"
    assert [alarm["kind"] for alarm in begun["raised"]] == ["verify failed"]
    assert "The disk is gone." in begun["text"]
    assert over["ended"] == [{"kind": "verify failed", "alarm": None}]
    assert not {name for name in known.read_text().split() if name.startswith("PG")}
    worker.send_signal(signal.SIGTERM)
    assert ended(worker)[0] == 0


def test_two_workers_do_everything_once(start: Start, query: Query, hurried: None) -> None:
    for tenant in ("acme", "globex", "umbrella"):
        search(query, 3000, tenant=tenant)
    workers = [start("worker"), start("worker")]
    for worker in workers:  # else one may be told to stop before it has learnt how: the other has done it all
        until_it_says(worker, "Working.")
    until(lambda: counted(query) == 9000, "a fold of each tenant")
    for tenant in ("acme", "globex", "umbrella"):
        search(query, 500, tenant=tenant)
    until(lambda: counted(query) == 10_500, "a fold of each tenant")
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    assert [ended(worker)[0] for worker in workers] == [0, 0]
    assert sorted(accesses(query)) == [501] * 3 + [3001] * 3
    [row] = query("SELECT sum(done)::int AS folded FROM recall.job_run WHERE job = 'fold'")
    assert row["folded"] == 10_500
    # A run that had begun when the worker was told to stop, and found nothing left to do, is a stopped one.
    assert set(states(query, "fold")) - {"stopped"} == {"done"}


def test_a_run_under_way_is_broken_off_and_nothing_is_lost(
    start: Start, query: Query, database_url: str
) -> None:
    search(query, 10)
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM recall.activation FOR UPDATE")  # the fold waits for this
        worker = start("worker")
        until(lambda: fold_waits(query), "a step under way")
        assert states(query, "fold") == ["running"]
        worker.send_signal(signal.SIGTERM)
        assert ended(worker)[0] == 0
    assert states(query, "fold") == ["stopped"]
    assert accesses(query) == [1]
    assert start("worker", "--once").wait(PATIENCE) == 0
    assert accesses(query) == [11]


def test_a_worker_outlives_its_connections(
    start: Start, query: Query, hurried: None, server: EmbeddedServer, database_url: str
) -> None:
    search(query, 3)
    worker = start("worker", connect_timeout="5")
    until(lambda: folded(query), "a fold")
    name = conninfo_to_dict(database_url)["dbname"]
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")  # as while a server restarts
        reading = threading.Thread(target=until_it_says, args=(worker, "state=unplanned"), daemon=True)
        reading.start()
        [own] = query("SELECT pg_backend_pid() AS pid")

        def cut_off() -> bool:
            # Again and again: one that was being made just now may have come in after all.
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
            admin.execute(end, (name, own["pid"]))
            reading.join(0.1)
            return not reading.is_alive()

        until(cut_off, "a look that came to nothing")
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    search(query, 4)
    until(lambda: folded(query), "a fold")
    worker.send_signal(signal.SIGTERM)
    assert ended(worker)[0] == 0
    assert sorted(accesses(query)) == [4, 5]


def test_once_does_what_is_due_and_ends(pgrecall_process: Command, query: Query, seldom: None) -> None:
    search(query, 5)
    first = pgrecall_process("worker", "--once", "--json", tenant="acme")
    assert first.code == 0
    documents = [json.loads(line) for line in first.out.splitlines()]
    assert {(each["job"], each["tenant"]) for each in documents} == {
        (job.name, "*" if job.whole else "acme")
        for job in JOBS
        if not (job.by_hand or job.alerts or job.backs_up or job.follows)
    }
    assert {each["state"] for each in documents} == {"done"}
    assert accesses(query) == [6]
    again = pgrecall_process("worker", "--once", "--json", tenant="acme")
    assert (again.code, again.out) == (0, "")


def test_once_says_that_a_job_failed(pgrecall_process: Command, query: Query) -> None:
    search(query, 1)
    query("SELECT recall.remember('A note of another.')", tenant="globex")
    query(
        "CREATE FUNCTION recall.breaks() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN PERFORM recall_private.raise_invalid('The words are wrong.'); END $$; "
        "CREATE TRIGGER breaks BEFORE INSERT ON recall.lexeme FOR EACH ROW "
        "WHEN (NEW.tenant = 'acme') EXECUTE FUNCTION recall.breaks()"
    )
    done = pgrecall_process("worker", "--once", tenant="acme")
    assert done.code == 1
    assert "job=statistics tenant=acme state=failed attempt=1" in done.err
    assert 'error="The words are wrong."' in done.err
    assert "job=statistics tenant=globex state=done" in done.err


def test_jobs_on_the_command_line(pgrecall: Command, query: Query, seldom: None) -> None:
    search(query, 5)
    search(query, 2, tenant="globex")

    def listed() -> dict[str, Any]:
        return {job["name"]: job for job in pgrecall("jobs", "list", "--json", tenant="acme").json}

    assert list(listed()) == [job.name for job in JOBS]
    assert {job["state"] for job in listed().values()} == {"never", "manual"}
    shown = pgrecall("jobs", "list", tenant="acme")
    assert shown.code == 0
    assert "Folds logged accesses" in " ".join(shown.out.split())
    assert pgrecall("jobs", "runs", tenant="acme").out == "No job has run yet.\n"

    done = pgrecall("jobs", "run", "fold", tenant="acme")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r"fold for acme: done, 5 folded, [\d.]+ s\.\n", done.out)
    [other] = pgrecall("jobs", "run", "fold", "--json", tenant="globex").json
    assert (other["state"], other["counts"]) == ("done", {"folded": 2})
    both = pgrecall("jobs", "run", "fold", "--all-tenants", tenant="acme")
    assert [line.split(":")[0] for line in both.out.splitlines()] == ["fold for acme", "fold for globex"]
    assert pgrecall("jobs", "run", "partitions", tenant="acme").out.startswith(
        "partitions for the database: done"
    )

    history = pgrecall("jobs", "runs", "--json", tenant="acme").json
    assert [run["job"] for run in history] == ["partitions", "fold", "fold"]
    assert [run["done"] for run in pgrecall("jobs", "runs", "fold", "--json", tenant="acme").json] == [0, 5]
    assert len(pgrecall("jobs", "runs", "-n", "1", "--json", tenant="acme").json) == 1
    assert "5 folded" in pgrecall("jobs", "runs", tenant="acme").out
    assert listed()["fold"]["state"] == "waiting"
    assert listed()["fold"]["last"]["state"] == "done"


def test_a_job_that_fails(pgrecall: Command, query: Query) -> None:
    search(query, 1)
    failed = pgrecall("jobs", "run", "embed", embedder="none", tenant="acme")
    assert (failed.code, failed.err) == (1, "")
    assert failed.out == "embed for acme: failed at attempt 1: There is no embedder to embed with.\n"
    listed = pgrecall("jobs", "list", tenant="acme")
    assert "embed failed: There is no embedder to embed with." in listed.out


def test_a_job_that_another_worker_is_at_is_skipped(pgrecall: Command, query: Query) -> None:
    query("SELECT recall.begin_job('fold')")
    done = pgrecall("jobs", "run", "fold", tenant="acme")
    assert (done.code, done.out) == (0, "fold for acme: skipped, because another worker is running it.\n")


def test_ctrl_c_ends_a_job_in_good_order(start: Start, query: Query, database_url: str) -> None:
    search(query, 205_000)
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM recall.activation FOR UPDATE")
        running = start("jobs", "run", "fold")
        until(lambda: fold_waits(query), "a step under way")
        assert states(query, "fold") == ["running"]
        running.send_signal(signal.SIGINT)
    # The step under way goes on; when it ends, no other begins, or one where the news has to wait its turn.
    code, out, err = ended(running)
    assert (code, err) == (130, "stopped\n")
    told = re.fullmatch(r"fold for acme: stopped, (\d)00,000 folded so far\.\n", out)
    assert told is not None
    assert states(query, "fold") == ["stopped"]
    assert accesses(query) == [100_000 * int(told[1]) + 1]
