"""Middleware around the whole application: telemetry of each request, and checks of its headers."""

from __future__ import annotations

import re
import time
import uuid
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgrecall.faces.http.problems import http_problem

if TYPE_CHECKING:
    from pgrecall.faces.http.service import Service

REQUEST_ID = "x-request-id"
_REQUEST_ID_FORM = re.compile(r"[A-Za-z0-9._-]{1,100}")
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))

_PROBES = ("/healthz", "/readyz", "/metrics")
"""Monitors request them every few seconds: counted, but logged only when they fail."""


class TelemetryMiddleware:
    """Counts, times, traces and logs each request, and returns its id. Responses stream through."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        sent_id = headers.get(REQUEST_ID, "")
        request_id = sent_id if _REQUEST_ID_FORM.fullmatch(sent_id) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 500
        start = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                sent = MutableHeaders(scope=message)
                sent[REQUEST_ID] = request_id
                if "memory" in scope["state"]:
                    sent.setdefault("cache-control", "no-store")  # a tenant's own; no proxy may keep it
            await send(message)

        telemetry = self._service.telemetry
        with telemetry.tracing.request_span(_known_method(scope), headers), telemetry.searches():
            try:
                await self._app(scope, receive, send_with_id)
            finally:
                self._record(scope, status, time.perf_counter() - start)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        service, method, route = self._service, _known_method(scope), route_path(scope)
        service.metrics.observe_request(method, route, status, seconds)
        service.telemetry.tracing.end_request(method, route, status)
        if route in _PROBES and status < 500:
            return
        state = scope["state"]
        details = {"tenant": state["memory"].tenant} if "memory" in state else {}
        failure = state.get("failure")
        if failure is not None:
            details["error"] = type(failure).__name__
        log = service.log.error if status >= 500 else service.log.info
        log(
            "request",
            method=method,
            route=route,
            status=status,
            ms=round(seconds * 1000, 2),
            request_id=state["request_id"],
            **details,
        )


class AllowedHostsMiddleware:
    """Refuses requests whose Host header names any other host (DNS rebinding)."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and host_name(Headers(scope=scope).get("host", "")) not in self._hosts:
            detail = "Without keys, this service answers only to names of this machine, such as localhost."
            await http_problem(HTTPException(421, detail))(scope, receive, send)
            return
        await self._app(scope, receive, send)


class BodyLengthMiddleware:
    """Refuses requests that state the length of their body in two ways, and closes the connection.

    A proxy may go by the other one. It would then take a part of the body for the next request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and {"content-length", "transfer-encoding"} <= set(Headers(scope=scope)):
            detail = "Send Content-Length or Transfer-Encoding, not both."
            refused = HTTPException(400, detail, headers={"Connection": "close"})
            await http_problem(refused)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _known_method(scope: Scope) -> str:
    """The method if it is a usual one. A client may send any word of 30,000 letters, and without a key: it
    would be in the log, in the names of spans, and in as many series of figures."""
    method: str = scope["method"]
    return method if method in _METHODS else "other"


def route_path(scope: Scope) -> str:
    """The path as the application declares it: the requested one may hold the key of a memory."""
    route = getattr(scope.get("route"), "path", None)
    return route or scope.get("root_path") or "unknown"


def host_name(header: str) -> str:
    """The name in a Host header, without port and brackets."""
    host, colon, port = header.strip().lower().rpartition(":")
    name = host if colon and port.isdigit() else header.strip().lower()
    return name.removeprefix("[").removesuffix("]")
