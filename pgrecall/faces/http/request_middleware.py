"""The middleware that counts, times, traces and logs each request; answers stream through it untouched."""

from __future__ import annotations

import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgrecall.faces.http.service import Service

REQUEST_ID = "x-request-id"
_FORM = re.compile(r"[A-Za-z0-9._-]{1,100}")
_QUIET = ("/healthz", "/readyz", "/metrics")
"""Routes that monitors ask every few seconds: counted, and logged only when they fail."""


class Observed:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope)
        name = given.get(REQUEST_ID, "")
        request_id = name if _FORM.fullmatch(name) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 500
        began = time.perf_counter()

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        with self._service.tracing.request(scope["method"], given):
            try:
                await self._app(scope, receive, answered)
            finally:
                self._tell(scope, status, time.perf_counter() - began)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        service, method, route = self._service, scope["method"], route_of(scope)
        service.metrics.requested(method, route, status, seconds)
        service.tracing.answered(method, route, status)
        if route in _QUIET and status < 500:
            return
        state = scope["state"]
        about = {"tenant": state["memory"].tenant} if "memory" in state else {}
        failure = state.get("failure")
        if failure is not None:
            about["error"] = type(failure).__name__
        say = service.log.error if status >= 500 else service.log.info
        say(
            "request",
            method=method,
            route=route,
            status=status,
            ms=round(seconds * 1000, 2),
            request_id=state["request_id"],
            **about,
        )


def route_of(scope: Scope) -> str:
    """The route as it is written in the application: a path may hold what somebody remembered."""
    route = getattr(scope.get("route"), "path", None)
    return route or scope.get("root_path") or "unknown"
