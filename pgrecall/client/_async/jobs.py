"""``memory.jobs`` and ``memory.export``: work in threads over their own connections."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, BinaryIO

from pgrecall.client._async.group import AsyncGroup
from pgrecall.client.export_file import Transfer, read_export, write_export
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.jobs.alerts import make_alert_hook
from pgrecall.jobs.catalogue import job_named, job_statuses, states_of_jobs
from pgrecall.jobs.job import FolderHook, Hooks
from pgrecall.jobs.runner import Runner
from pgrecall.models.maintenance import JobOutcome, JobRun, JobStatus
from pgrecall.operations import jobs
from pgrecall.search.embed.embedder import Embedder

if TYPE_CHECKING:
    from pgrecall.models.import_export import Export


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

    async def list(self, *, now: datetime | None = None) -> tuple[JobStatus, ...]:
        """Lists every job with its interval, its newest run, and its state.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            The state of each job.
        """
        return job_statuses(await self._connection.execute(states_of_jobs(now)))

    async def runs(self, name: str | None = None, *, limit: int = 20) -> tuple[JobRun, ...]:
        """Lists the newest runs for this tenant and for the whole database, newest first.

        Args:
            name: of this job only.
            limit: maximum number of runs.

        Returns:
            Each run with its outcome, and its error if it failed.

        Raises:
            InvalidInput: there is no job of this name.
        """
        job = job_named(name).name if name is not None else None
        return await self._connection.execute(jobs.job_runs(job, limit))

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


class AsyncExportGroup(AsyncGroup):
    """Moves a tenant as a whole from one database to another."""

    async def write(
        self,
        target: str | Path | BinaryIO,
        *,
        embeddings: bool = True,
        progress: Callable[[int, int], None] = lambda *_: None,
        now: datetime | None = None,
    ) -> Export:
        """Writes all data of this tenant as JSON Lines, from one snapshot, while others continue to write.

        That is all memories with their vectors, links, accesses and histories, settings, layers and models,
        plans and feedback; not keys of the HTTP service and runs of jobs.

        Args:
            target: a file, compressed where its name ends in ``.gz``, which appears once it is complete; or
                a binary stream.
            embeddings: False omits the vectors; a worker computes them again.
            progress: called with the number of lines written and of all lines, in the thread that does the
                work.
            now: time to use instead of the database's clock.

        Returns:
            The tenant, and how many rows of each kind were written.

        Raises:
            InvalidInput: the file cannot be written.
        """
        path = Path(target) if isinstance(target, str) else target
        transfer = Transfer(self._connection.tenant, embeddings, progress)
        database = (await self._connection.tenant_database()).blocking
        work = partial(write_export, database, path, transfer, now)
        return await self._connection.run(work, transfer.stop.set)

    async def read(
        self,
        source: str | Path | BinaryIO,
        *,
        embeddings: bool = True,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> Export:
        """Reads what :meth:`write` wrote into this tenant, which must be empty: all of it or nothing.

        Ids stay the same, so that the log of searches, past vitality, plans and external references to ids
        stay valid. Nothing else can be stored for this tenant meanwhile.

        Args:
            source: the file, decompressed where its name ends in ``.gz``, or a binary stream.
            embeddings: False omits the vectors; a worker computes them again.
            progress: called with the number of lines stored and of all lines, in the thread that does the
                work.

        Returns:
            The tenant of the export, and how many rows of each kind were stored.

        Raises:
            InvalidInput: the tenant is not empty, the export is damaged or incomplete, or it does not fit
                this database. Nothing was stored.
            EmbedderMismatch: its vectors are of another embedder than this database's.
        """
        path = Path(source) if isinstance(source, str) else source
        transfer = Transfer(self._connection.tenant, embeddings, progress)
        database = (await self._connection.tenant_database()).blocking
        try:
            return await self._connection.run(
                partial(read_export, database, path, transfer), transfer.stop.set
            )
        finally:
            self._connection.note_write()
