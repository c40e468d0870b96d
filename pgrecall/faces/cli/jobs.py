"""Commands about jobs: list, run, runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from pgrecall.faces.cli.console import Progress, notes, output, plain, print_json
from pgrecall.faces.cli.invocation import FAILED, INTERRUPTED, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import all_tenants_option, json_option, limit_option, now_option
from pgrecall.faces.cli.rendering.jobs import show_checks, show_jobs, show_outcomes, show_runs
from pgrecall.faces.cli.worker import stop_on_signals
from pgrecall.models.jobs import JobOutcome
from pgrecall.models.maintenance import Check

if TYPE_CHECKING:
    from pgrecall.client import Memory


@click.group("jobs", cls=CommandGroup)
def jobs() -> None:
    """List the jobs of maintenance, run one, and show past runs."""


@jobs.command("list")
@json_option
@now_option
@pass_globals
def list_(given: GlobalOptions, as_json: bool, now: datetime | None) -> None:
    """List every job: what it does, how often, when it ran last, and its state."""
    with given.opened() as memory:
        found = memory.jobs(now=now)
    if as_json:
        print_json(found)
    else:
        show_jobs(output(), found)


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
    done: dict[str, int] = {}
    with (
        stop_on_signals() as stop,
        given.opened(embeds=job.embeds) as memory,
        Progress(job.name, "done", None) as bar,
    ):

        def reached(tenant: str, so_far: int) -> None:
            done[tenant] = so_far
            bar.reached(sum(done.values()))

        outcomes = memory.run_job(name, all_tenants=all_tenants, now=now, stop=stop, progress=reached)
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


@jobs.command("runs")
@click.argument("name", metavar="[JOB]", required=False, help="Show only runs of this job.")
@limit_option(20, 1000, "runs")
@json_option
@pass_globals
def runs(given: GlobalOptions, name: str | None, limit: int, as_json: bool) -> None:
    """Show past runs for this tenant and for the whole database, newest first."""
    from pgrecall.jobs.catalogue import job_named

    if name is not None:
        job_named(name)
    with given.opened() as memory:
        found = memory.job_runs(name, limit=limit)
    if as_json:
        print_json(found)
    else:
        show_runs(output(), found)


def _findings(
    memory: Memory, outcomes: Sequence[JobOutcome], now: datetime | None
) -> dict[str, tuple[Check, ...]]:
    """The failed checks of a verification, by tenant: the job itself stores only their number."""
    return {
        outcome.tenant: tuple(
            check for check in memory.for_tenant(outcome.tenant).verify(now=now) if check.problems
        )
        for outcome in outcomes
        if outcome.job == "verify" and outcome.counts.get("problems")
    }


def _findings_of(found: Mapping[str, tuple[Check, ...]], outcome: JobOutcome) -> dict[str, object]:
    return {"findings": plain(found.get(outcome.tenant, ()))} if outcome.job == "verify" else {}
