"""Prometheus metrics of a service. No label names a tenant or a memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pgrecall.errors import RecallError
from pgrecall.faces.http.logs import Log
from pgrecall.faces.http.request_limits import RequestQueue
from pgrecall.models.search import SearchResult
from pgrecall.models.service import Census

if TYPE_CHECKING:
    from pgrecall.client import AsyncMemory

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

CENSUS_MAX_AGE = 60.0
"""Seconds for which the database's counts are kept: counting reads every memory."""

CENSUS_TIMEOUT = 2.0
"""Seconds a request waits for new counts; then it gets the last ones."""

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one service, in a registry of its own, so that a process may have several."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "pgrecall_http_request_seconds",
            "Duration of requests by route and status.",
            ("method", "route", "status"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._phases = Histogram(
            "pgrecall_search_phase_seconds",
            "Duration of each phase of searches.",
            ("phase",),
            buckets=_BUCKETS,
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

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, str(status)).observe(seconds)

    def observe_search(self, result: SearchResult, *, rerank: bool) -> None:
        for phase, milliseconds in result.timings.items():
            self._phases.labels(phase).observe(milliseconds / 1000)
        self._searches.labels("no" if result.no_match else "yes").inc()
        if rerank:
            self._rerankings.labels("yes" if result.reranked else "no").inc()

    def register_gauges(self, queue: RequestQueue, pool: Callable[[], Mapping[str, int]]) -> None:
        """Adds the gauges that are read at each scrape."""
        self.registry.register(_Gauges(queue, pool))

    def exposition(self, census: Census | None) -> bytes:
        """All metrics as text; those of the database only with a census."""
        text = generate_latest(self.registry)
        if census is not None:
            registry = CollectorRegistry()
            registry.register(_CensusGauges(census))
            text += generate_latest(registry)
        return text


class CensusCache:
    """The database's counts, refreshed at most once a minute however many clients ask."""

    def __init__(self, memory: AsyncMemory, log: Log) -> None:
        self._memory = memory
        self._log = log
        self._census: Census | None = None
        self._counted_at = -CENSUS_MAX_AGE
        self._counting: asyncio.Task[None] | None = None

    async def get(self) -> Census | None:
        """The newest counts, older ones while counting takes long; None when the database gave none."""
        if time.monotonic() - self._counted_at >= CENSUS_MAX_AGE and self._counting is None:
            self._counting = asyncio.create_task(self._count())
        if self._counting is not None:
            await asyncio.wait({self._counting}, timeout=CENSUS_TIMEOUT)
        return self._census

    async def stop(self) -> None:
        """Cancels a count that is running."""
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.wait({self._counting})

    async def _count(self) -> None:
        try:
            self._census = await self._memory.census()
        except RecallError as error:
            self._log.warning("the census failed", error=type(error).__name__)
            self._census = None
        finally:
            self._counted_at = time.monotonic()
            self._counting = None


@dataclass(frozen=True, slots=True)
class _Gauges(Collector):
    """The queue and the connection pool, as they are now."""

    queue: RequestQueue
    pool: Callable[[], Mapping[str, int]]

    def collect(self) -> Iterable[Metric]:
        queue = self.queue
        yield GaugeMetricFamily("pgrecall_http_running", "Requests that run now.", value=queue.running)
        yield GaugeMetricFamily(
            "pgrecall_http_waiting", "Requests that wait for a slot.", value=queue.waiting
        )
        yield CounterMetricFamily(
            "pgrecall_http_refused", "Requests refused because too many waited.", value=queue.refused
        )
        family = GaugeMetricFamily("pgrecall_pool", "Connections to Postgres.", labels=("figure",))
        for name, value in self.pool().items():
            family.add_metric((name,), value)
        yield family


@dataclass(frozen=True, slots=True)
class _CensusGauges(Collector):
    """The counts of the database."""

    census: Census

    def collect(self) -> Iterable[Metric]:
        zones = GaugeMetricFamily(
            "pgrecall_memories",
            "Live memories, as of the last run of the job vitality.",
            labels=("layer", "zone"),
        )
        for count in self.census.zones:
            zones.add_metric((count.layer, count.zone or "unknown"), count.memories)
        yield zones
        for name, description, value in (
            ("archived", "Archived memories.", self.census.archived),
            ("awaiting_embedding", "Memories without a vector.", self.census.awaiting_embedding),
            ("accesses_waiting", "Accesses that are not folded yet.", self.census.accesses_waiting),
        ):
            yield GaugeMetricFamily(f"pgrecall_{name}", description, value=value)
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
