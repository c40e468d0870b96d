"""Passes searches, tool calls and runs of jobs on to metrics and traces."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from pgrecall.errors import DatabaseError, RecallError
from pgrecall.faces.telemetry.tracing import Tracing
from pgrecall.nouns.jobs.models import JobOutcome
from pgrecall.nouns.search.models import SearchResult
from pgrecall.search.observers import searches_observed

if TYPE_CHECKING:
    from pgrecall.faces.telemetry.metrics import Metrics

CallOutcome = Literal["done", "refused", "failed"]
"""The outcome of a tool call: ``refused`` because of its arguments, or ``failed`` because of the database or
a defect."""

RunObserver: TypeAlias = Callable[[JobOutcome, float], None]
"""Gets the outcome of a run of a job, and when it ended, in seconds since 1970."""


class Telemetry:
    """The metrics and traces of one process or service.

    Args:
        tracing: creates spans; by default with OpenTelemetry's global provider.
        metrics: the metrics; None if the process has no endpoint for them.
    """

    def __init__(self, tracing: Tracing | None = None, metrics: Metrics | None = None) -> None:
        self.tracing = tracing or Tracing()
        self.metrics = metrics

    def searches(self) -> AbstractContextManager[None]:
        """Observes every search of this task or thread inside the block."""
        return searches_observed(self._observe)

    @contextmanager
    def call(self, tool: str, parent: object = None) -> Iterator[None]:
        """Observes a tool call and the searches it makes.

        Args:
            parent: the context of the request, as :meth:`Tracing.context` returned it.
        """
        outcome: CallOutcome = "failed"
        began = time.perf_counter()
        try:
            with self.tracing.call_span(tool, parent), self.searches():
                yield
            outcome = "done"
        except RecallError as error:
            outcome = "failed" if isinstance(error, DatabaseError) else "refused"
            raise
        finally:
            if self.metrics is not None:
                self.metrics.observe_call(tool, outcome, time.perf_counter() - began)

    def _observe(self, result: SearchResult, rerank: bool) -> None:
        if self.metrics is not None:
            self.metrics.observe_result(result, rerank=rerank)
        self.tracing.record_search_phases(result.timings)


class _RunHandler(logging.Handler):
    """A log handler that passes runs of jobs on."""

    def __init__(self, observe: RunObserver) -> None:
        super().__init__(logging.INFO)
        self._observe = observe

    def emit(self, record: logging.LogRecord) -> None:
        outcome = getattr(record, "outcome", None)
        if isinstance(outcome, JobOutcome):
            self._observe(outcome, record.created)


@contextmanager
def runs_observed(observe: RunObserver) -> Iterator[None]:
    """Passes every run of a job that ends in this process inside the block to a function."""
    handler = _RunHandler(observe)
    logger = logging.getLogger("pgrecall.jobs")
    level = logger.level
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
