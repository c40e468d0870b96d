"""The application: the API with its OpenAPI document, the MCP server and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Scope

from pgrecall import __version__
from pgrecall.faces.http.authentication import (
    authenticate,
    checked_again,
    may_write,
    require_valid_key,
)
from pgrecall.faces.http.declared_routes import declared_router
from pgrecall.faces.http.middleware import (
    AllowedHostsMiddleware,
    BodyLengthMiddleware,
    TelemetryMiddleware,
)
from pgrecall.faces.http.openapi_document import API_PREFIX, finish_document
from pgrecall.faces.http.problems import add_error_handlers
from pgrecall.faces.http.routes import (
    erasures,
    history,
    imports,
    maintenance,
    memories,
    plans,
    quality,
    search,
)
from pgrecall.faces.http.service import Service

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.oauth.server import OAuth
    from pgrecall.faces.mcp.http import McpApp

SUMMARY = "Agent memory in your own Postgres, ranked by relevance and use."
MCP_PATH = "/mcp"
DOCS_PATH = "/docs"

_ROUTED = (memories, imports, search, quality, maintenance, plans, erasures, history)
ROUTERS = (declared_router(), *(module.router for module in _ROUTED), maintenance.probe_router)


class ApiApplication(FastAPI):
    """A FastAPI application whose OpenAPI document has our problems and keys."""

    needs_key = True

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = finish_document(super().openapi(), needs_key=self.needs_key)
        return self.openapi_schema


class NamedRoute(Route):
    """A route that metrics and logs name, as they do those of FastAPI."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self} if found else found


class FallbackMount(Mount):
    """Mounts an application at the root for all paths that the API does not have.

    Paths below ``/v1`` stay the API's, so that its errors are problems and not pages.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        super().__init__("/", app, name="page")
        self._taken = frozenset(route.path for route in routes if isinstance(route, Route))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope["path"]
        if path in self._taken or path == API_PREFIX or path.startswith(f"{API_PREFIX}/"):
            return Match.NONE, {}
        return super().matches(scope)


def create_app(service: Service, *, page: ASGIApp | None = None, oauth: OAuth | None = None) -> FastAPI:
    """Builds the application of a service.

    Args:
        page: serves every path that the API does not have.
        oauth: gives tokens for the MCP server to programs that people connect.
    """
    mcp = _mcp_app(service, oauth)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            service.start()
            stack.push_async_callback(service.stop)
            if mcp is not None:
                await stack.enter_async_context(mcp.running())
            yield

    app = ApiApplication(
        title="pgrecall",
        summary=SUMMARY,
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from other sites; `/docs` is ours
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.service = service
    for router in ROUTERS:
        app.include_router(router)
    add_error_handlers(app)
    app.needs_key = service.policy.needs_key
    app.router.routes.append(NamedRoute(DOCS_PATH, _docs, name="docs"))
    if mcp is not None:
        app.router.routes.append(NamedRoute(MCP_PATH, mcp, name="mcp"))
    for route in () if oauth is None else oauth.routes():
        named = NamedRoute(route.path, route.endpoint, methods=[*(route.methods or ())], name="oauth")
        app.router.routes.append(named)
    if page is not None:
        app.router.routes.append(FallbackMount(page, app.router.routes))
    if service.policy.allowed_hosts is not None:
        app.add_middleware(AllowedHostsMiddleware, hosts=service.policy.allowed_hosts)
    app.add_middleware(BodyLengthMiddleware)
    app.add_middleware(TelemetryMiddleware, service=service)
    return app


def _mcp_app(service: Service, oauth: OAuth | None) -> McpApp | None:
    """The MCP server, where its extra is installed; it takes the same keys, and tokens of OAuth."""
    if find_spec("mcp") is None:
        return None
    from pgrecall.faces.mcp.http import McpApp

    async def memory_for(request: Request) -> AsyncMemory:
        try:
            if oauth is not None and oauth.brings_token(request):
                request.state.check = checked_again(partial(oauth.require_valid_token, request))
                memory = await oauth.authenticate(request)
            else:
                request.state.check = checked_again(partial(require_valid_key, service, request.headers))
                memory = await authenticate(service, request.headers)
                request.state.reads_only = not may_write(request.headers)
        except HTTPException as refusal:
            raise refusal if oauth is None else oauth.challenged(refusal) from None
        request.state.memory = memory
        return memory

    @asynccontextmanager
    async def turn_for(request: Request, memory: AsyncMemory) -> AsyncIterator[None]:
        async with service.queue.slot(memory.tenant):
            await request.state.check()
            yield

    return McpApp(
        memory_for,
        turn_for=turn_for,
        hold_body=lambda memory: service.bodies.hold(memory.tenant),
        body_limit=service.settings.http_body_bytes,
        body_seconds=service.settings.http_timeout,
        telemetry=service.telemetry,
    )


async def _docs(request: Request) -> Response:
    from pgrecall.faces.http.reference.routes_page import docs_response

    return docs_response(request.app.openapi())


def _operation_id(route: APIRoute) -> str:
    return route.name
