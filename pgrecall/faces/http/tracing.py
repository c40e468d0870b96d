"""OpenTelemetry spans of requests and of the phases of searches; none where its SDK is not installed.

Exporters are configured by OpenTelemetry's own variables or its launcher. Attributes name routes and never
hold what a request contains.
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
"""The phases of a search, in the order in which they run."""


class Tracing:
    """Creates the spans of a service.

    Args:
        provider: the tracer provider; None: OpenTelemetry's global one.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = _get_tracer(provider)

    @contextmanager
    def request_span(self, method: str, headers: Mapping[str, str]) -> Iterator[None]:
        """A span around a request; ``headers`` may name its parent."""
        if self._tracer is None:
            yield
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        with self._tracer.start_as_current_span(
            method,
            extract(headers),
            SpanKind.SERVER,
            {"http.request.method": method},
            record_exception=False,  # its message may quote a memory
            set_status_on_exception=False,
        ):
            yield

    def end_request(self, method: str, route: str, status: int) -> None:
        """Records the route and the status in the current span."""
        if self._tracer is None:
            return
        from opentelemetry.trace import Status, StatusCode, get_current_span

        span = get_current_span()
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))

    def record_search_phases(self, timings: Mapping[str, float]) -> None:
        """Adds a span for each phase of a search that has just ended; timings in milliseconds."""
        if self._tracer is None:
            return
        durations = [(phase, round(timings[phase] * 1e6)) for phase in PHASES if timings.get(phase)]
        time_ns = time.time_ns() - sum(nanoseconds for _, nanoseconds in durations)
        for phase, nanoseconds in durations:
            span = self._tracer.start_span(f"search {phase}", start_time=time_ns)
            time_ns += nanoseconds
            span.end(time_ns)


def _get_tracer(provider: TracerProvider | None) -> Tracer | None:
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return None
    from opentelemetry import trace

    return trace.get_tracer("pgrecall", tracer_provider=provider)
