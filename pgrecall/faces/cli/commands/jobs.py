"""Commands about jobs: list, run, runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit
from rich.text import Text

from pgrecall.faces.cli.commands.worker import folder_hook, runs_traced
from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import FAILED, INTERRUPTED, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import all_tenants_option, json_option, now_option
from pgrecall.faces.cli.rendering.console import (
    Progress,
    SafeConsole,
    notes,
    output,
    plain,
    print_json,
    styled,
    table,
)
from pgrecall.faces.ending import stop_on_signals
from pgrecall.faces.wording import counts_words, interval_words
from pgrecall.nouns.jobs._sync import JobsGroup
from pgrecall.nouns.jobs.models import JobOutcome, JobRun, JobStatus
from pgrecall.nouns.maintenance.models import Check

if TYPE_CHECKING:
    from pgrecall import Memory

_STYLES = {
    "done": "green", "waiting": "green", "running": "cyan", "due": "cyan", "never": "yellow",
    "overdue": "red", "failed": "red", "stopped": "yellow", "abandoned": "yellow", "skipped": "yellow",
    "off": "bright_black", "manual": "bright_black",
}  # fmt: skip


@click.group("jobs", cls=CommandGroup)
def jobs() -> None:
    """List maintenance jobs, run one, and show past runs."""


@jobs.command("run")
@click.argument("name", metavar="JOB", help="Name of the job, as in `pgrecall jobs list`.")
@all_tenants_option
@json_option
@now_option
@pass_globals
def run(given: GlobalOptions, name: str, all_tenants: bool, as_json: bool, now: datetime | None) -> None:
    """Run a job now, unless a worker is running it. Exit code 1 when it failed."""
    from pgrecall.jobs.catalogue import job_named

    job = job_named(name)
    unit = "memories" if job.embeds else "done"
    several = all_tenants or job.joint
    with (
        stop_on_signals() as stop,
        runs_traced(),
        given.opened(embeds=job.embeds) as memory,
        Progress(job.name, "tenants" if several else unit, None) as bar,
    ):

        def reached(tenant: str, so_far: int, of: int | None) -> None:
            if several:
                share = f"{so_far:,}" if of is None else f"{so_far:,} of {of:,}"
                bar.reached(bar.count, detail=f"; {tenant}: {share} {unit}")
            else:
                bar.reached(so_far, of)

        def tenant_progress(had: int, of: int) -> None:
            if several:
                bar.reached(had, of)

        outcomes = memory.jobs.run(
            name,
            all_tenants=all_tenants,
            now=now,
            stop=stop,
            progress=reached,
            tenant_progress=tenant_progress,
            folders=folder_hook(memory, given.settings()),
        )
        found = _findings(memory, outcomes, now)
    if as_json:
        print_json([{**plain(outcome), **_findings_of(found, outcome)} for outcome in outcomes])
    else:
        show_outcomes(output(), outcomes)
        for tenant, checks in found.items():
            show_checks(output(), tenant, checks)
    if stop.is_set():
        notes().print("stopped")
        raise Exit(INTERRUPTED)
    if any(outcome.state == "failed" for outcome in outcomes):
        raise Exit(FAILED)


def _findings(
    memory: Memory, outcomes: Sequence[JobOutcome], now: datetime | None
) -> dict[str, tuple[Check, ...]]:
    """The failed checks of a verification, by tenant: the job itself stores only their number."""
    return {
        outcome.tenant: tuple(
            check for check in memory.for_tenant(outcome.tenant).maintenance.verify(now=now) if check.problems
        )
        for outcome in outcomes
        if outcome.job == "verify" and outcome.counts.get("problems")
    }


def _findings_of(found: Mapping[str, tuple[Check, ...]], outcome: JobOutcome) -> dict[str, object]:
    return {"findings": plain(found.get(outcome.tenant, ()))} if outcome.job == "verify" else {}


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
        console.print("No job has run yet.")
        return
    rows = table("id", "job", "tenant", "state", "started", "took", "result")
    for run in runs:
        took = (
            "" if run.finished_at is None else f"{(run.finished_at - run.started_at).total_seconds():.2f} s"
        )
        attempt = f" (attempt {run.attempt})" if run.attempt > 1 else ""
        state = _state(run.state) + styled((attempt, "dim"))
        result = ": ".join(filter(None, (counts_words(run.done, run.counts), run.error)))
        rows.add_row(str(run.id), run.job, run.tenant, state, _moment(run.started_at), took, result)
    console.print(rows)


def show_outcomes(console: SafeConsole, outcomes: Sequence[JobOutcome]) -> None:
    """The outcome of a job, a line for each tenant."""
    if not outcomes:
        console.print("There is no tenant with memories.")
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


def _result(outcome: JobOutcome) -> str:
    match outcome.state:
        case "done":
            return f"done, {counts_words(outcome.done, outcome.counts)}, {outcome.seconds:.2f} s."
        case "stopped":
            return f"stopped, {counts_words(outcome.done, outcome.counts)} so far."
        case "skipped":
            return "skipped, because another worker is running it."
        case "failed":
            return f"failed at attempt {outcome.attempt}: {outcome.error}"


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _state(state: str) -> Text:
    return styled((state, _STYLES.get(state, "")))


add_commands(
    jobs,
    "list run runs",
    command("list", JobsGroup.list, show_jobs),
    command("runs", JobsGroup.runs, show_runs, arguments=["name"]),
    of=JobsGroup,
)
