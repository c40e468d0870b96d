"""OpenTelemetry spans of requests, commands, tool calls, runs of jobs and phases of searches.

Without the SDK of OpenTelemetry there are none.

Exporters are configured by OpenTelemetry's own environment variables or its launcher. Attributes name routes,
commands, tools and jobs, and never contain arguments or results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING

from pgrecall.errors import DatabaseError, RecallError
from pgrecall.nouns.jobs.models import JobOutcome

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider

PHASES = ("planning", "names", "embedding", "database", "reranking")
"""The phases of a search, in the order in which they run."""


END_SECONDS = 2.0
"""Seconds in which the last spans of a process are sent."""


@dataclass(slots=True)
class CommandEnd:
    """The name of a command below ``pgrecall``, and its exit code; None while it is unknown."""

    name: str = ""
    code: int | None = None


class Tracing:
    """Creates spans.

    Args:
        provider: the tracer provider; None is OpenTelemetry's global one.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider
        self._tracer = _get_tracer(provider)

    @contextmanager
    def request_span(self, method: str, headers: Mapping[str, str]) -> Iterator[None]:
        """Wraps a request in a span; ``headers`` may name its parent."""
        if self._tracer is None:
            yield
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        with self._span(method, {"http.request.method": method}, SpanKind.SERVER, extract(headers)):
            yield

    def end_request(self, method: str, route: str, status: int) -> None:
        """Records the route and the status in the current span."""
        if self._tracer is None:
            return
        from opentelemetry.trace import get_current_span

        span = get_current_span()
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= 500:
            _fail(span)

    @contextmanager
    def command_span(self, parent: Mapping[str, str]) -> Iterator[CommandEnd]:
        """Wraps a command in a span. The caller fills in the yielded object, which names the span at its end.

        Args:
            parent: headers that may name its parent as ``traceparent``.
        """
        end = CommandEnd()
        if self._tracer is None:
            yield end
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        with self._span("pgrecall", {}, SpanKind.INTERNAL, extract(parent)) as span:
            try:
                yield end
                end.code = end.code or 0
            finally:
                span.update_name(f"pgrecall {end.name}".rstrip())
                if end.code is not None:
                    span.set_attribute("process.exit.code", end.code)
                if end.code not in (0, 1):  # 1: nothing was found
                    _fail(span)

    @contextmanager
    def call_span(self, tool: str, parent: object = None) -> Iterator[None]:
        """Wraps a tool call in a span. Errors other than invalid arguments mark it as failed.

        Args:
            parent: the result of :meth:`context` in the request of the call; None is the current span.
        """
        if self._tracer is None:
            yield
            return
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind

        attributes = {"mcp.method.name": "tools/call", "gen_ai.tool.name": tool}
        context = parent if isinstance(parent, Context) else None
        with self._span(f"tools/call {tool}", attributes, SpanKind.SERVER, context) as span:
            try:
                yield
            except Exception as error:
                if isinstance(error, DatabaseError) or not isinstance(error, RecallError):
                    _fail(span)
                raise

    def context(self) -> object:
        """Returns the context of the current span, for work that continues in another task."""
        if self._tracer is None:
            return None
        from opentelemetry.context import get_current

        return get_current()

    def end(self) -> None:
        """Sends pending spans, and creates no more. It waits for two seconds at most.

        An exporter without an answer tries for half a minute, and so does the end of the interpreter.
        """
        if self._tracer is None:
            return
        from opentelemetry.trace import get_tracer_provider

        shutdown = getattr(self._provider or get_tracer_provider(), "shutdown", None)
        if shutdown is not None:
            ending = Thread(target=shutdown, daemon=True)
            ending.start()
            ending.join(END_SECONDS)

    def record_search_phases(self, timings: Mapping[str, float]) -> None:
        """Adds a span for each phase of a search that has just ended; ``timings`` are in milliseconds."""
        if self._tracer is None:
            return
        durations = [(phase, round(timings[phase] * 1e6)) for phase in PHASES if timings.get(phase)]
        time_ns = time.time_ns() - sum(nanoseconds for _, nanoseconds in durations)
        for phase, nanoseconds in durations:
            span = self._tracer.start_span(f"search {phase}", start_time=time_ns)
            time_ns += nanoseconds
            span.end(time_ns)

    def record_run(self, outcome: JobOutcome, ended_at: float) -> None:
        """Adds a span for a run of a job, without its tenant; ``ended_at`` is in seconds since 1970."""
        if self._tracer is None:
            return
        ended = round(ended_at * 1e9)
        span = self._tracer.start_span(
            f"job {outcome.job}",
            attributes={
                "pgrecall.job": outcome.job,
                "pgrecall.job.state": outcome.state,
                "pgrecall.job.attempt": outcome.attempt,
                "pgrecall.job.done": outcome.done,
            },
            start_time=ended - round(outcome.seconds * 1e9),
        )
        if outcome.state == "failed":
            _fail(span)
        span.end(ended)

    @contextmanager
    def _span(
        self, name: str, attributes: Mapping[str, str], kind: SpanKind, parent: Context | None
    ) -> Iterator[Span]:
        assert self._tracer is not None
        with self._tracer.start_as_current_span(
            name,
            parent,
            kind,
            dict(attributes),
            record_exception=False,  # its message may quote a memory
            set_status_on_exception=False,
        ) as span:
            yield span


def _fail(span: Span) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR))


def _get_tracer(provider: TracerProvider | None) -> Tracer | None:
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return None
    from opentelemetry import trace

    return trace.get_tracer("pgrecall", tracer_provider=provider)
