"""Routes for maintenance: status and jobs of a tenant; and the probes, which need no key."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import response_model
from pgrecall.faces.http.service import get_service
from pgrecall.faces.telemetry.metrics import CONTENT_TYPE

router = APIRouter(prefix="/v1", route_class=ApiRoute)
probe_router = APIRouter(tags=["probes"])


@dataclass(frozen=True, slots=True)
class Alive:
    """The process answers."""

    alive: bool


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the service can serve requests.

    Attributes:
        ready: database, schema and models are ready.
        problems: the reasons why not, a sentence each.
    """

    ready: bool
    problems: tuple[str, ...]


@probe_router.get("/healthz", response_model=response_model(Alive))
async def healthz() -> Response:
    """Report that the process answers."""
    return JSONResponse({"alive": True})


@probe_router.get(
    "/readyz",
    response_model=response_model(Readiness),
    responses={503: {"model": response_model(Readiness), "description": "Not ready, with the reason."}},
)
async def readyz(request: Request) -> Response:
    """Report whether database, schema and models can serve requests; if not, 503 with the problems."""
    problems = await get_service(request).problems()
    return JSONResponse({"ready": not problems, "problems": problems}, 503 if problems else 200)


@probe_router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Return metrics for Prometheus; counts of the database are up to a minute old."""
    service = get_service(request)
    return Response(service.metrics.exposition(await service.census.get()), media_type=CONTENT_TYPE)
