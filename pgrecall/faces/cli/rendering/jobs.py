"""Jobs and their runs on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.text import Text

from pgrecall.faces.cli.console import SafeConsole, styled, table
from pgrecall.models.jobs import JobOutcome, JobRun, JobStatus
from pgrecall.models.maintenance import Check

_STYLES = {
    "done": "green", "waiting": "green", "running": "cyan", "due": "cyan", "never": "yellow",
    "overdue": "red", "failed": "red", "stopped": "yellow", "abandoned": "yellow", "skipped": "yellow",
    "off": "bright_black", "manual": "bright_black",
}  # fmt: skip


def show_jobs(console: SafeConsole, jobs: Sequence[JobStatus]) -> None:
    """A table of jobs; beneath, the errors of those that failed."""
    rows = table("job", "every", "last run", "next run", "state", "purpose")
    for job in jobs:
        last = _moment(job.last.started_at) if job.last else "never"
        following = _moment(job.due_at) if job.due_at else ""
        rows.add_row(job.name, interval_words(job.minutes), last, following, _state(job.state), job.about)
    console.print(rows)
    for job in jobs:
        if job.state == "failed" and job.last is not None:
            console.print(f"{job.name} failed: {job.last.error or ''}")


def show_runs(console: SafeConsole, runs: Sequence[JobRun]) -> None:
    """A table of runs, with the error of each that failed beneath it."""
    if not runs:
        console.print("Nothing has run yet.")
        return
    rows = table("id", "job", "tenant", "state", "started", "took", "result")
    for run in runs:
        took = (
            "" if run.finished_at is None else f"{(run.finished_at - run.started_at).total_seconds():.2f} s"
        )
        attempt = f" (attempt {run.attempt})" if run.attempt > 1 else ""
        state = _state(run.state) + styled((attempt, "dim"))
        result = f"{counts_words(run.done, run.counts)} {run.error or ''}".strip()
        rows.add_row(str(run.id), run.job, run.tenant, state, _moment(run.started_at), took, result)
    console.print(rows)


def show_outcomes(console: SafeConsole, outcomes: Sequence[JobOutcome]) -> None:
    """The outcome of a job, a line for each tenant."""
    if not outcomes:
        console.print("There is no tenant to run it for.")
    for outcome in outcomes:
        target = "the database" if outcome.tenant == "*" else outcome.tenant
        console.print(f"{outcome.job} for {target}: {_result(outcome)}")


def show_checks(console: SafeConsole, tenant: str, checks: Sequence[Check]) -> None:
    """Failed checks of a tenant: how many problems, with examples."""
    for check in checks:
        some = ", ".join(check.examples)
        more = ", ..." if check.problems > len(check.examples) else ""
        console.print(
            f"  {check.name}: {check.problems:,} of {tenant} ({some}{more}). {check.about}",
        )


def show_verified(console: SafeConsole, verified: Mapping[str, Sequence[Check]]) -> None:
    """A table of failed checks for each tenant; a line where none fails."""
    for tenant, checks in verified.items():
        if broken := [check for check in checks if check.problems]:
            rows = table("check", "problems", "examples", "what should hold")
            for check in broken:
                some = ", ".join(check.examples)
                rows.add_row(check.name, f"{check.problems:,}", some, check.about)
            console.print(f"{tenant}: {len(broken)} of {len(checks)} checks fail.")
            console.print(rows)
        else:
            console.print(f"{tenant}: {len(checks)} checks, no problem.")
    if not verified:
        console.print("There is no tenant to verify.")


def _result(outcome: JobOutcome) -> str:
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
    return styled((state, _STYLES.get(state, "")))
