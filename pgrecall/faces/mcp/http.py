"""The MCP server over streamable HTTP, within another application or alone."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from typing import TYPE_CHECKING

import anyio
import uvicorn
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from pgrecall import AsyncMemory
from pgrecall.errors import RecallError
from pgrecall.faces.json_bodies import require_parsable
from pgrecall.faces.mcp.server import Request as McpRequest
from pgrecall.faces.mcp.server import TurnForRequest, build_server
from pgrecall.faces.serving import serve_until_signal
from pgrecall.faces.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from pgrecall.faces.telemetry.metrics import Metrics

HoldBody = Callable[[AsyncMemory], AbstractContextManager[Callable[[bytes], None]]]
"""Counts the memory of a tenant's body: what it returns is called with each part, and may refuse."""

TurnForHttpRequest = Callable[[Request, AsyncMemory], AbstractAsyncContextManager[object]]
"""Waits until a request may act for its tenant, and holds its turn; refuses by HTTPException."""

MemoryForHttpRequest = Callable[[Request], Awaitable[AsyncMemory]]
"""Returns the open client for a request's tenant; the application around it handles what it raises."""

PATH = "/mcp"
BODY_LIMIT = 4 * 1024 * 1024
BODY_SECONDS = 10.0
SESSIONS = 500
"""Protocol sessions of one tenant that may be open; idle ones end after half an hour."""

_SHUTDOWN_TIMEOUT = 3
_MEMORY_KEY, _TRACE_KEY = "pgrecall.memory", "pgrecall.trace"
_SESSION_HEADER = "mcp-session-id"

log = logging.getLogger(__name__)


class McpApp:
    """An ASGI application that serves MCP at the path it is routed from.

    Route all methods to it (``Route("/mcp", endpoint=app)``), and keep :meth:`running` open while it serves.
    A protocol session belongs to the tenant that opened it; other tenants get 404. Each tenant may open so
    many, so that none uses up those of others.

    Args:
        memory_for: returns the client for a request.
        turn_for: bounds how many calls of a tenant run at once.
        hold_body: bounds the memory of a tenant's requests.
        allowed_hosts: allowed values of the headers Host and Origin; None when the application around it
            asks for keys.
        body_limit: bytes that a request may have.
        body_seconds: seconds that a client may take to send them.
        telemetry: counts and traces calls; None: traces alone.
    """

    def __init__(
        self,
        memory_for: MemoryForHttpRequest,
        *,
        turn_for: TurnForHttpRequest = lambda _, __: nullcontext(),
        hold_body: HoldBody = lambda _: nullcontext(lambda _: None),
        allowed_hosts: Sequence[str] | None = None,
        body_limit: int = BODY_LIMIT,
        body_seconds: float = BODY_SECONDS,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._memory_for = memory_for
        self._telemetry = telemetry or Telemetry()
        self._server = build_server(
            _memory_from_scope,
            _session_id,
            self._telemetry,
            _trace_from_scope,
            _with_our_errors(turn_for),
            reads_only=_reads_only,
        )
        self._hold_body = hold_body
        self._security = _security_settings(allowed_hosts)
        self._body_limit = body_limit
        self._body_seconds = body_seconds
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._starting = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The context in which it serves; it can be entered once."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            yield
            tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        memory = await self._memory_for(Request(scope))
        user = AuthenticatedUser(AccessToken(token="", client_id=memory.tenant, scopes=[]))
        # A session's calls run in a task of their own, which knows no span of this request.
        kept = {_MEMORY_KEY: memory, _TRACE_KEY: self._telemetry.tracing.context(), "user": user}
        manager = await self._manager_of(memory.tenant)
        with self._hold_body(memory) as take:
            if scope["method"] == "POST":
                try:
                    receive = await self._received(receive, take)
                except ClientDisconnect:
                    return
            await manager.asgi_app({**scope, **kept}, receive, send)

    async def _received(self, receive: Receive, take: Callable[[bytes], None]) -> Receive:
        """The same request with its whole body there; the SDK would wait for a slow client without end.

        Raises:
            HTTPException: 408, it did not arrive in time; 400 or 413, it is not JSON that is cheap to
                parse; or what ``take`` raises.
            ClientDisconnect: the client went away.
        """
        messages: list[Message] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(self._body_seconds):
                while more and size <= self._body_limit:  # the SDK refuses what is larger
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    part = message.get("body", b"")
                    take(part)
                    size += len(part)
                    more = message.get("more_body", False)
                    messages.append(message)
        except TimeoutError:
            detail = f"The request did not arrive within {self._body_seconds:g} seconds."
            raise HTTPException(408, detail, {"Connection": "close"}) from None
        if not more and size <= self._body_limit:
            require_parsable(b"".join(message.get("body", b"") for message in messages))

        async def replayed() -> Message:
            return messages.pop(0) if messages else await receive()

        return replayed

    async def _manager_of(self, tenant: str) -> StreamableHTTPSessionManager:
        """The sessions of a tenant."""
        async with self._starting:
            if tenant not in self._managers:
                assert self._tasks is not None  # it serves within `running`
                manager = StreamableHTTPSessionManager(
                    self._server,
                    security_settings=self._security,
                    max_request_body_size=self._body_limit,
                    max_sessions=SESSIONS,
                )
                await self._tasks.start(_keep_running, manager)
                self._managers[tenant] = manager
            return self._managers[tenant]


async def _keep_running(
    manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


def _with_our_errors(turn_for: TurnForHttpRequest) -> TurnForRequest:
    """The same queue; the agent gets a refusal as the error of its tool."""

    @asynccontextmanager
    async def turn(request: McpRequest, memory: AsyncMemory) -> AsyncIterator[None]:
        assert request.request is not None
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(turn_for(request.request, memory))
            except HTTPException as refusal:
                raise RecallError(refusal.detail) from None
            yield

    return turn


async def serve_local(
    memory: AsyncMemory,
    listening: socket.socket,
    telemetry: Telemetry | None = None,
    *,
    body_limit: int = BODY_LIMIT,
) -> None:
    """Serves one tenant at ``/mcp`` to clients on this machine, without keys, until a signal arrives.

    With metrics in its telemetry, it answers ``/metrics`` too. ``body_limit`` is in bytes.
    """
    port = listening.getsockname()[1]
    hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]

    async def memory_for(_: Request) -> AsyncMemory:
        return memory

    app = McpApp(memory_for, allowed_hosts=hosts, body_limit=body_limit, telemetry=telemetry)
    routes = [Route(PATH, endpoint=app)]
    if telemetry is not None and telemetry.metrics is not None:
        routes.append(_metrics_route(telemetry.metrics, memory, hosts))
    config = uvicorn.Config(
        Starlette(routes=routes),
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
    )
    async with app.running():
        await serve_until_signal(config, listening)


def _metrics_route(metrics: Metrics, memory: AsyncMemory, hosts: Sequence[str]) -> Route:
    """``/metrics`` of a server that answers only to names of this machine."""
    from pgrecall.faces.telemetry.census import CensusCache
    from pgrecall.faces.telemetry.metrics import CONTENT_TYPE

    def report(error: RecallError) -> None:
        log.warning("The census failed: %s", type(error).__name__)

    census = CensusCache(memory.service.census, report)
    metrics.register_pool(memory.pool_stats)

    async def exposition(request: Request) -> Response:
        if request.headers.get("host") not in hosts:
            return PlainTextResponse("This address answers only to names of this machine.", 421)
        return Response(metrics.exposition(await census.get()), media_type=CONTENT_TYPE)

    return Route("/metrics", exposition)


async def _memory_from_scope(request: McpRequest) -> AsyncMemory:
    assert request.request is not None
    memory: AsyncMemory = request.request.scope[_MEMORY_KEY]
    return memory


def _trace_from_scope(request: McpRequest) -> object:
    return None if request.request is None else request.request.scope.get(_TRACE_KEY)


def _reads_only(request: McpRequest) -> bool:
    """Whether the key or token of a request may only read, as the application around it found."""
    return request.request is not None and getattr(request.request.state, "reads_only", False)


def _session_id(request: McpRequest) -> str | None:
    return request.request.headers.get(_SESSION_HEADER) if request.request is not None else None


def _security_settings(allowed_hosts: Sequence[str] | None) -> TransportSecuritySettings:
    """Without keys, no web page may reach the server through a domain that resolves to this machine."""
    if allowed_hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    origins = [f"http://{host}" for host in allowed_hosts]
    return TransportSecuritySettings(allowed_hosts=list(allowed_hosts), allowed_origins=origins)
