"""Jobs without a database: the flows of the catalogue, answered by hand, and how runs are told."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall import InvalidInput
from pgrecall.jobs.catalogue import JOBS, job_named, state_of
from pgrecall.jobs.job import JobFlow, Progress, Task
from pgrecall.jobs.runner import line_of
from pgrecall.jobs.worker import LONGEST_TICK, tick_of
from pgrecall.models.jobs import JobOutcome, JobRun
from pgrecall.operations.jobs import JobRow
from pgrecall.operations.operation import Operation

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def drive(flow: JobFlow, *answers: Any) -> tuple[list[str], Progress]:
    """What a flow asks for when it is answered so, and the sum of its progress."""
    left, asked = list(answers), []
    done, counts = 0, {}
    answer: Any = None
    while True:
        try:
            step = flow.send(answer)
        except StopIteration:
            assert left == []
            return asked, Progress(done, counts)
        if isinstance(step, Progress):
            done, answer = done + step.done, None
            counts = {name: counts.get(name, 0) + count for name, count in step.counts.items()}
        else:
            assert isinstance(step, Operation)
            asked.append(step.sql.split("recall.")[1].split("(")[0] + f" {step.parameters.get('limit', '')}")
            answer = left.pop(0)


def test_fold_goes_on_until_nothing_is_left() -> None:
    asked, progress = drive(job_named("fold").flow(Task()), 1000, 1000, 7, 0)
    assert asked == ["fold_accesses 100000"] * 4
    assert progress == Progress(2007, {"folded": 2007})


def test_a_smaller_batch_makes_smaller_steps() -> None:
    asked, progress = drive(job_named("expire").flow(Task(batch=5)), 5, 2, 0, 3, 0)
    assert asked == ["expire_memories 5"] * 3 + ["expire_searches 5"] * 2
    assert progress.done == 10


def test_vitality_walks_by_id_and_then_takes_the_medians() -> None:
    flow = job_named("vitality").flow(Task(batch=10))
    first = next(flow)
    assert isinstance(first, Operation)
    assert first.parameters["after"] == 0
    assert isinstance(flow.send(40), Progress)
    second = flow.send(None)
    assert isinstance(second, Operation)
    assert second.parameters["after"] == 40
    last = flow.send(None)
    assert isinstance(last, Operation)
    assert "refresh_medians" in last.sql
    with pytest.raises(StopIteration):
        flow.send(None)


def test_the_moment_given_reaches_the_steps() -> None:
    for name in ("vitality", "expire", "partitions"):
        step = next(job_named(name).flow(Task(now=NOW)))
        assert isinstance(step, Operation)
        assert step.parameters["now"] == NOW


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
    assert line_of(outcome) == "job=fold tenant=acme state=done attempt=1 seconds=0.031 done=12 folded=12"


@given(st.text(), st.text())
def test_no_tenant_and_no_error_breaks_the_line(tenant: str, error: str) -> None:
    line = line_of(JobOutcome("fold", tenant, "failed", error=error))
    assert len(line.splitlines()) == 1
    assert line.isascii()
    written = line.split(" error=", 1)[1]
    assert error == (json.loads(written) if written.startswith('"') else written)


@pytest.mark.parametrize(
    ("minutes", "tick"),
    [(None, None), (0.5, 30.0), (1, 60.0), (15, LONGEST_TICK), (1440, LONGEST_TICK), (1e-9, 0.05)],
)
def test_how_often_a_worker_looks(minutes: float | None, tick: float | None) -> None:
    assert tick_of(minutes) == tick


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
