"""Jobs: run here and now, and what became of those that ran."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING

from pgrecall import operations
from pgrecall.client.driver import Driver
from pgrecall.database.pool import Database
from pgrecall.jobs.catalogue import job_named
from pgrecall.jobs.runner import Runner
from pgrecall.jobs.status import standings
from pgrecall.search.embed.embedder import Embedder
from pgrecall.workflows import Aside, Flow

if TYPE_CHECKING:
    from pgrecall.jobs.steps import Job
    from pgrecall.models.jobs import JobOutcome, JobRun, JobStatus


class Working(Driver):
    """The upkeep that a worker does by itself, and that can be asked for."""

    def run_job(
        self,
        name: str,
        *,
        all_tenants: bool = False,
        now: datetime | None = None,
        stop: Event | None = None,
        progress: Callable[[str, int], None] = lambda *_: None,
    ) -> list[JobOutcome]:
        """Runs a job for this tenant, three times at most; what became of it, for each tenant it ran for.

        Args:
            all_tenants: for each of them. Jobs of the whole database, and those that make sense for all
                tenants only, always do so.
            now: the moment that vitality and expiry are computed for.
            stop: once set, the run ends after the step it is at.
            progress: called with the tenant and how much is done, in the thread that does the work.

        Raises:
            InvalidInput: there is no job of this name.
        """
        sweep = _Sweep(
            job_named(name),
            None if all_tenants else self.tenant,
            self._job_database,
            self.embedder,
            now,
            stop or Event(),
            progress,
        )
        return self._drive(sweep.flow())

    def job_runs(self, name: str | None = None, *, limit: int = 20) -> tuple[JobRun, ...]:
        """The newest runs of one job, or of all, for this tenant and for the whole database; newest first.

        Raises:
            InvalidInput: there is no job of this name.
        """
        return self._run(operations.jobs.job_runs(job_named(name).name if name is not None else None, limit))

    def jobs(self, *, now: datetime | None = None) -> tuple[JobStatus, ...]:
        """Every job with its interval, its newest run, and where it stands."""
        return self._drive(standings(now))


@dataclass(slots=True)
class _Sweep:
    """A job run by hand: in threads and over connections of its own, whatever the client's colour."""

    job: Job
    tenant: str | None
    database: Callable[[], AbstractContextManager[Database]]
    embedder: Embedder | None
    now: datetime | None
    stop: Event
    progress: Callable[[str, int], None]
    runner: Runner | None = None

    def flow(self) -> Flow[list[JobOutcome]]:
        outcomes: list[JobOutcome] = yield Aside(self._work, self._give_up)
        return outcomes

    def _work(self) -> list[JobOutcome]:
        with self.database() as database:
            self.runner = Runner(database, embedder=self.embedder, stop=self.stop, progress=self.progress)
            return self.runner.sweep(self.job, self.runner.targets(self.job, self.tenant), now=self.now)

    def _give_up(self) -> None:
        self.stop.set()
        if self.runner is not None:
            self.runner.cancel()
