"""The worker: runs every job at its interval, in one or many processes, until it is stopped."""

from __future__ import annotations

import logging
import math
import random
import time
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from pgrecall.errors import RecallError
from pgrecall.jobs.catalogue import JOBS
from pgrecall.jobs.job import Job
from pgrecall.jobs.runner import Runner
from pgrecall.nouns.jobs.models import JobOutcome
from pgrecall.nouns.jobs.operations import job_intervals

MAX_INTERVAL = 60.0
"""Maximum seconds between checks for due jobs, so that a missed daily job is not a day late."""

REFRESH_SECONDS = 10.0
"""Seconds after which the worker notices changed intervals, and a database that stops or starts to answer."""

CANCEL_SECONDS = 3.0
"""Seconds that running statements have to end once the worker stops, and seconds between attempts to cancel
them. One attempt may not be enough: a statement may begin just after it, or a cancellation may be lost."""

logger = logging.getLogger("pgrecall.jobs")


class _Interval(BaseTrigger):  # type: ignore[misc]  # it has no types
    """Now, and again so many seconds after each time, or a little more.

    The interval of APScheduler counts every time that has passed: for minutes, and in gigabytes, where
    a clock without a battery is set from 1970 to now.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        return now + timedelta(seconds=0 if previous is None else self._seconds * random.uniform(1, 1.05))


class Worker:
    """Runs due jobs. The database records when each job last began, so many workers share the work."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._jobs = [job for job in JOBS if not job.by_hand and runner.can_run(job)]
        self._intervals: dict[str, float | None] = {}
        self._last_check: dict[str, float] = {}
        """When each job was last checked, by the monotonic clock; infinite during a check."""
        self._errors: dict[str, str] = {}
        """Jobs whose last check failed, for example because the database did not answer."""
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(len(self._jobs))},
            # A late run happens once, and never concurrently with itself.
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )

    def run_once(self) -> list[JobOutcome]:
        """Runs every job once for the tenants it is due for, and returns the outcomes."""
        return [
            outcome
            for job in self._jobs
            if not self._runner.stop.is_set()
            for outcome in self._runner.sweep(job, self._runner.due(job))
        ]

    def problems(self) -> list[str]:
        """The reasons why due jobs may not begin, a sentence each; empty when all is well.

        A failed job is not such a reason: the database keeps its runs.
        """
        problems = ["The worker is stopping."] if self._runner.stop.is_set() else []
        for job in self._jobs:
            error = self._errors.get(job.name)
            if error is not None:
                problems.append(f"The job {job.name} cannot begin: {error}")
            elif job.name not in self._intervals:
                problems.append(f"The job {job.name} is not scheduled yet.")
            elif self._checks_stopped(job):
                problems.append(f"It was not checked in time whether the job {job.name} is due.")
        return problems

    def serve(self) -> None:
        """Runs jobs at their intervals until the runner's ``stop`` is set; then ends running jobs."""
        self._scheduler.start()
        try:
            self._plan()
            while not self._runner.stop.wait(REFRESH_SECONDS):
                self._plan()
        finally:
            self._runner.stop.set()
            ended = Event()
            Thread(target=self._cancel_running, args=[ended]).start()
            self._scheduler.shutdown(wait=True)
            ended.set()

    def _cancel_running(self, ended: Event) -> None:
        while not ended.wait(CANCEL_SECONDS):
            self._runner.cancel()

    def _plan(self) -> None:
        """Schedules each job at the shortest interval of any tenant."""
        try:
            minutes = self._runner.fetch(job_intervals([job.name for job in self._jobs]))
        except RecallError as error:
            for job in self._jobs:
                self._report(job, error)
            return
        for job in self._jobs:
            if minutes[job.name] is None:
                self._errors.pop(job.name, None)  # it is not checked any more
            self._schedule(job, check_interval(minutes[job.name]))

    def _checks_stopped(self, job: Job) -> bool:
        """Whether checks of a job have stopped: after the clock was set back, the next check would come only
        at the old time."""
        interval = self._intervals[job.name]
        last_check = self._last_check.get(job.name, math.inf)
        return interval is not None and time.monotonic() - last_check > 2 * interval + REFRESH_SECONDS

    def _schedule(self, job: Job, interval: float | None) -> None:
        if (
            job.name in self._intervals
            and self._intervals[job.name] == interval
            and not self._checks_stopped(job)
            and job.name not in self._errors  # else it is checked now: the database answers again
        ):
            return
        self._intervals[job.name] = interval
        if self._scheduler.get_job(job.name) is not None:
            self._scheduler.remove_job(job.name)
        if interval is None:
            return
        self._last_check.setdefault(job.name, time.monotonic())
        self._scheduler.add_job(self._run_due, _Interval(interval), [job], id=job.name)

    def _report(self, job: Job, error: RecallError) -> None:
        if job.name not in self._errors:  # an outage is logged once
            logger.error("job=%s state=unplanned error=%r", job.name, error.message)
        self._errors[job.name] = error.message

    def _run_due(self, job: Job) -> None:
        """Runs a job for the tenants it is due for; a failure is left to the next check."""
        if self._runner.stop.is_set():
            return
        self._last_check[job.name] = math.inf
        try:
            due = self._runner.due(job)
            self._errors.pop(job.name, None)
            self._runner.sweep(job, due)
        except RecallError as error:
            self._report(job, error)
        finally:
            self._last_check[job.name] = time.monotonic()


def check_interval(minutes: float | None) -> float | None:
    """Seconds between checks whether a job of this interval is due; None: no checks."""
    return None if minutes is None else min(max(minutes * 60, 0.05), MAX_INTERVAL)
