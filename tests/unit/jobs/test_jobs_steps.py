"""Jobs without a database: those of the catalogue, their steps answered by hand, and the line of a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall import InvalidInput
from pgrecall.jobs.catalogue import JOBS, job_named, state_of
from pgrecall.jobs.job import JobContext, Stopped, Task
from pgrecall.jobs.runner import log_line
from pgrecall.jobs.worker import MAX_INTERVAL, check_interval
from pgrecall.nouns.jobs.models import JobOutcome, JobRun
from pgrecall.nouns.jobs.operations import JobRow
from pgrecall.nouns.operation import Operation

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


class Answers:
    """A connection that answers each step with the next of these, and remembers what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.left = list(answers)
        self.asked: list[Operation[Any]] = []

    def fetch(self, call: Operation[Any], *, tenant: str) -> Any:
        assert tenant == "acme"
        self.asked.append(call)
        # A step reads one column, whatever that is called, or nothing.
        answer, self.left = self.left[:1], self.left[1:]
        return [{"value": value} for value in answer]

    @property
    def names(self) -> list[str]:
        """The functions that were called, with their limits."""
        return [
            call.sql.split("recall.")[1].split("(")[0] + f" {call.parameters.get('limit', '')}".rstrip()
            for call in self.asked
        ]


def run(job: str, session: Answers, task: Task | None = None) -> JobContext:
    """What a job has done once its steps were answered so."""
    context = JobContext("acme", session, task or Task())  # type: ignore[arg-type]
    job_named(job).run(context)
    assert session.left == []
    return context


def test_fold_goes_on_until_nothing_is_left() -> None:
    session = Answers(1000, 1000, 7, 0)
    context = run("fold", session)
    assert session.names == ["fold_accesses 100000"] * 4
    assert (context.done, context.counts) == (2007, {"folded": 2007})


def test_a_smaller_batch_makes_smaller_steps() -> None:
    session = Answers(5, 2, 0, 3, 0, 4, 0)
    context = run("expire", session, Task(batch=5))
    assert session.names == (["expire_memories 5"] * 3 + ["expire_searches 5"] * 2 + ["expire_changes 5"] * 2)
    assert context.done == 14


def test_vitality_walks_by_id_and_then_takes_the_medians() -> None:
    session = Answers(40, None)
    run("vitality", session, Task(batch=10))
    assert session.names == ["refresh_vitality 10", "refresh_vitality 10", "refresh_medians"]
    assert [call.parameters["after"] for call in session.asked[:2]] == [0, 40]


def test_the_moment_given_reaches_the_steps() -> None:
    for job, answers in (("vitality", [None]), ("expire", [0, 0, 0]), ("partitions", [1])):
        session = Answers(*answers)
        run(job, session, Task(now=NOW))
        assert [call.parameters["now"] for call in session.asked] == [NOW] * len(session.asked)


def test_no_step_begins_once_a_run_is_asked_to_stop() -> None:
    session, task = Answers(5), Task()
    task.stop.set()
    with pytest.raises(Stopped):
        run("fold", session, task)
    assert session.asked == []


def test_every_job_has_a_name_of_its_own_and_a_sentence() -> None:
    assert len({job.name for job in JOBS}) == len(JOBS)
    for job in JOBS:
        assert job_named(job.name) is job
        assert job.about.endswith(".")
        assert job.about[0].isupper()


def test_an_unknown_job_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InvalidInput) as refused:
        job_named("polish")
    assert "'polish'" in refused.value.message
    for job in JOBS:
        assert job.name in refused.value.hint


def test_the_line_of_a_run() -> None:
    outcome = JobOutcome("fold", "acme", "done", 1, 12, {"folded": 12}, seconds=0.03149)
    assert log_line(outcome) == "job=fold tenant=acme state=done attempt=1 seconds=0.031 done=12 folded=12"


@given(st.text(), st.text())
def test_no_tenant_and_no_error_breaks_the_line(tenant: str, error: str) -> None:
    line = log_line(JobOutcome("fold", tenant, "failed", error=error))
    assert len(line.splitlines()) == 1
    assert line.isascii()
    written = line.split(" error=", 1)[1]
    assert error == (json.loads(written) if written.startswith('"') else written)


@pytest.mark.parametrize(
    ("minutes", "tick"),
    [(None, None), (0.5, 30.0), (1, 60.0), (15, MAX_INTERVAL), (1440, MAX_INTERVAL), (1e-9, 0.05)],
)
def test_how_often_a_worker_looks(minutes: float | None, tick: float | None) -> None:
    assert check_interval(minutes) == tick


def row(state: str | None, minutes: float | None, late: timedelta | None = None) -> JobRow:
    finished = None if state == "running" else NOW
    run = JobRun(1, "acme", "fold", state, NOW, finished, 1, 0, {}, None) if state else None  # type: ignore[arg-type]
    return JobRow("fold", minutes, None if late is None else NOW - late, run, NOW)


@pytest.mark.parametrize(
    ("given_row", "state"),
    [
        (row(None, None), "manual"),
        (row(None, 0), "off"),
        (row(None, 15), "never"),
        (row("running", 15, timedelta(hours=9)), "running"),
        (row("failed", 15, timedelta(hours=-1)), "failed"),
        (row("failed", None), "failed"),
        (row("done", 15, timedelta(minutes=-1)), "waiting"),
        (row("done", 15, timedelta()), "due"),
        (row("stopped", 15, timedelta(minutes=20)), "due"),
        (row("done", 15, timedelta(minutes=21)), "overdue"),
        (row("done", 0, None), "off"),
    ],
)
def test_where_a_job_stands(given_row: JobRow, state: str) -> None:
    assert state_of(given_row) == state
