"""What every route of the API goes through: its caller is known, its body bounded, its turn awaited, and its
work ends when its caller goes away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from pgrecall.faces.http.authentication import memory_of
from pgrecall.faces.http.caller import Caller, replayed, too_large
from pgrecall.faces.http.service import Service, service_of

if TYPE_CHECKING:
    from pgrecall import AsyncMemory

GONE = 499
"""The status, seen in logs and figures alone, of a request whose caller went away."""

_NOT_DRAINED = (408, 503)
"""Whoever was too slow would be again; and where too much is asked already, nothing more is read."""


class GuardedRoute(APIRoute):
    """A route of the API."""

    async def whose(self, service: Service, request: Request) -> AsyncMemory:
        """The memory of whom a request acts for; raises HTTPException 401 where that is nobody."""
        return await memory_of(service, request.headers)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            service, caller = service_of(request), Caller(request)
            try:
                whose = partial(self.whose, service, request)
                limit = service.settings.http_body_bytes
                body = await admitted_body(service, request, caller, whose, limit)
                if body:
                    _require_json(request)
                again = Request(request.scope, replayed(body))
                return await caller.while_here(in_its_turn(service, handle(again)))
            except ClientDisconnect:
                return Response(status_code=GONE)

        return guarded


class LendingRoute(GuardedRoute):
    """A route that looks at no memory: whoever reads the service's announcement may come in, too."""

    async def whose(self, service: Service, request: Request) -> AsyncMemory:
        given = request.headers.get("authorization", "").encode()
        if service.token is not None and compare_digest(given, f"Bearer {service.token}".encode()):
            return service.memory
        return await super().whose(service, request)


async def in_its_turn(service: Service, answer: Coroutine[Any, Any, Response]) -> Response:
    """The answer, worked out once a place to work at is free."""
    try:
        async with service.admission.place():
            return await answer
    finally:
        answer.close()  # where its turn never came


async def admitted_body(
    service: Service,
    request: Request,
    caller: Caller,
    whose: Callable[[], Awaitable[AsyncMemory]],
    limit: int,
) -> bytes:
    """The body of a request of a known caller, at most ``limit`` bytes; of whoever is unknown or sends too
    much nothing is kept. ``request.state.memory`` is the memory of whom it acts for, as ``whose`` says."""
    try:
        if int(request.headers.get("content-length", "0")) > limit:
            raise too_large(limit)
        request.state.memory = await caller.while_here(_known(service, whose))
        body = await caller.body(limit, service.settings.http_timeout)
    except HTTPException as error:
        drained = error.status_code not in _NOT_DRAINED and not request.headers.get("expect")
        if not (drained and await caller.hears()):
            error.headers = {**(error.headers or {}), "Connection": "close"}
        raise
    return body


async def _known(service: Service, whose: Callable[[], Awaitable[AsyncMemory]]) -> AsyncMemory:
    async with service.admission.place():
        return await whose()


def _require_json(request: Request) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body must be JSON: send `Content-Type: application/json`.")
