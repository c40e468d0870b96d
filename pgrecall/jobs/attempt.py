"""One attempt to run a job for one tenant, over one connection that holds the job's lock.

The lock, the steps and the ``job_run`` row share that connection, so losing the lock ends the run, and after
a ``kill -9`` the lock stays held until Postgres has finished the running statement.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock

from pgrecall.database.error_translation import without_values
from pgrecall.database.pool import Database
from pgrecall.database.session import Session
from pgrecall.errors import (
    AlertError,
    DatabaseError,
    DatabaseUnsuitable,
    InvalidInput,
    MissingExtra,
    RecallError,
    SchemaMismatch,
)
from pgrecall.jobs.job import Job, JobContext, Stopped, Task
from pgrecall.nouns.jobs.models import JobOutcome
from pgrecall.nouns.jobs.operations import begin_job, end_job, report_job

PERMANENT = (AlertError, InvalidInput, DatabaseUnsuitable, MissingExtra, SchemaMismatch)
"""Errors that another attempt would repeat."""

logger = logging.getLogger("pgrecall.jobs")


def attempt(job: Job, tenant: str, number: int, session: JobSession, task: Task) -> JobOutcome:
    """Runs a job. A failure is an outcome too, even if it could not be recorded.

    Args:
        number: which attempt it is, from 1.
        session: the connection it goes over; closed, with the lock it holds, when recording failed.
    """
    began = time.monotonic()
    ended = JobOutcome(job.name, tenant, "skipped", number)
    context: JobContext | None = None
    try:
        context = JobContext(tenant, session.get(), task)
        run = context.fetch(begin_job(job.name, whole=job.whole, attempt=number))
        if run is None:
            return ended
        context.recorder = partial(report_job, run, whole=job.whole)
        ended = _run(ended, job, context)
        end = end_job(run, ended.state, context.done, context.counts, ended.error, whole=job.whole)
        context.fetch(end)
    except RecallError as error:
        session.close()
        ended = _failed(ended, error)
    if context is not None:
        ended = replace(ended, done=context.done, counts=dict(context.counts))
    return replace(ended, seconds=time.monotonic() - began)


def _run(begun: JobOutcome, job: Job, context: JobContext) -> JobOutcome:
    """Runs the job and returns its outcome."""
    try:
        job.run(context)
    except Stopped:
        return replace(begun, state="stopped")
    except RecallError as error:
        # A statement that is cancelled because the worker stops did not fail.
        if context.task.stop.is_set() and isinstance(error, DatabaseError):
            return replace(begun, state="stopped")
        return _failed(begun, error)
    except Exception as error:  # noqa: BLE001 -- a defect that one tenant reveals must not stop the others
        # Logged without its message, which may quote a memory.
        frames = "".join(traceback.format_tb(error.__traceback__))
        what = type(error).__name__
        logger.error("The job %s broke for tenant %r: %s\n%s", job.name, context.tenant, what, frames)
        return replace(begun, state="failed", error=f"An unexpected {what}; see the log.", permanent=True)
    return replace(begun, state="done")


def _failed(begun: JobOutcome, error: RecallError) -> JobOutcome:
    return replace(begun, state="failed", error=without_values(error), permanent=isinstance(error, PERMANENT))


class JobSession:
    """A session that opens on first use, and again after it was closed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stack = ExitStack()
        self.current: Session | None = None

    def get(self) -> Session:
        """The open session.

        Raises:
            DatabaseUnavailable: none could be opened.
        """
        if self.current is None:
            self.current = self._stack.enter_context(self._database.session())
        return self.current

    def close(self) -> None:
        """Closes the session, which releases its locks."""
        self.current = None
        self._stack.close()


class JobSessions:
    """All sessions in use."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = Lock()
        self._used: list[JobSession] = []

    @contextmanager
    def one(self) -> Iterator[JobSession]:
        """Opens a session and closes it at the end."""
        mine = JobSession(self._database)
        with self._guard:
            self._used.append(mine)
        try:
            yield mine
        finally:
            with self._guard:
                self._used.remove(mine)
            mine.close()

    def cancel(self) -> None:
        """Cancels every running statement; their transactions leave nothing behind."""
        with self._guard:
            sessions = [each.current for each in self._used]
        for session in sessions:
            if session is not None:
                session.cancel()
