"""The HTTP endpoint of a process that is not a service: /metrics for Prometheus, /healthz and /readyz."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn import Config, Server

from pgrecall.faces.http.server import TimeoutProtocol, listening_socket
from pgrecall.faces.telemetry.metrics import CONTENT_TYPE, Metrics
from pgrecall.nouns.service.models import Census

_SHUTDOWN_TIMEOUT = 5

Count = Callable[[], Awaitable[Census | None]]
"""Returns figures of the database, called on the endpoint's own event loop."""


@contextmanager
def metrics_endpoint(
    host: str, port: int, metrics: Metrics, problems: Callable[[], Sequence[str]], count: Count | None = None
) -> Iterator[str]:
    """Answers in a thread for the duration; yields the address.

    Args:
        problems: called at each /readyz; the reasons why the process is not ready, a sentence each.
        count: figures of the database for /metrics; None: without them.

    Raises:
        InvalidInput: the address or port cannot be used.
    """
    with listening_socket(host, port) as listener:
        config = Config(
            _application(metrics, problems, count),
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
        thread.start()
        try:
            name = f"[{host}]" if ":" in host else host
            yield f"http://{name}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def _application(metrics: Metrics, problems: Callable[[], Sequence[str]], count: Count | None) -> Starlette:
    async def alive(_: Request) -> Response:
        return JSONResponse({"alive": True})

    async def ready(_: Request) -> Response:
        found = list(problems())
        return JSONResponse({"ready": not found, "problems": found}, 503 if found else 200)

    async def exposition(_: Request) -> Response:
        census = None if count is None else await count()
        return Response(metrics.exposition(census), media_type=CONTENT_TYPE)

    return Starlette(
        routes=[Route("/healthz", alive), Route("/readyz", ready), Route("/metrics", exposition)]
    )
