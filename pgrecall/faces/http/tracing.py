"""Spans of requests and of the phases of searches, where OpenTelemetry is installed; else nothing.

Where they go is the business of whoever runs the service: OpenTelemetry's own variables, or its launcher.
Attributes say what was asked of which route, never with which words.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer, TracerProvider

PHASES = ("names", "embedding", "database", "reranking")
"""Of a search, in the order in which they run."""


class Tracing:
    """Spans of this service.

    Args:
        provider: makes them; None takes OpenTelemetry's own, which drops them unless it was set up.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = _tracer(provider)

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[None]:
        """Around a request; ``headers`` may name the span of whoever asks."""
        if self._tracer is None:
            yield
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        about = {"http.request.method": method}
        with self._tracer.start_as_current_span(
            method,
            extract(headers),
            SpanKind.SERVER,
            about,
            record_exception=False,  # its words may be those of a memory
            set_status_on_exception=False,
        ):
            yield

    def answered(self, method: str, route: str, status: int) -> None:
        """What became of the request that is under way."""
        if self._tracer is None:
            return
        from opentelemetry.trace import Status, StatusCode, get_current_span

        span = get_current_span()
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))

    def searched(self, timings: Mapping[str, float]) -> None:
        """The phases of a search that ended this moment, as spans one after the other; milliseconds."""
        if self._tracer is None:
            return
        taken = [(phase, round(timings[phase] * 1e6)) for phase in PHASES if timings.get(phase)]
        at = time.time_ns() - sum(nanoseconds for _, nanoseconds in taken)
        for phase, nanoseconds in taken:
            span = self._tracer.start_span(f"search {phase}", start_time=at)
            at += nanoseconds
            span.end(at)


def _tracer(provider: TracerProvider | None) -> Tracer | None:
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return None
    from opentelemetry import trace

    return trace.get_tracer("pgrecall", tracer_provider=provider)
