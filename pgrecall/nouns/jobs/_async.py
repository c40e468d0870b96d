"""``memory.jobs``: work in threads over their own connections."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import Count, declared
from pgrecall.nouns.jobs.models import JobOutcome, JobRun, JobStatus
from pgrecall.nouns.operation import rows_of

if TYPE_CHECKING:
    from pgrecall.database.async_pool import AsyncDatabase
    from pgrecall.jobs.job import FolderHook
    from pgrecall.jobs.runner import Runner
    from pgrecall.search.embed.embedder import Embedder


class AsyncJobsGroup(AsyncGroup):
    """Maintenance jobs, which a worker runs and which can be run by hand."""

    async def run(
        self,
        name: str,
        *,
        all_tenants: bool = False,
        now: datetime | None = None,
        stop: Event | None = None,
        progress: Callable[[str, int, int | None], None] = lambda *_: None,
        tenant_progress: Callable[[int, int], None] = lambda *_: None,
        folders: FolderHook | None = None,
    ) -> builtins.list[JobOutcome]:
        """Runs a job for this tenant, up to three times until it succeeds.

        Args:
            name: the job; :meth:`list` names them all.
            all_tenants: run it for every tenant. Jobs of the whole database always do.
            now: time to use instead of the database's clock for vitality and expiry.
            stop: once set, the run ends after its current step.
            progress: called with the tenant, how much is done, and of how much if that is known, in the
                thread that does the work.
            tenant_progress: called in that thread with the number of tenants that are done, and of all.
            folders: called by the job ``import``, which needs it.

        Returns:
            The last outcome for each tenant it ran for.

        Raises:
            InvalidInput: there is no job of this name.
        """
        from pgrecall.jobs.catalogue import job_named

        job = job_named(name)
        if all_tenants:
            runner = self.runner(stop=stop, progress=progress, folders=folders)
        else:
            database = await self._connection.tenant_database()
            runner = self._runner_in(database, stop=stop, progress=progress, folders=folders)
        tenant = None if all_tenants else self._connection.tenant

        def work() -> builtins.list[JobOutcome]:
            return runner.sweep(job, runner.targets(job, tenant), now=now, tenant_progress=tenant_progress)

        def give_up() -> None:
            runner.stop.set()
            runner.cancel()

        try:
            return await self._connection.run(work, give_up)
        finally:
            self._connection.note_write()

    @declared("jobs", "GET /v1/jobs")
    async def list(self, *, now: datetime | None = None) -> tuple[JobStatus, ...]:
        """Lists every job: what it does, how often, when it ran last, and its state.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            The state of each job.
        """
        from pgrecall.jobs.catalogue import job_statuses, states_of_jobs

        return job_statuses(await self._connection.execute(states_of_jobs(now)))

    @declared("job_runs", "GET /v1/jobs/runs")
    async def runs(self, name: str | None = None, *, limit: Count = 20) -> tuple[JobRun, ...]:
        """Lists the newest runs for this tenant and for the whole database, newest first.

        Args:
            name: only runs of this job.
            limit: maximum number of runs.

        Returns:
            Each run with its outcome, and its error if it failed.

        Raises:
            InvalidInput: there is no job of this name.
        """
        from pgrecall.jobs.catalogue import job_named

        job = job_named(name).name if name is not None else None
        return await self._connection.execute(rows_of("job_runs", JobRun, job=job, limit=limit))

    def runner(
        self,
        *,
        embedder: Embedder | None = None,
        stop: Event | None = None,
        progress: Callable[[str, int, int | None], None] = lambda *_: None,
        folders: FolderHook | None = None,
    ) -> Runner:
        """Creates a runner for jobs of all tenants, as a worker uses it. It blocks and has its own threads.

        Args:
            embedder: embedder to use instead of the client's own.
            stop: once set, running steps end and nothing new begins.
            progress: called with the tenant, how much is done, and of how much if that is known, in the
                thread that does the work.
            folders: called by the job ``import``; without it, this job does not run.

        Returns:
            The runner. It runs nothing until it is called.
        """
        return self._runner_in(
            self._connection.database, embedder=embedder, stop=stop, progress=progress, folders=folders
        )

    def _runner_in(
        self,
        database: AsyncDatabase,
        *,
        embedder: Embedder | None = None,
        stop: Event | None,
        progress: Callable[[str, int, int | None], None],
        folders: FolderHook | None,
    ) -> Runner:
        from pgrecall.jobs.alerts import make_alert_hook
        from pgrecall.jobs.job import Hooks
        from pgrecall.jobs.runner import Runner

        return Runner(
            database.blocking,
            embedder=embedder or self._connection.embedder,
            stop=stop,
            progress=progress,
            hooks=Hooks(
                alert=make_alert_hook(self._connection.resources.settings),
                backups=self._connection.resources.backup_folder(database.blocking.url),
                folders=folders,
            ),
        )
