"""Common steps of all routes: authentication, limits of the body, known parameters, a slot, disconnects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from pgrecall.database.calling_interface import acting_through
from pgrecall.faces.http.authentication import authenticate, checked_again, require_right, require_valid_key
from pgrecall.faces.http.bodies_in_flight import uncounted
from pgrecall.faces.http.key_paths import accept_any_key
from pgrecall.faces.http.request_limits import ClientConnection, body_too_large, replay
from pgrecall.faces.http.service import Service, get_service
from pgrecall.faces.json_bodies import require_parsable

if TYPE_CHECKING:
    from pgrecall import AsyncMemory

Authenticate = Callable[[], Awaitable["AsyncMemory | None"]]
"""Returns the client for the tenant of a request; None where nobody need have signed in."""

CLIENT_CLOSED_REQUEST = 499
"""Status of a request whose client disconnected, for logs and metrics only."""

_NOT_DRAINED = (408, 503)
"""A slow client would be slow again, and an overloaded service reads nothing more."""

accept_any_key()  # before any route is made; every module of routes imports this one


class ApiRoute(APIRoute):
    """A route of the API."""

    async def authenticate(self, service: Service, request: Request) -> AsyncMemory:
        """The client for the tenant that the request acts for; raises HTTPException 401 or 403."""
        memory = await authenticate(service, request.headers)
        require_right(request)
        return memory

    def check_body(self, request: Request, body: bytes) -> None:
        """Checks a body before it is parsed.

        Raises:
            HTTPException: 415, 400 or 413, it is no JSON, not UTF-8, or too much of it.
            RequestValidationError: this route reads none. A plan of which a client names a part there would
                be applied whole.
        """
        _require_json(request)
        require_parsable(body)
        if self.body_field is None and body.strip() != b"{}":
            known = ", ".join(field.alias for field in self.dependant.query_params) or "none"
            problem = f"This route reads no body; parameters of the query: {known}"
            raise RequestValidationError([{"loc": ("body",), "msg": problem, "type": "extra"}])

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = [field.alias for field in self.dependant.query_params]

        async def handle_request(request: Request) -> Response:
            service, connection = get_service(request), ClientConnection(request)
            check = checked_again(partial(require_valid_key, service, request.headers))
            try:
                authenticate = partial(self.authenticate, service, request)
                limit = service.settings.http_body_bytes
                async with received_body(service, request, connection, authenticate, limit) as body:
                    _require_known_parameters(request, known)
                    if body:
                        self.check_body(request, body)
                    response = handle(Request(request.scope, replay(body)))
                    work = run_in_slot(service, request.state.memory.tenant, response, check)
                    with acting_through("http"):
                        return await connection.run_until_disconnect(work)
            except ClientDisconnect:
                return Response(status_code=CLIENT_CLOSED_REQUEST)

        return handle_request


class UploadRoute(ApiRoute):
    """A route that receives a file as the body, with any Content-Type."""

    def check_body(self, request: Request, body: bytes) -> None:
        pass


async def run_in_slot(
    service: Service,
    tenant: str,
    response: Coroutine[Any, Any, Response],
    check: Callable[[], Awaitable[None]],
) -> Response:
    """Awaits a response once a slot is free for the tenant, unless ``check`` raises."""
    try:
        async with service.queue.slot(tenant):
            await check()
            return await response
    finally:
        response.close()  # when it never got a slot


@asynccontextmanager
async def received_body(
    service: Service, request: Request, connection: ClientConnection, authenticate: Authenticate, limit: int
) -> AsyncIterator[bytes]:
    """Authenticates a request, then reads its body of at most ``limit`` bytes.

    Until the end of the context, the body counts among those of its tenant. Without a tenant it counts for
    nobody, so that nobody uses up what others may send; ``limit`` must be small then. Sets
    ``request.state.memory`` to the client that ``authenticate`` returns.
    """
    with ExitStack() as held:
        try:
            if int(request.headers.get("content-length", "0")) > limit:
                raise body_too_large(limit)
            memory = await connection.run_until_disconnect(_memory_of(authenticate))
            if memory is not None:
                request.state.memory = memory
            take = uncounted if memory is None else held.enter_context(service.bodies.hold(memory.tenant))
            body = await connection.read_body(limit, service.settings.http_timeout, take)
        except HTTPException as error:
            held.close()
            readable = error.status_code not in _NOT_DRAINED and not request.headers.get("expect")
            if not (readable and await connection.drain()):
                error.headers = {**(error.headers or {}), "Connection": "close"}
            raise
        yield body


async def _memory_of(authenticate: Authenticate) -> AsyncMemory | None:
    return await authenticate()


def _require_known_parameters(request: Request, known: Sequence[str]) -> None:
    """Raises RequestValidationError for unknown query parameters: a misspelt filter must not widen a list."""
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        problem = f"There is no such parameter; available: {', '.join(known) or 'none'}"
        raise RequestValidationError(
            [{"loc": ("query", name), "msg": problem, "type": "extra"} for name in unknown]
        )


def _require_json(request: Request) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HTTPException(415, "The body must be JSON: send `Content-Type: application/json`.")
