"""Serving the application: uvicorn on a socket of ours, clients that dawdle cut off, an end in order."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from pgrecall.errors import InvalidInput
from pgrecall.faces.http.app import AGENTS

GRACE = 10
"""Seconds that requests under way have to end once the service is told to stop."""

KEEP_ALIVE = 75
"""Seconds a connection may stay idle between two requests: longer than proxies keep theirs."""

LONGEST_HEADERS = 32 * 1024

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        InvalidInput: it cannot; says why.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        both = host == "::" and socket.has_dualstack_ipv6()
        listener = socket.create_server(address[:2], family=family, dualstack_ipv6=both)
    except OSError as error:
        raise InvalidInput(
            f"Nobody can listen at {host}, port {port}: {error.strerror or error}.",
            hint="Choose others with --host and --port.",
        ) from error
    # Connections inherit it. Else the body of an answer waits 40 ms for the client to acknowledge its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def serve(app: FastAPI, listener: socket.socket, *, patience: float) -> None:
    """Serves until SIGTERM or Ctrl-C; then what runs is finished, within 10 seconds.

    Args:
        patience: seconds a client may take for the headers of a request, and may leave an answer unread.
    """

    class Protocol(PatientProtocol):
        seconds = patience

    config = Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
    )
    with _signals_spent():
        await Server(config).serve(sockets=[listener])


@contextmanager
def _signals_spent() -> Iterator[None]:
    """uvicorn raises the signal that stopped it once more at its end; it has done its work by then."""
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with limited patience: a request whose headers do not end, or an answer that is not read,
    ends the connection."""

    seconds: float

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._headers_due: asyncio.TimerHandle | None = None
        self._reading_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self._headers_due = self._abort_later()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        between_requests = self.cycle is None or self.cycle.response_complete
        if between_requests and self._headers_due is None:
            self._headers_due = self._abort_later()
        elif not between_requests:
            _call_off(self._headers_due)
            self._headers_due = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # What came of the next request while this one was answered.
        if self.cycle.response_complete and self.conn.trailing_data[0] and self._headers_due is None:
            self._headers_due = self._abort_later()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading_due = self._abort_later()

    def resume_writing(self) -> None:
        super().resume_writing()
        _call_off(self._reading_due)

    def shutdown(self) -> None:
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete and _never_ends(self.scope):
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        _call_off(self._headers_due)
        _call_off(self._reading_due)
        super().connection_lost(exc)

    def _abort_later(self) -> asyncio.TimerHandle:
        return self.loop.call_later(self.seconds, self.transport.abort)


def _never_ends(scope: Mapping[str, object]) -> bool:
    """Whether a request is an agent's stream of news, which would hold up the end; agents ask again."""
    return scope["method"] == "GET" and scope["path"] == AGENTS


def _call_off(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
