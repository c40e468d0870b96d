"""Jobs and their runs on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pgrecall.faces.cli.folding import Piece
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.models.jobs import JobOutcome, JobRun, JobStatus
from pgrecall.models.maintenance import Check

_STYLES = {
    "done": "green", "waiting": "green", "running": "cyan", "due": "cyan", "never": "yellow",
    "overdue": "red", "failed": "red", "stopped": "yellow", "abandoned": "yellow", "skipped": "yellow",
    "off": "bright_black", "manual": "bright_black",
}  # fmt: skip


def show_jobs(terminal: Terminal, jobs: Sequence[JobStatus]) -> None:
    """A table of jobs; beneath, the errors of those that failed."""
    table = Table("job", "every", "last run", "next run", "state", "what it does")
    for job in jobs:
        last = _moment(job.last.started_at) if job.last else "never"
        following = _moment(job.due_at) if job.due_at else ""
        table.add_row(job.name, interval_words(job.minutes), last, following, _state(job.state), job.about)
    terminal.show(table)
    for job in jobs:
        if job.state == "failed" and job.last is not None:
            terminal.print(f"{job.name} failed: {job.last.error or ''}", soft_wrap=True)


def show_runs(terminal: Terminal, runs: Sequence[JobRun]) -> None:
    """A table of runs, with the error of each that failed beneath it."""
    if not runs:
        terminal.print("Nothing has run yet.")
        return
    table = Table("id", "job", "tenant", "state", "began", "took", "did")
    for run in runs:
        took = (
            "" if run.finished_at is None else f"{(run.finished_at - run.started_at).total_seconds():.2f} s"
        )
        attempt = f" (attempt {run.attempt})" if run.attempt > 1 else ""
        state = [_state(run.state), (attempt, "dim")]
        did = f"{counts_words(run.done, run.counts)} {run.error or ''}".strip()
        table.add_row(str(run.id), run.job, run.tenant, state, _moment(run.started_at), took, did)
    terminal.show(table)


def show_outcomes(terminal: Terminal, outcomes: Sequence[JobOutcome]) -> None:
    """What became of a job for each tenant, in a line each."""
    if not outcomes:
        terminal.print("There is no tenant to run it for.")
    for outcome in outcomes:
        whom = "the database" if outcome.tenant == "*" else outcome.tenant
        terminal.print(f"{outcome.job} for {whom}: {_told(outcome)}", soft_wrap=True)


def show_checks(terminal: Terminal, tenant: str, checks: Sequence[Check]) -> None:
    """What does not hold of a tenant's data: how often, and some of what breaks it."""
    for check in checks:
        some = ", ".join(check.examples)
        more = ", ..." if check.problems > len(check.examples) else ""
        terminal.print(
            f"  {check.name}: {check.problems:,} of {tenant} ({some}{more}). {check.about}",
            soft_wrap=True,
        )


def show_verified(terminal: Terminal, verified: Mapping[str, Sequence[Check]]) -> None:
    """A table of what breaks a check, for each tenant; a line when nothing does."""
    for tenant, checks in verified.items():
        if broken := [check for check in checks if check.problems]:
            table = Table("check", "problems", "such as", "what should hold")
            for check in broken:
                some = ", ".join(check.examples)
                table.add_row(check.name, f"{check.problems:,}", some, check.about)
            terminal.print(f"{tenant}: {len(broken)} of {len(checks)} checks fail.", soft_wrap=True)
            terminal.show(table)
        else:
            terminal.print(f"{tenant}: {len(checks)} checks, no problem.", soft_wrap=True)
    if not verified:
        terminal.print("There is no tenant to verify.")


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


def _state(state: str) -> Piece:
    return state, _STYLES.get(state, "")
