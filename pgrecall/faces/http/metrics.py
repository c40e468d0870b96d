"""Prometheus metrics of the HTTP service: those of every face, its requests and its queue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pgrecall.faces.http.bodies_in_flight import BodiesInFlight
from pgrecall.faces.http.request_queue import RequestQueue
from pgrecall.faces.telemetry.metrics import BUCKETS, Metrics


class HttpMetrics(Metrics):
    """The metrics of one service."""

    def __init__(self, queue: RequestQueue, bodies: BodiesInFlight) -> None:
        super().__init__()
        self._requests = Histogram(
            "pgrecall_http_request_seconds",
            "Duration of requests by route and status.",
            ("method", "route", "status"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.registry.register(_Queue(queue))
        self.registry.register(_Bodies(bodies))

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request; ``method`` and ``route`` are known ones, as each makes a series of its own."""
        self._requests.labels(method, route, str(status)).observe(seconds)


@dataclass(frozen=True, slots=True)
class _Queue(Collector):
    """The current state of the queue."""

    queue: RequestQueue

    def collect(self) -> Iterable[Metric]:
        queue = self.queue
        yield GaugeMetricFamily("pgrecall_http_running", "Requests being handled.", value=queue.running)
        yield GaugeMetricFamily("pgrecall_http_waiting", "Requests waiting for a slot.", value=queue.waiting)
        yield CounterMetricFamily(
            "pgrecall_http_refused", "Requests refused because too many waited.", value=queue.refused
        )
        yield GaugeMetricFamily(
            "pgrecall_http_share", "Requests of one tenant that may run at once.", value=queue.share
        )
        yield GaugeMetricFamily(
            "pgrecall_http_waiting_for_share",
            "Requests that wait although a slot is free, because their tenant has its share.",
            value=queue.waiting_for_share,
        )
        yield CounterMetricFamily(
            "pgrecall_http_refused_for_share",
            "Requests refused because their tenant had its share; also counted as refused.",
            value=queue.refused_for_share,
        )


@dataclass(frozen=True, slots=True)
class _Bodies(Collector):
    """Request bodies in memory."""

    bodies: BodiesInFlight

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "pgrecall_http_body_bytes",
            "Bytes of memory that request bodies and their values take.",
            value=self.bodies.total,
        )
        yield CounterMetricFamily(
            "pgrecall_http_refused_for_bytes",
            "Requests refused because bodies of their tenant held too many bytes.",
            value=self.bodies.refused,
        )
