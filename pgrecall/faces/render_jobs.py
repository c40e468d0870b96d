"""Jobs and their runs on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pgrecall.faces.snippets import printable
from pgrecall.models import Check, JobOutcome, JobRun, JobStatus

_STYLES = {
    "done": "green", "waiting": "green", "running": "cyan", "due": "cyan", "never": "yellow",
    "overdue": "red", "failed": "red", "stopped": "yellow", "abandoned": "yellow", "skipped": "yellow",
    "off": "bright_black", "manual": "bright_black",
}  # fmt: skip


def show_jobs(console: Console, jobs: Sequence[JobStatus]) -> None:
    """A table of jobs; beneath, the errors of those that failed."""
    table = _table("job", "every", "last run", "next run", "state", "what it does")
    for job in jobs:
        last = _moment(job.last.started_at) if job.last else "never"
        following = _moment(job.due_at) if job.due_at else ""
        table.add_row(job.name, interval_words(job.minutes), last, following, _state(job.state), job.about)
    console.print(table)
    for job in jobs:
        if job.state == "failed" and job.last is not None:
            console.print(f"{job.name} failed: {printable(job.last.error or '')}", soft_wrap=True)


def show_runs(console: Console, runs: Sequence[JobRun]) -> None:
    """A table of runs, with the error of each that failed beneath it."""
    if not runs:
        console.print("Nothing has run yet.")
        return
    table = _table("id", "job", "tenant", "state", "began", "took", "did")
    for run in runs:
        took = (
            "" if run.finished_at is None else f"{(run.finished_at - run.started_at).total_seconds():.2f} s"
        )
        state = _state(run.state)
        if run.attempt > 1:
            state.append(f" (attempt {run.attempt})", style="dim")
        did = printable(f"{counts_words(run.done, run.counts)} {run.error or ''}".strip())
        table.add_row(
            str(run.id), run.job, printable(run.tenant), state, _moment(run.started_at), took, Text(did)
        )
    console.print(table)


def show_outcomes(console: Console, outcomes: Sequence[JobOutcome]) -> None:
    """What became of a job for each tenant, in a line each."""
    if not outcomes:
        console.print("There is no tenant to run it for.")
    for outcome in outcomes:
        whom = "the database" if outcome.tenant == "*" else outcome.tenant
        console.print(printable(f"{outcome.job} for {whom}: {_told(outcome)}"), soft_wrap=True)


def show_checks(console: Console, tenant: str, checks: Sequence[Check]) -> None:
    """What does not hold of a tenant's data: how often, and some of what breaks it."""
    for check in checks:
        some = ", ".join(check.examples)
        more = ", ..." if check.problems > len(check.examples) else ""
        console.print(
            printable(f"  {check.name}: {check.problems:,} of {tenant} ({some}{more}). {check.about}"),
            soft_wrap=True,
        )


def show_verified(console: Console, verified: Mapping[str, Sequence[Check]]) -> None:
    """A table of what breaks a check, for each tenant; a line when nothing does."""
    for tenant, checks in verified.items():
        if broken := [check for check in checks if check.problems]:
            table = _table("check", "problems", "such as", "what should hold")
            for check in broken:
                some = printable(", ".join(check.examples))
                table.add_row(check.name, f"{check.problems:,}", some, check.about)
            console.print(printable(f"{tenant}: {len(broken)} of {len(checks)} checks fail."), soft_wrap=True)
            console.print(table)
        else:
            console.print(printable(f"{tenant}: {len(checks)} checks, no problem."), soft_wrap=True)
    if not verified:
        console.print("There is no tenant to verify.")


def _told(outcome: JobOutcome) -> str:
    match outcome.state:
        case "done":
            return f"done, {counts_words(outcome.done, outcome.counts)}, {outcome.seconds:.2f} s."
        case "stopped":
            return f"stopped, {counts_words(outcome.done, outcome.counts)} so far."
        case "skipped":
            return "skipped, another worker is running it."
        case "failed":
            return f"failed at attempt {outcome.attempt}: {outcome.error}"


def counts_words(done: int, counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items()) or f"{done:,} done"


def interval_words(minutes: float | None) -> str:
    if minutes is None:
        return "by hand"
    if minutes == 0:
        return "off"
    if minutes < 1:
        return f"{minutes * 60:g} s"
    return f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:g} h"


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _state(state: str) -> Text:
    return Text(state, style=_STYLES.get(state, ""))


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
