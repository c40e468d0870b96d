"""Jobs: run here and now, and what became of those that ran."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Event

from pgrecall.client.driver import Driver
from pgrecall.jobs import Runner, job_named, standings
from pgrecall.models import JobOutcome, JobRun, JobStatus
from pgrecall.operations.jobs import job_runs
from pgrecall.search.embedding import Embedder


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
            progress: called with the tenant and how much is done.

        Raises:
            InvalidInput: there is no job of this name.
        """
        job = job_named(name)
        runner = self.runner(stop=stop, progress=progress)
        return runner.sweep(job, runner.targets(job, None if all_tenants else self.tenant), now=now)

    def job_runs(self, name: str | None = None, *, limit: int = 20) -> tuple[JobRun, ...]:
        """The newest runs of one job, or of all, for this tenant and for the whole database; newest first.

        Raises:
            InvalidInput: there is no job of this name.
        """
        return self._run(job_runs(job_named(name).name if name is not None else None, limit))

    def jobs(self, *, now: datetime | None = None) -> tuple[JobStatus, ...]:
        """Every job with its interval, its newest run, and where it stands."""
        return self._drive(standings(now))

    def runner(
        self,
        *,
        embedder: Embedder | None = None,
        stop: Event | None = None,
        progress: Callable[[str, int], None] = lambda *_: None,
    ) -> Runner:
        """What runs jobs of all tenants of this database, with this embedder or the client's own."""
        return Runner(self._database, embedder=embedder or self.embedder, stop=stop, progress=progress)
