"""``Telemetry``: passes searches and calls of tools on to metrics and traces."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Literal

from pgrecall.errors import DatabaseError, RecallError
from pgrecall.faces.telemetry.tracing import Tracing
from pgrecall.models.search import SearchResult
from pgrecall.search.observers import searches_observed

if TYPE_CHECKING:
    from pgrecall.faces.telemetry.metrics import Metrics

CallOutcome = Literal["done", "refused", "failed"]
"""How the call of a tool ends: ``refused`` for what it asks, ``failed`` for what happened here."""


class Telemetry:
    """The metrics and traces of one process or service.

    Args:
        tracing: makes spans; by default with OpenTelemetry's global provider.
        metrics: counts; None if the process has no endpoint for them.
    """

    def __init__(self, tracing: Tracing | None = None, metrics: Metrics | None = None) -> None:
        self.tracing = tracing or Tracing()
        self.metrics = metrics

    def searches(self) -> AbstractContextManager[None]:
        """Observes every search of this task or thread inside the block."""
        return searches_observed(self._observe)

    @contextmanager
    def call(self, tool: str, parent: object = None) -> Iterator[None]:
        """Observes the call of a tool, and the searches it makes.

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
