"""The MCP server over streamable HTTP: within another application, or as one of its own."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pgrecall.client import AsyncMemory
from pgrecall.faces.mcp.server import Request as McpRequest
from pgrecall.faces.mcp.server import build_server

MemoryForHttpRequest = Callable[[Request], Awaitable[AsyncMemory]]
"""Returns the open client for a request's tenant; the application around it handles what it raises."""

PATH = "/mcp"
BODY_LIMIT = 4 * 1024 * 1024
_SHUTDOWN_TIMEOUT = 3
_MEMORY_KEY = "pgrecall.memory"
_SESSION_HEADER = "mcp-session-id"


class McpApp:
    """An ASGI application that serves MCP at the path it is routed from.

    Route all methods to it (``Route("/mcp", endpoint=app)``), and keep :meth:`running` open while it serves.
    A protocol session belongs to the tenant that opened it; other tenants get 404.

    Args:
        memory_for: returns the client for a request.
        allowed_hosts: allowed values of the headers Host and Origin; None when the application around it
            asks for keys.
        body_limit: bytes that a request may have.
    """

    def __init__(
        self,
        memory_for: MemoryForHttpRequest,
        *,
        allowed_hosts: Sequence[str] | None = None,
        body_limit: int = BODY_LIMIT,
    ) -> None:
        self._memory_for = memory_for
        self._sessions = StreamableHTTPSessionManager(
            build_server(_memory_from_scope, _session_id),
            security_settings=_security_settings(allowed_hosts),
            max_request_body_size=body_limit,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """The context in which it serves; it can be entered once."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        memory = await self._memory_for(Request(scope))
        user = AuthenticatedUser(AccessToken(token="", client_id=memory.tenant, scopes=[]))
        await self._sessions.asgi_app({**scope, _MEMORY_KEY: memory, "user": user}, receive, send)


def serve_local(
    open_memory: Callable[[], AbstractAsyncContextManager[AsyncMemory]], listening: socket.socket
) -> None:
    """Serves one tenant at ``/mcp`` to clients on this machine, without keys, until a signal arrives."""
    port = listening.getsockname()[1]
    hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    opened: list[AsyncMemory] = []

    async def memory_for(_: Request) -> AsyncMemory:
        return opened[0]

    app = McpApp(memory_for, allowed_hosts=hosts)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with open_memory() as memory, app.running():
            opened.append(memory)
            yield

    config = uvicorn.Config(
        Starlette(routes=[Route(PATH, endpoint=app)], lifespan=lifespan),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
    )
    uvicorn.Server(config).run(sockets=[listening])


async def _memory_from_scope(request: McpRequest) -> AsyncMemory:
    assert request.request is not None
    memory: AsyncMemory = request.request.scope[_MEMORY_KEY]
    return memory


def _session_id(request: McpRequest) -> str | None:
    return request.request.headers.get(_SESSION_HEADER) if request.request is not None else None


def _security_settings(allowed_hosts: Sequence[str] | None) -> TransportSecuritySettings:
    """Without keys, no web page may reach the server through a domain that resolves to this machine."""
    if allowed_hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    origins = [f"http://{host}" for host in allowed_hosts]
    return TransportSecuritySettings(allowed_hosts=list(allowed_hosts), allowed_origins=origins)
