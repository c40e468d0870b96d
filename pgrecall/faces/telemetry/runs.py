"""Observes the runs of jobs, which the runner logs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pgrecall.faces.telemetry.tracing import Tracing
from pgrecall.models.maintenance import JobOutcome

if TYPE_CHECKING:
    from pgrecall.faces.telemetry.metrics import RunMetrics


class RunObserver(logging.Handler):
    """Counts the runs of jobs that are logged."""

    def __init__(self, metrics: RunMetrics) -> None:
        super().__init__(logging.INFO)
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        outcome = getattr(record, "outcome", None)
        if isinstance(outcome, JobOutcome):
            self._metrics.observe_run(outcome, record.created)


class RunTracer(logging.Handler):
    """Makes a span of each run of a job that is logged."""

    def __init__(self, tracing: Tracing) -> None:
        super().__init__(logging.INFO)
        self._tracing = tracing

    def emit(self, record: logging.LogRecord) -> None:
        outcome = getattr(record, "outcome", None)
        if isinstance(outcome, JobOutcome):
            self._tracing.record_run(outcome)


@contextmanager
def runs_observed(observer: logging.Handler) -> Iterator[None]:
    """Passes every run of a job in this process to the observer inside the block."""
    logger = logging.getLogger("pgrecall.jobs")
    level = logger.level
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    logger.addHandler(observer)
    try:
        yield
    finally:
        logger.removeHandler(observer)
        logger.setLevel(level)
