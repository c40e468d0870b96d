"""The figures of a service, as Prometheus reads them. No label tells a tenant or a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pgrecall.faces.http.admission import Admission
from pgrecall.models.search import SearchResult
from pgrecall.models.service import Census

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What is counted of one service. Each has a registry of its own, so that tests may have many."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "pgrecall_http_request_seconds",
            "Requests: how long they took, by route and status.",
            ("method", "route", "status"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._phases = Histogram(
            "pgrecall_search_phase_seconds",
            "Searches: how long each phase took.",
            ("phase",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._searches = Counter(
            "pgrecall_searches",
            "Searches, by whether anything was found.",
            ("found",),
            registry=self.registry,
        )
        self._rerankings = Counter(
            "pgrecall_rerankings",
            "Searches that asked for the reranker, by whether it answered.",
            ("answered",),
            registry=self.registry,
        )

    def requested(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, str(status)).observe(seconds)

    def searched(self, result: SearchResult, *, rerank: bool) -> None:
        for phase, milliseconds in result.timings.items():
            self._phases.labels(phase).observe(milliseconds / 1000)
        self._searches.labels("no" if result.no_match else "yes").inc()
        if rerank:
            self._rerankings.labels("yes" if result.reranked else "no").inc()

    def watch(self, admission: Admission, pool: Callable[[], Mapping[str, int]]) -> None:
        """Adds what is read at the moment that somebody asks."""
        self.registry.register(_Now(admission, pool))

    def text(self, census: Census | None) -> bytes:
        """All figures; those of the database only where there are any."""
        counted = b"" if census is None else generate_latest(_registry(_CensusFigures(census)))
        return generate_latest(self.registry) + counted


def _registry(collector: Collector) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


@dataclass(frozen=True, slots=True)
class _Now(Collector):
    """How busy the service is, and what its pool tells of itself."""

    admission: Admission
    pool: Callable[[], Mapping[str, int]]

    def collect(self) -> Iterable[Metric]:
        at = self.admission
        yield GaugeMetricFamily("pgrecall_http_working", "Requests worked on now.", value=at.working)
        yield GaugeMetricFamily("pgrecall_http_waiting", "Requests that wait for a place.", value=at.waiting)
        yield CounterMetricFamily("pgrecall_http_refused", "Refused: too many waited.", value=at.refused)
        family = GaugeMetricFamily("pgrecall_pool", "Connections to Postgres.", labels=("figure",))
        for name, value in self.pool().items():
            family.add_metric((name,), value)
        yield family


@dataclass(frozen=True, slots=True)
class _CensusFigures(Collector):
    """The figures of the database."""

    census: Census

    def collect(self) -> Iterable[Metric]:
        zones = GaugeMetricFamily(
            "pgrecall_memories", "Live memories as the job vitality last saw them.", labels=("layer", "zone")
        )
        for count in self.census.zones:
            zones.add_metric((count.layer, count.zone or "unknown"), count.memories)
        yield zones
        for name, about, value in (
            ("archived", "Archived memories.", self.census.archived),
            ("awaiting_embedding", "Memories without a vector.", self.census.awaiting_embedding),
            ("accesses_waiting", "Accesses that are not folded yet.", self.census.accesses_waiting),
        ):
            yield GaugeMetricFamily(f"pgrecall_{name}", about, value=value)
        yield from self._jobs()

    def _jobs(self) -> Iterable[Metric]:
        running = GaugeMetricFamily("pgrecall_job_running", "Tenants it runs for now.", labels=("job",))
        failed = GaugeMetricFamily("pgrecall_job_failed", "Tenants whose last run failed.", labels=("job",))
        done = GaugeMetricFamily(
            "pgrecall_job_done_timestamp_seconds", "When the newest successful run ended.", labels=("job",)
        )
        for job in self.census.jobs:
            running.add_metric((job.job,), job.running)
            failed.add_metric((job.job,), job.failed)
            if job.done_at is not None:
                done.add_metric((job.job,), job.done_at)
        yield from (running, failed, done)
