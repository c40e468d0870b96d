"""The command worker: runs jobs until a signal stops it, and logs each run."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Protocol

import click
from click.exceptions import Exit

from pgrecall.errors import InvalidInput, MissingExtra, RecallError
from pgrecall.faces.cli.commands.cells import fleet_of
from pgrecall.faces.cli.commands.serve import require_http_packages
from pgrecall.faces.cli.invocation import (
    DONE,
    FAILED,
    GlobalOptions,
    allow_superuser_option,
    pass_globals,
    require_unprivileged,
    tracing_is_set_up,
)
from pgrecall.faces.cli.rendering.console import notes, plain
from pgrecall.faces.ending import GRACE, stop_on_signals
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall import Memory
    from pgrecall.cells.fleet import Fleet
    from pgrecall.faces.cli.cell_workers import CellWorkers
    from pgrecall.jobs.job import FolderHook
    from pgrecall.jobs.worker import Worker
    from pgrecall.nouns.service.models import Census
    from pgrecall.search.embed.embedder import Embedder


@click.command("worker")
@click.option("--once", is_flag=True, help="Run each job that is due once, then exit.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each run.")
@click.option("--host", default="127.0.0.1", help="With --port: address of this machine to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Also answer /metrics, /healthz and /readyz at this port; 0 takes a free one.",
)
@click.option(
    "--cell", "number", type=int, metavar="CELL", help="With PGRECALL_CELLS: serve this cell; by default all."
)
@allow_superuser_option
@pass_globals
def worker(
    given: GlobalOptions,
    once: bool,
    as_json: bool,
    host: str,
    port: int | None,
    number: int | None,
    allow_superuser: bool,
) -> None:
    """Run every job at its interval until SIGTERM or Ctrl-C. Several workers share the work.

    Logs a line for each run to standard error. With PGRECALL_CELLS it serves every cell; one that does not
    answer is tried again each minute.
    """
    from pgrecall.jobs.worker import Worker

    if port is not None:
        if once:
            raise InvalidInput("--once ends too soon to serve --port.", hint="Leave one of them out.")
        require_http_packages()
    settings = given.settings()
    allowed = allow_superuser or settings.allow_superuser
    fleet = fleet_of(given)
    if fleet is not None:
        if settings.watch:
            raise InvalidInput(
                "PGRECALL_WATCH follows folders for one tenant, and this worker serves all cells.",
                hint="Give it to a worker with PGRECALL_DATABASE_URL, or use `pgrecall import --watch`.",
            )
        with stop_on_signals(grace=GRACE) as stop, run_log(as_json), runs_traced():
            workers = _cell_workers(fleet, settings, stop, only=number, allowed=allowed)
            if once:
                raise Exit(DONE if workers.run_once() else FAILED)
            _serve_cells(workers, host, port)
        return
    if number is not None:
        raise InvalidInput("--cell needs a directory of cells.", hint="Set PGRECALL_CELLS, or leave it out.")
    with stop_on_signals(grace=GRACE) as stop, given.opened() as memory, run_log(as_json), runs_traced():
        require_unprivileged(memory.service.caller(), allowed=allowed)
        runner = memory.jobs.runner(
            embedder=_embedder(settings), stop=stop, folders=folder_hook(memory, settings)
        )
        runner.require_session()
        working = Worker(runner)
        if once:
            failed = any(outcome.state == "failed" for outcome in working.run_once())
            raise Exit(FAILED if failed else DONE)
        notes().print("Working. SIGTERM or Ctrl-C stops the worker.")
        with _endpoint(host, port, _WatchedWorker(working, memory)):
            working.serve()
        notes().print("stopped")


def folder_hook(memory: Memory, settings: Settings) -> FolderHook | None:
    """What the job ``import`` calls; None if no folder is configured."""
    if not settings.watch:
        return None
    from pgrecall.faces.watched_folders import WatchedFolders

    return WatchedFolders(memory, settings.watch)


def _cell_workers(
    fleet: Fleet, settings: Settings, stop: Event, *, only: int | None, allowed: bool
) -> CellWorkers:
    """The workers of all cells, or of one."""
    from pgrecall.faces.cli.cell_workers import CellWorkers, WorkerOptions

    def check(memory: Memory) -> None:
        require_unprivileged(memory.service.caller(), allowed=allowed)

    return CellWorkers(fleet, WorkerOptions(settings, _embedder(settings), stop, check), only)


def _serve_cells(workers: CellWorkers, host: str, port: int | None) -> None:
    """Serves the jobs of cells until a signal comes."""
    numbers = ", ".join(str(entry.number) for entry in workers.cells())
    notes().print(f"Working in cells {numbers}. SIGTERM or Ctrl-C stops the worker.")
    with _endpoint(host, port, workers):
        workers.serve()
    notes().print("stopped")


class _Watched(Protocol):
    """What an endpoint shows of a worker."""

    def problems(self) -> list[str]: ...

    def pool_stats(self) -> dict[str, int]: ...

    def census(self) -> Census: ...


@dataclass(frozen=True, slots=True)
class _WatchedWorker:
    """The worker of one database."""

    worker: Worker
    memory: Memory

    def problems(self) -> list[str]:
        return self.worker.problems()

    def pool_stats(self) -> dict[str, int]:
        return self.memory.pool_stats()

    def census(self) -> Census:
        return self.memory.service.census()


@contextmanager
def _endpoint(host: str, port: int | None, watched: _Watched) -> Iterator[None]:
    """Metrics and probes of the worker over HTTP, if a port is given."""
    if port is None:
        yield
        return
    from pgrecall.faces.http.endpoint import metrics_endpoint
    from pgrecall.faces.telemetry.census import CensusCache
    from pgrecall.faces.telemetry.metrics import RunMetrics
    from pgrecall.faces.telemetry.telemetry import runs_observed

    def report(error: RecallError) -> None:
        logging.getLogger("pgrecall.jobs").warning("The census failed: %s", type(error).__name__)

    metrics = RunMetrics()
    metrics.register_pool(watched.pool_stats)
    census = CensusCache(lambda: asyncio.to_thread(watched.census), report)
    with (
        runs_observed(metrics.observe_run),
        metrics_endpoint(host, port, metrics, watched.problems, census.get) as address,
    ):
        notes().print(f"Metrics and probes: {address}")
        yield


def runs_traced() -> AbstractContextManager[None]:
    """Makes a span of each run of a job inside the block, where OpenTelemetry is set up."""
    if not tracing_is_set_up():
        return nullcontext()
    from pgrecall.faces.telemetry.telemetry import runs_observed
    from pgrecall.faces.telemetry.tracing import Tracing

    return runs_observed(Tracing().record_run)


def _embedder(settings: Settings) -> Embedder | None:
    """The worker's embedder. If its extra is missing, all jobs but those that embed still run."""
    from pgrecall.search.embed.factory import make_embedder

    try:
        return make_embedder(settings)
    except MissingExtra as error:
        notes().print(f"Nothing will be embedded: {error}")
        return None


@contextmanager
def run_log(as_json: bool) -> Iterator[None]:
    """Logs runs of jobs to standard error; with ``as_json``, outcomes to standard output instead."""
    logger = logging.getLogger("pgrecall.jobs")
    # It would warn whenever a check for due jobs was skipped because one was under way.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    lines = logging.StreamHandler(sys.stderr)
    form = logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    form.converter = time.gmtime
    lines.setFormatter(form)
    handlers: list[logging.Handler] = [lines]
    if as_json:
        documents = logging.StreamHandler(sys.stdout)
        documents.setFormatter(_Document())
        documents.addFilter(lambda record: hasattr(record, "outcome"))
        lines.addFilter(lambda record: not hasattr(record, "outcome"))
        handlers.append(documents)
    level = logger.level
    logger.setLevel(logging.INFO)
    for handler in handlers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.setLevel(level)
        for handler in handlers:
            logger.removeHandler(handler)


class _Document(logging.Formatter):
    """The outcome of a record as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(plain(record.__dict__["outcome"]), ensure_ascii=False)
