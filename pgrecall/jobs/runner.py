"""The runner: runs a job for many tenants in turn, with retries, each under its own lock."""

from __future__ import annotations

import json
import logging
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from pgrecall.database.pool import Database
from pgrecall.jobs.attempt import JobSessions, attempt
from pgrecall.jobs.job import Hooks, Job, Task
from pgrecall.nouns.jobs.models import WHOLE_DATABASE, JobOutcome
from pgrecall.nouns.jobs.operations import due_tenants, tenants
from pgrecall.nouns.operation import Operation
from pgrecall.search.embed.embedder import Embedder

if TYPE_CHECKING:
    pass

T = TypeVar("T")

PAUSES = (1.0, 4.0)
"""Seconds before the second and third attempt, shortened at random to spread workers."""

logger = logging.getLogger("pgrecall.jobs")


class Runner:
    """Runs jobs of a database; threads may share one.

    Args:
        embedder: for the jobs that embed.
        stop: once set, running steps end, nothing new begins, and runs end as stopped.
        pauses: seconds before each further attempt of a failed run.
        batch: maximum number of rows of a step; None uses the default of each job.
        progress: called with the tenant, how much of a run is done, and of how much; None if unknown.
        hooks: what jobs call outside of the database.
    """

    def __init__(
        self,
        database: Database,
        *,
        embedder: Embedder | None = None,
        stop: Event | None = None,
        pauses: tuple[float, ...] = PAUSES,
        batch: int | None = None,
        progress: Callable[[str, int, int | None], None] = lambda *_: None,
        hooks: Hooks | None = None,
    ) -> None:
        self.stop = stop or Event()
        self._database = database
        self._pauses = pauses
        self._task = Task(embedder, None, batch, self.stop, progress, hooks or Hooks())
        self._sessions = JobSessions(database)

    @property
    def embeds(self) -> bool:
        """Whether an embedder is configured."""
        return self._task.embedder is not None

    def can_run(self, job: Job) -> bool:
        """Whether it has what the job needs: an embedder, an alert hook, folders."""
        hooks = self._task.hooks
        return (
            (self.embeds or not job.embeds)
            and (hooks.alert is not None or not job.alerts)
            and (hooks.backups is not None or not job.backs_up)
            and (hooks.folders is not None or not job.follows)
        )

    def fetch(self, operation: Operation[T]) -> T:
        """Executes an operation on the whole database."""
        return operation.read(self._database.fetch(operation, tenant=WHOLE_DATABASE))

    def require_session(self) -> None:
        """Rejects a database URL that jobs cannot use.

        Raises:
            DatabaseUnsuitable: it leads to a connection pooler in transaction mode.
        """
        with self._database.session():
            pass

    def due(self, job: Job) -> tuple[str, ...]:
        """Lists the tenants this job is due for; ``*`` for a job of the whole database."""
        return self.fetch(due_tenants(job.name, whole=job.whole))

    def targets(self, job: Job, tenant: str | None) -> tuple[str, ...]:
        """Lists the tenants to run a job for, given one tenant or None for all."""
        if job.whole:
            return (WHOLE_DATABASE,)
        return (tenant,) if tenant is not None and not job.joint else self.fetch(tenants())

    def sweep(
        self,
        job: Job,
        tenants: Iterable[str],
        *,
        now: datetime | None = None,
        tenant_progress: Callable[[int, int], None] = lambda *_: None,
    ) -> list[JobOutcome]:
        """Runs a job for each of these tenants (``*``: the database), and retries failures.

        Args:
            now: time to use instead of now for vitality and expiry; None uses the database's clock.
            tenant_progress: called with the number of tenants that are done, and of all.

        Returns:
            The last outcome of each tenant that was processed, in order.
        """
        task = replace(self._task, now=now)
        last: dict[str, JobOutcome] = {}
        waiting = list(tenants)
        total = len(waiting)
        tenant_progress(0, total)
        for number, pause in enumerate((0.0, *self._pauses), start=1):
            if not waiting or self.stop.wait(pause * random.uniform(0.5, 1)):
                break
            outcomes = []
            for outcome in self._attempt_each(job, waiting, number, task):
                outcomes.append(outcome)
                last[outcome.tenant] = outcome
                tenant_progress(len(last), total)
            waiting = [each.tenant for each in outcomes if each.state == "failed" and not each.permanent]
        return list(last.values())

    def cancel(self) -> None:
        """Cancels every running statement; their transactions leave nothing behind."""
        self._sessions.cancel()

    def _attempt_each(self, job: Job, tenants: list[str], number: int, task: Task) -> Iterator[JobOutcome]:
        with self._sessions.one() as session:
            for tenant in tenants:
                if self.stop.is_set():
                    break
                ended = attempt(job, tenant, number, session, task)
                logger.info("%s", log_line(ended), extra={"outcome": ended})
                yield ended


def log_line(outcome: JobOutcome) -> str:
    """Formats an outcome as name=value pairs; values other than plain words are quoted as in JSON.

    Names are single words: spaces of counts (``embed failed``) become underscores.
    """
    values: dict[str, object] = {
        "job": outcome.job,
        "tenant": outcome.tenant,
        "state": outcome.state,
        "attempt": outcome.attempt,
        "seconds": round(outcome.seconds, 3),
        "done": outcome.done,
        **outcome.counts,
    }
    if outcome.error is not None:
        values["error"] = outcome.error
    return " ".join(f"{name.replace(' ', '_')}={_quoted(str(value))}" for name, value in values.items())


_PLAIN = re.compile(r"[A-Za-z0-9_.*-]+")


def _quoted(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value)
