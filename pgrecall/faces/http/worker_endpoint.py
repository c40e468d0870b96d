"""The endpoint of a worker: /metrics for Prometheus, /healthz and /readyz for its supervisor."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn import Config, Server

from pgrecall.faces.http.metrics import CONTENT_TYPE
from pgrecall.faces.http.server import TimeoutProtocol, listening_socket
from pgrecall.models.maintenance import JobOutcome

_BUCKETS = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0)
_SHUTDOWN_TIMEOUT = 5


class RunMetrics(logging.Handler):
    """Counts the runs of jobs that are logged. No label names a tenant."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = CollectorRegistry()
        self._runs = Histogram(
            "pgrecall_worker_run_seconds",
            "Duration of the runs of jobs by this worker, by how they ended.",
            ("job", "state"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._done = Counter(
            "pgrecall_worker_done",
            "What the runs of jobs by this worker have done, such as memories embedded.",
            ("job",),
            registry=self.registry,
        )
        self._ended = Gauge(
            "pgrecall_worker_run_timestamp_seconds",
            "When the newest run of a job by this worker ended, by how it ended.",
            ("job", "state"),
            registry=self.registry,
        )

    def emit(self, record: logging.LogRecord) -> None:
        outcome = getattr(record, "outcome", None)
        if isinstance(outcome, JobOutcome):
            self._runs.labels(outcome.job, outcome.state).observe(outcome.seconds)
            self._done.labels(outcome.job).inc(outcome.done)
            self._ended.labels(outcome.job, outcome.state).set(record.created)


@contextmanager
def worker_endpoint(host: str, port: int, problems: Callable[[], Sequence[str]]) -> Iterator[str]:
    """Answers in a thread for the duration; yields the address.

    Args:
        problems: called at each /readyz; the reasons why the worker is not ready, a sentence each.

    Raises:
        InvalidInput: the address or port cannot be used.
    """
    metrics, logger = RunMetrics(), logging.getLogger("pgrecall.jobs")
    with listening_socket(host, port) as listener:
        config = Config(
            _application(metrics, problems),
            http=TimeoutProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
        )
        server = Server(config)
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        logger.addHandler(metrics)
        thread.start()
        try:
            name = f"[{host}]" if ":" in host else host
            yield f"http://{name}:{listener.getsockname()[1]}"
        finally:
            logger.removeHandler(metrics)
            server.should_exit = True
            thread.join()


def _application(metrics: RunMetrics, problems: Callable[[], Sequence[str]]) -> Starlette:
    async def alive(_: Request) -> Response:
        return JSONResponse({"alive": True})

    async def ready(_: Request) -> Response:
        found = list(problems())
        return JSONResponse({"ready": not found, "problems": found}, 503 if found else 200)

    async def exposition(_: Request) -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE)

    return Starlette(
        routes=[Route("/healthz", alive), Route("/readyz", ready), Route("/metrics", exposition)]
    )
