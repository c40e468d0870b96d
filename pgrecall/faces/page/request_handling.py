"""What every view goes through: authentication, a bounded form, a CSRF check, a slot, cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pgrecall.database.face import acting_through
from pgrecall.faces.http.request_handling import (
    CLIENT_CLOSED_REQUEST,
    Authenticate,
    read_body,
    run_in_slot,
)
from pgrecall.faces.http.request_limits import ClientConnection
from pgrecall.faces.page.form_fields import Fields, parse_form
from pgrecall.faces.page.sessions import SessionStore
from pgrecall.faces.page.templating import render

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.service import Service

MAX_FORM_BYTES = 64 * 1024
TOKEN_FIELD = "token"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a view, or a form that it sent."""

    request: Request
    service: Service
    sessions: SessionStore
    memory: AsyncMemory
    form: Fields
    now: datetime

    @property
    def query(self) -> QueryParams:
        return self.request.query_params

    async def render(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Renders a template in a thread: lists may be long, and graphs need a layout."""
        values = {**base_values(self.request, self.sessions), "now": self.now, **values}
        return await asyncio.to_thread(render, template, values, status=status)


View = Callable[[PageRequest], Awaitable[Response]]


def base_values(request: Request, sessions: SessionStore) -> dict[str, Any]:
    """The values that the base template needs."""
    memory: AsyncMemory | None = getattr(request.state, "memory", None)
    return {
        "path": request.url.path,
        "tenant": None if memory is None else memory.tenant,
        "token": sessions.csrf_token(request),
        "needs_key": sessions.needs_key,
    }


def get_route(service: Service, sessions: SessionStore, path: str, view: View) -> Route:
    """A route to a view, which changes nothing."""
    return _route(service, sessions, path, view, method="GET")


def post_route(service: Service, sessions: SessionStore, path: str, view: View) -> Route:
    """A route that receives a form."""
    return _route(service, sessions, path, view, method="POST")


def redirect(path: str) -> Response:
    """Sends the browser to another view after a form."""
    return RedirectResponse(path, 303)


async def read_form(
    service: Service,
    sessions: SessionStore,
    request: Request,
    connection: ClientConnection,
    authenticate: Authenticate,
) -> Fields:
    """Authenticates a request and reads its form; a POST needs a valid CSRF token.

    Raises:
        HTTPException: the form is too large, too slow, of another media type, or from another site.
    """
    body = await read_body(service, request, connection, authenticate, MAX_FORM_BYTES)
    form = parse_form(body, request.headers.get("content-type", ""))
    if request.method == "POST":
        sessions.require_csrf_token(request, form.get(TOKEN_FIELD, ""))
    return form


def _route(service: Service, sessions: SessionStore, path: str, view: View, *, method: str) -> Route:
    async def handle(request: Request) -> Response:
        request.scope["route"] = route  # for the log and the metrics
        connection = ClientConnection(request)
        try:
            authenticate = partial(sessions.authenticate, request)
            form = await read_form(service, sessions, request, connection, authenticate)
            now = datetime.now(UTC)
            page_request = PageRequest(request, service, sessions, request.state.memory, form, now)
            response = _await_view(view, page_request)
            with acting_through("page"):
                return await connection.run_until_disconnect(run_in_slot(service, response))
        except ClientDisconnect:
            return Response(status_code=CLIENT_CLOSED_REQUEST)

    route = Route(path, handle, methods=[method])
    return route


async def _await_view(view: View, request: PageRequest) -> Response:
    return await view(request)
