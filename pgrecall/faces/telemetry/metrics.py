"""Prometheus metrics of calls, searches and runs of jobs. No label names a tenant or a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pgrecall.faces.telemetry.census import exposition_of
from pgrecall.nouns.jobs.models import JobOutcome
from pgrecall.nouns.search.models import SearchResult
from pgrecall.nouns.service.models import Census

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the durations of calls, in seconds."""

_RUN_BUCKETS = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0)


class Metrics:
    """The metrics of one service, in a registry of its own because a process may run several."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._phases = Histogram(
            "pgrecall_search_phase_seconds",
            "Duration of each phase of searches.",
            ("phase",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._searches = Counter(
            "pgrecall_searches",
            "Searches, by whether they found anything.",
            ("found",),
            registry=self.registry,
        )
        self._rerankings = Counter(
            "pgrecall_rerankings",
            "Searches that asked for the reranker, by whether it answered.",
            ("answered",),
            registry=self.registry,
        )
        self._questions = Counter(
            "pgrecall_language_model_calls",
            "Questions of searches to the language model.",
            registry=self.registry,
        )
        self._answering = Counter(
            "pgrecall_language_model_seconds",
            "Time that searches waited for the language model.",
            registry=self.registry,
        )
        self._tokens = Counter(
            "pgrecall_language_model_tokens",
            "Tokens of the language model, read and written, where it counts them.",
            ("kind",),
            registry=self.registry,
        )
        self._calls = Histogram(
            "pgrecall_mcp_call_seconds",
            "Duration of calls of MCP tools, by tool and how they ended.",
            ("tool", "outcome"),
            buckets=BUCKETS,
            registry=self.registry,
        )

    def observe_result(self, result: SearchResult, *, rerank: bool) -> None:
        """Counts a search and its phases."""
        for phase, milliseconds in result.timings.items():
            self._phases.labels(phase).observe(milliseconds / 1000)
        self._searches.labels("no" if result.no_match else "yes").inc()
        if rerank:
            self._rerankings.labels("yes" if result.reranked else "no").inc()

        if (use := result.model_use) is not None:
            self._questions.inc(use.calls)
            self._answering.inc(use.seconds)
            self._tokens.labels("read").inc(use.tokens_read)
            self._tokens.labels("written").inc(use.tokens_written)

    def observe_call(self, tool: str, outcome: str, seconds: float) -> None:
        """Counts a tool call, whose ``outcome`` is ``done``, ``refused`` or ``failed``."""
        self._calls.labels(tool, outcome).observe(seconds)

    def register_pool(self, pool: Callable[[], Mapping[str, int]]) -> None:
        """Registers the figures of a connection pool, which are read at each scrape."""
        self.registry.register(_Pool(pool))

    def exposition(self, census: Census | None = None) -> bytes:
        """Renders all metrics as text; those of the database only with a census."""
        text = generate_latest(self.registry)
        return text if census is None else text + exposition_of(census)


class RunMetrics(Metrics):
    """The metrics of a worker, including those of its runs."""

    def __init__(self) -> None:
        super().__init__()
        self._runs = Histogram(
            "pgrecall_worker_run_seconds",
            "Duration of the runs of jobs by this worker, by how they ended.",
            ("job", "state"),
            buckets=_RUN_BUCKETS,
            registry=self.registry,
        )
        self._done = Counter(
            "pgrecall_worker_done",
            "Work done by the jobs of this worker, such as memories embedded.",
            ("job",),
            registry=self.registry,
        )
        self._ended = Gauge(
            "pgrecall_worker_run_timestamp_seconds",
            "When the newest run of a job by this worker ended, by how it ended.",
            ("job", "state"),
            registry=self.registry,
        )

    def observe_run(self, outcome: JobOutcome, ended_at: float) -> None:
        """Counts a run of a job; ``ended_at`` is in seconds since 1970."""
        self._runs.labels(outcome.job, outcome.state).observe(outcome.seconds)
        self._done.labels(outcome.job).inc(outcome.done)
        self._ended.labels(outcome.job, outcome.state).set(ended_at)


@dataclass(frozen=True, slots=True)
class _Pool(Collector):
    """The current state of a connection pool."""

    pool: Callable[[], Mapping[str, int]]

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily("pgrecall_pool", "Connections to Postgres.", labels=("figure",))
        for name, value in self.pool().items():
            family.add_metric((name,), value)
        yield family
