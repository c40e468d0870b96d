"""One attempt to run a job for one tenant: over one connection, which holds the job's lock all along.

The lock, the steps and the ``job_run`` row share that connection, so a lock that is lost takes its run with
it, and after a ``kill -9`` the lock stays held until Postgres is done with the statement that was under way.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, Literal, TypeVar

from pgrecall.database.connections import Session
from pgrecall.errors import (
    DatabaseError,
    DatabaseUnsuitable,
    InvalidInput,
    MissingExtra,
    RecallError,
    SchemaMismatch,
)
from pgrecall.jobs.steps import Job, JobFlow, Progress, Task
from pgrecall.models.jobs import JobOutcome
from pgrecall.operations import Operation
from pgrecall.operations.jobs import begin_job, end_job, report_job
from pgrecall.search.embed.embedder import Embedder
from pgrecall.workflows import LocalStep, Tools

T = TypeVar("T")
Ending = Literal["done", "failed", "stopped", "skipped"]

logger = logging.getLogger("pgrecall.jobs")

LASTING = (InvalidInput, DatabaseUnsuitable, MissingExtra, SchemaMismatch)
"""Errors that the next attempt would meet again."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every attempt shares: the embedder, the event that says stop, and who hears of progress."""

    embedder: Embedder | None
    stop: Event
    progress: Callable[[str, int], None]


@dataclass(slots=True)
class Attempt:
    """A job for a tenant; ``perform`` sees it to its end, whatever that is."""

    job: Job
    tenant: str
    number: int
    around: Surroundings
    run: int = 0
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def perform(self, session: Session, task: Task) -> JobOutcome:
        """Runs the job; that it fails is an outcome, not an error.

        Raises:
            DatabaseError: the run could not be begun, or its end not be written down.
        """
        began = time.monotonic()
        whole = self.job.whole
        run = self._fetch(session, begin_job(self.job.name, whole=whole, attempt=self.number))
        if run is None:
            return self.outcome("skipped")
        self.run = run
        ended = self._ended(session, self.job.flow(task))
        self.seconds = time.monotonic() - began
        self._fetch(session, end_job(run, ended.state, self.done, self.counts, ended.error, whole=whole))
        return replace(ended, seconds=self.seconds)

    def outcome(self, state: Ending, error: str | None = None, *, lasting: bool = False) -> JobOutcome:
        """How far this attempt has come, and how it ended."""
        return JobOutcome(
            self.job.name,
            self.tenant,
            state,
            self.number,
            self.done,
            dict(self.counts),
            error,
            self.seconds,
            lasting,
        )

    def _ended(self, session: Session, flow: JobFlow) -> JobOutcome:
        try:
            finished = self._drive(session, flow)
        except RecallError as error:
            # A statement that is cancelled because the worker stops did not fail.
            if self.around.stop.is_set() and isinstance(error, DatabaseError):
                return self.outcome("stopped")
            return self.outcome("failed", error.message, lasting=isinstance(error, LASTING))
        except Exception as error:  # a defect that one tenant's data brings out must not stop the others
            logger.exception("The job %s broke for tenant %r.", self.job.name, self.tenant)
            return self.outcome("failed", f"{type(error).__name__}: {error}", lasting=True)
        return self.outcome("done" if finished else "stopped")

    def _drive(self, session: Session, flow: JobFlow) -> bool:
        """Whether the flow came to its end, rather than being stopped between two steps."""
        answer: Any = None
        while True:
            try:
                step = flow.send(answer)
            except StopIteration:
                return True
            # What is done is counted even then.
            if self.around.stop.is_set() and not isinstance(step, Progress):
                flow.close()
                return False
            answer = self._answered(session, step)

    def _answered(self, session: Session, step: Operation[Any] | LocalStep | Progress) -> Any:
        match step:
            case Progress():
                return self._report(session, step)
            case Operation():
                return self._fetch(session, step)
            case _:
                return Tools(self.around.embedder).answer(step)

    def _report(self, session: Session, step: Progress) -> None:
        self.done += step.done
        self.counts.update(step.counts)
        self._fetch(session, report_job(self.run, self.done, self.counts, whole=self.job.whole))
        self.around.progress(self.tenant, self.done)

    def _fetch(self, session: Session, operation: Operation[T]) -> T:
        return operation.read(session.fetch(operation, tenant=self.tenant))
