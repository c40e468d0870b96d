"""The application: the API, the probes, and what is mounted beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp

from pgrecall import __version__
from pgrecall.faces.http import probes
from pgrecall.faces.http.authentication import memory_of
from pgrecall.faces.http.local_requests import LocalOnly
from pgrecall.faces.http.mounts import Beside
from pgrecall.faces.http.openapi import Application
from pgrecall.faces.http.problems import add_problems
from pgrecall.faces.http.request_middleware import Observed
from pgrecall.faces.http.routes import (
    feedback,
    memories,
    models,
    prune,
    search,
    settings,
    status,
)
from pgrecall.faces.http.service import Service

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.mcp.http import McpApp

ABOUT = "Agent memory in your own Postgres, ranked by what matters now."

AGENTS = "/mcp"
"""Where agents that speak the Model Context Protocol ask."""

PARTS = (
    memories,
    search,
    feedback,
    prune,
    settings,
    status,
    models,
    probes,
)


def create_app(service: Service, *, page: ASGIApp | None = None) -> FastAPI:
    """The application that serves a client.

    Args:
        page: served at whatever path nothing else has; it asks ``request.app`` for nothing.
    """

    agents = _agents(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            service.start()
            stack.push_async_callback(service.stop)
            stack.push_async_callback(app.state.counts.stop)
            if agents is not None:
                await stack.enter_async_context(agents.running())
            yield

    app = Application(
        title="pgrecall",
        summary=ABOUT,
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # both pages load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_named,
    )
    app.state.service = service
    app.state.counts = probes.Counts()
    for part in PARTS:
        app.include_router(part.router)
    add_problems(app)
    app.needs_key = service.door.needs_key
    if agents is not None:
        app.router.routes.append(Route(AGENTS, agents, name="mcp"))
    if page is not None:
        app.router.routes.append(Beside(page, app.router.routes))
    if service.door.hosts is not None:
        app.add_middleware(LocalOnly, hosts=service.door.hosts)
    app.add_middleware(Observed, service=service)
    return app


def _agents(service: Service) -> McpApp | None:
    """The MCP server, where its extra is installed; the same keys open it."""
    if find_spec("mcp") is None:
        return None
    from pgrecall.faces.mcp.http import mcp_app

    async def whose(request: Request) -> AsyncMemory:
        async with service.admission.place():
            memory = await memory_of(service, request.headers)
        request.state.memory = memory
        return memory

    return mcp_app(whose, body_limit=service.settings.http_body_bytes)


def _named(route: APIRoute) -> str:
    return route.name
