"""Many clients over streamable HTTP: as a route of another application, or as an application of its own."""

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

from pgrecall import AsyncMemory
from pgrecall.faces.mcp.server import Request as McpRequest
from pgrecall.faces.mcp.server import make_server

MemoryForRequest = Callable[[Request], Awaitable[AsyncMemory]]
"""The open client of whoever sends a request; what it raises is answered by the application around it."""

PATH = "/mcp"
BODY_LIMIT = 4 * 1024 * 1024
_STOPPING_SECONDS = 3
_MEMORY = "pgrecall.memory"
_SESSION = "mcp-session-id"


class McpApp:
    """An ASGI application that serves MCP at whatever path it is routed from.

    Route it whole (``Route("/mcp", endpoint=app)``, all methods), and hold :meth:`running` open while
    requests come in. A session of the protocol belongs to the tenant that began it: for others it does not
    exist.
    """

    def __init__(
        self,
        memory_for_request: MemoryForRequest,
        *,
        allowed_hosts: Sequence[str] | None = None,
        body_limit: int = BODY_LIMIT,
    ) -> None:
        self._memory_for_request = memory_for_request
        self._sessions = StreamableHTTPSessionManager(
            make_server(_memory_of, _session_of),
            security_settings=_security(allowed_hosts),
            max_request_body_size=body_limit,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """What has to be open while it serves; once only."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        memory = await self._memory_for_request(Request(scope))
        whose = AuthenticatedUser(AccessToken(token="", client_id=memory.tenant, scopes=[]))
        await self._sessions.asgi_app({**scope, _MEMORY: memory, "user": whose}, receive, send)


def mcp_app(
    memory_for_request: MemoryForRequest,
    *,
    allowed_hosts: Sequence[str] | None = None,
    body_limit: int = BODY_LIMIT,
) -> McpApp:
    """The MCP server as an ASGI application for another one to route, see :class:`McpApp`.

    Args:
        allowed_hosts: what the headers Host and Origin may name; None leaves that to the application around
            it, which asks for keys.
        body_limit: bytes that a request may have.
    """
    return McpApp(memory_for_request, allowed_hosts=allowed_hosts, body_limit=body_limit)


def serve_local(
    open_memory: Callable[[], AbstractAsyncContextManager[AsyncMemory]], listening: socket.socket
) -> None:
    """Serves at ``/mcp`` for clients on this machine, one tenant and no keys, until told to stop."""
    port = listening.getsockname()[1]
    hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    opened: list[AsyncMemory] = []

    async def only_one(_: Request) -> AsyncMemory:
        return opened[0]

    app = mcp_app(only_one, allowed_hosts=hosts)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with open_memory() as memory, app.running():
            opened.append(memory)
            yield

    config = uvicorn.Config(
        Starlette(routes=[Route(PATH, endpoint=app)], lifespan=lifespan),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_STOPPING_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listening])


async def _memory_of(request: McpRequest) -> AsyncMemory:
    assert request.request is not None
    memory: AsyncMemory = request.request.scope[_MEMORY]
    return memory


def _session_of(request: McpRequest) -> str | None:
    """The protocol's session, where it has one."""
    return request.request.headers.get(_SESSION) if request.request is not None else None


def _security(allowed_hosts: Sequence[str] | None) -> TransportSecuritySettings:
    """A page in a browser must not reach a server without keys by a name that leads to this machine."""
    if allowed_hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    origins = [f"http://{host}" for host in allowed_hosts]
    return TransportSecuritySettings(allowed_hosts=list(allowed_hosts), allowed_origins=origins)
