"""Runs the application with uvicorn: time limits for slow clients, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from pgrecall.errors import InvalidInput
from pgrecall.faces.http.app import MCP_PATH
from pgrecall.faces.http.connections import Connections, connection_limit, network_of
from pgrecall.faces.serving import serve_until_signal

SHUTDOWN_TIMEOUT = 10
"""Seconds that running requests have to finish."""

KEEP_ALIVE = 75
"""Seconds a connection may stay idle after a request with a key: longer than proxies keep theirs."""

KEEP_ALIVE_WITHOUT_KEY = 20
"""The same for a connection that has not had one, also before its first request. Longer than clients keep
theirs (httpx 5 s, aiohttp 15 s), so that the client closes it, and never sends on one that is being closed.
Where too many are open, :mod:`.connections` closes the oldest."""

MAX_HEADER_BYTES = 32 * 1024


def listening_socket(host: str, port: int) -> socket.socket:
    """Opens a listening socket.

    Raises:
        InvalidInput: the address or port cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        both = host == "::" and socket.has_dualstack_ipv6()
        listener = socket.create_server(address[:2], family=family, dualstack_ipv6=both)
    except OSError as error:
        raise InvalidInput(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}.",
            hint="Choose another address with --host and --port.",
        ) from error
    # Connections inherit it. Without it the body waits 40 ms until the client acknowledges the headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def serve(app: FastAPI, listener: socket.socket, *, timeout: float) -> None:
    """Serves until SIGTERM or Ctrl-C, then finishes running requests within 10 seconds.

    The process ignores both signals from then on, so that its caller can close what it has opened.

    Args:
        timeout: seconds a client may take to send headers, and may leave a response unread.
    """

    class Protocol(TimeoutProtocol):
        seconds = timeout
        opened = Connections(connection_limit())

    config = Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_WITHOUT_KEY,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
    )
    await serve_until_signal(config, listener)


class TimeoutProtocol(H11Protocol):
    """HTTP/1.1 that drops a connection when its headers do not end or its response is not read in time, and
    that counts among the connections of the service."""

    seconds = 10.0
    opened = Connections()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.network = ""
        self._known = False
        self._headers_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        # Its headers are timed from their first byte: a client that opens hundreds at once sends them late.
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        self.network = network_of(transport.get_extra_info("peername"))
        self.opened.opened(self)

    @property
    def is_known(self) -> bool:
        """Whether a request of this connection was let in: the service found the tenant it acts for."""
        if not self._known and self.scope is not None:
            self._known = "memory" in self.scope.get("state", {})
        return self._known

    @property
    def has_unread(self) -> bool:
        """Whether the kernel has bytes of it that are not read yet."""
        number = self.transport.get_extra_info("socket").fileno()
        if number < 0:  # it is being closed
            return False
        waiting = select.poll()
        waiting.register(number, select.POLLIN)
        return bool(waiting.poll(0))

    def displace(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        between_requests = self.cycle is None or self.cycle.response_complete
        if between_requests and self._headers_timer is None:
            self._headers_timer = self._abort_later()
        elif not between_requests:
            _cancel(self._headers_timer)
            self._headers_timer = None
            self.opened.works(self)

    def on_response_complete(self) -> None:
        if self.is_known:
            self.timeout_keep_alive = KEEP_ALIVE
        super().on_response_complete()
        if self.cycle.response_complete:
            self.opened.waits(self)
        # The next request began to arrive during this response.
        if self.cycle.response_complete and self.conn.trailing_data[0] and self._headers_timer is None:
            self._headers_timer = self._abort_later()

    def timeout_keep_alive_handler(self) -> None:
        """Closes an idle connection, unless its next request is there and only this process is late."""
        if not self.has_unread:
            super().timeout_keep_alive_handler()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self._abort_later()

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._read_timer)

    def shutdown(self) -> None:
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete and _is_event_stream(self.scope):
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._headers_timer)
        _cancel(self._read_timer)
        self.opened.closed(self)
        super().connection_lost(exc)

    def _abort_later(self) -> asyncio.TimerHandle:
        return self.loop.call_later(self.seconds, self.transport.abort)


def _is_event_stream(scope: Mapping[str, object]) -> bool:
    """Whether a request is an MCP event stream, which would delay the shutdown; agents reconnect."""
    return scope["method"] == "GET" and scope["path"] == MCP_PATH


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
