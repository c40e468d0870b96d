"""Without keys, only requests that call this machine by its own name: a page in a browser must not reach the
service by a name of its own that leads here."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from pgrecall.faces.http.problems import refused

LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))


class LocalOnly:
    """ASGI middleware that refuses requests to any other host."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and host_of(Headers(scope=scope).get("host", "")) not in self._hosts:
            sentence = "Without keys this service answers to names of this machine only, such as localhost."
            await refused(HTTPException(421, sentence))(scope, receive, send)
            return
        await self._app(scope, receive, send)


def host_of(header: str) -> str:
    """The name in a Host header, without port and brackets."""
    host, colon, port = header.strip().lower().rpartition(":")
    name = host if colon and port.isdigit() else header.strip().lower()
    return name.removeprefix("[").removesuffix("]")
