"""Is it alive, is it ready, and its figures. None of them needs a key, and none tells of a tenant."""

from __future__ import annotations

import asyncio
import time

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pgrecall.errors import RecallError
from pgrecall.faces.http.metrics import CONTENT_TYPE
from pgrecall.faces.http.service import Service, service_of
from pgrecall.models.service import Census

CENSUS_SECONDS = 60.0
"""How old the figures of the database may be: they read every memory."""

CENSUS_PATIENCE = 2.0
"""Seconds that whoever asks waits for new ones."""

router = APIRouter(tags=["probes"])


@router.get("/healthz", response_class=JSONResponse)
async def alive() -> Response:
    """The process answers."""
    return JSONResponse({"alive": True})


@router.get("/readyz", response_class=JSONResponse)
async def ready(request: Request) -> Response:
    """Database, schema and models can serve requests; if not, 503 and why."""
    unready = await service_of(request).unready()
    document = {"ready": not unready, "problems": unready}
    return JSONResponse(document, 503 if unready else 200)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Figures for Prometheus; those of the database are up to a minute old."""
    service = service_of(request)
    census = await _counts(request).newest(service)
    return Response(service.metrics.text(census), media_type=CONTENT_TYPE)


class Counts:
    """The figures of the database, counted once a minute however many ask."""

    def __init__(self) -> None:
        self._census: Census | None = None
        self._counted_at = -CENSUS_SECONDS
        self._counting: asyncio.Task[None] | None = None

    async def newest(self, service: Service) -> Census | None:
        """The figures, older ones where counting takes its time; None when the database gave none."""
        if time.monotonic() - self._counted_at >= CENSUS_SECONDS and self._counting is None:
            self._counting = asyncio.create_task(self._count(service))
        if self._counting is not None:
            await asyncio.wait({self._counting}, timeout=CENSUS_PATIENCE)
        return self._census

    async def stop(self) -> None:
        """Breaks off what is being counted."""
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.wait({self._counting})

    async def _count(self, service: Service) -> None:
        try:
            self._census = await service.memory.service.census()
        except RecallError as error:
            service.log.warning("figures cannot be counted", error=type(error).__name__)
            self._census = None
        finally:
            self._counted_at = time.monotonic()
            self._counting = None


def _counts(request: Request) -> Counts:
    counts: Counts = request.app.state.counts
    return counts
