"""Commands of upkeep: the worker, and jobs one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.faces.cli.base import DONE, INTERRUPTED, AllowSuperuser, AsJson, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context, Exit, Option
from pgrecall.faces.cli.json_output import plain, to_text
from pgrecall.faces.cli.progress import Progress
from pgrecall.faces.cli.rendering.jobs import show_checks, show_jobs, show_outcomes, show_runs
from pgrecall.faces.cli.run_log import run_log
from pgrecall.faces.cli.values import parse_moment
from pgrecall.faces.shutdown import stop_on_signals
from pgrecall.models.jobs import JobOutcome
from pgrecall.models.maintenance import Check
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall import Memory
    from pgrecall.search.embed.embedder import Embedder

FAILED = 1
LARGEST_N = 1000

job_commands = CommandGroup("Upkeep: which jobs there are, what they did, and running one.")


def worker(
    context: Context,
    once: Annotated[bool, Option("--once", help="Run what is due one time, then exit.")] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print a JSON document for each run, one a line.")
    ] = False,
    allow_superuser: AllowSuperuser = False,
) -> None:
    """Run every job at its interval until SIGTERM or Ctrl-C; any number of workers share the work.

    Standard error has a line for each run.
    """
    from pgrecall.faces.privileges import say_who_serves
    from pgrecall.jobs.worker import Worker

    given = globals_of(context)
    allowed = allow_superuser or given.settings().allow_superuser
    with stop_on_signals() as stop, given.opened() as memory, run_log(as_json):
        say_who_serves(memory.service.caller(), allowed=allowed)
        working = Worker(memory.jobs.runner(embedder=_embedder(given.settings()), stop=stop))
        if once:
            failed = any(outcome.state == "failed" for outcome in working.once())
            raise Exit(FAILED if failed else DONE)
        notes().print("Working. SIGTERM or Ctrl-C stops the worker.")
        working.serve()
        notes().print("stopped")


@job_commands.add("list")
def list_(
    context: Context,
    as_json: AsJson = False,
    now: Annotated[str | None, Option(help="The moment to tell what is due for.")] = None,
) -> None:
    """Every job: what it does, how often, when it ran last, and where it stands."""
    moment = parse_moment(now, "--now")
    with globals_of(context).opened() as memory:
        jobs = memory.jobs.list(now=moment)
    if as_json:
        output().out(to_text(jobs))
    else:
        show_jobs(output(), jobs)


@job_commands.add("run")
def run(
    context: Context,
    name: Annotated[str, Argument(help="The job; `pgrecall job list` has their names.")],
    all_tenants: Annotated[
        bool, Option("--all-tenants", help="For every tenant, not only the one of --tenant.")
    ] = False,
    as_json: AsJson = False,
    now: Annotated[str | None, Option(help="The moment to compute vitality and expiry for.")] = None,
) -> None:
    """Run a job here and now, unless a worker is at it. Exit code 1 when it failed."""
    from pgrecall.jobs.catalogue import job_named

    job, moment = job_named(name), parse_moment(now, "--now")
    done: dict[str, int] = {}
    with (
        stop_on_signals() as stop,
        globals_of(context).opened(embeds=job.embeds) as memory,
        Progress(job.name, "done", None) as bar,
    ):

        def reached(tenant: str, so_far: int) -> None:
            done[tenant] = so_far
            bar.reached(sum(done.values()))

        outcomes = memory.jobs.run(name, all_tenants=all_tenants, now=moment, stop=stop, progress=reached)
        found = _findings(memory, outcomes, moment)
    if as_json:
        document = [{**plain(outcome), **_of(found, outcome)} for outcome in outcomes]
        output().out(to_text(document))
    else:
        show_outcomes(output(), outcomes)
        for tenant, checks in found.items():
            show_checks(output(), tenant, checks)
    if stop.is_set():
        notes().print("stopped")
        raise Exit(INTERRUPTED)
    if any(outcome.state == "failed" for outcome in outcomes):
        raise Exit(FAILED)


@job_commands.add("history")
def history(
    context: Context,
    name: Annotated[str | None, Argument(help="Of this job only.")] = None,
    limit: Annotated[int, Option("-n", help="At most so many, 1 to 1000.")] = 20,
    as_json: AsJson = False,
) -> None:
    """What jobs did for this tenant and for the whole database, newest first."""
    from pgrecall.jobs.catalogue import job_named

    if name is not None:
        job_named(name)
    if not 1 <= limit <= LARGEST_N:
        raise InvalidInput(f"-n is {limit}; it must lie between 1 and {LARGEST_N:,}.")
    with globals_of(context).opened() as memory:
        runs = memory.jobs.runs(name, limit=limit)
    if as_json:
        output().out(to_text(runs))
    else:
        show_runs(output(), runs)


def _findings(
    memory: Memory, outcomes: Sequence[JobOutcome], now: datetime | None
) -> dict[str, tuple[Check, ...]]:
    """What a verification that was not in vain has found, by tenant: the job itself keeps counts alone."""
    return {
        outcome.tenant: tuple(
            check for check in memory.for_tenant(outcome.tenant).maintenance.verify(now=now) if check.problems
        )
        for outcome in outcomes
        if outcome.job == "verify" and outcome.counts.get("problems")
    }


def _of(found: Mapping[str, tuple[Check, ...]], outcome: JobOutcome) -> dict[str, object]:
    return {"findings": plain(found.get(outcome.tenant, ()))} if outcome.job == "verify" else {}


def _embedder(settings: Settings) -> Embedder | None:
    """The worker's embedder. Without the extra it needs, all jobs but those that embed still run."""
    from pgrecall.search.embed.embedder import make_embedder

    try:
        return make_embedder(settings)
    except MissingExtra as error:
        notes().print(f"Nothing will be embedded: {error}")
        return None
