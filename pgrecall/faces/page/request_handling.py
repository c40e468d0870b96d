"""Common steps of all views: authentication, a bounded form, a CSRF check, a slot, cancellation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pgrecall.client.concurrency import async_run
from pgrecall.database.calling_interface import acting_through
from pgrecall.faces.http.authentication import checked_again
from pgrecall.faces.http.request_handling import (
    CLIENT_CLOSED_REQUEST,
    Authenticate,
    received_body,
    run_in_slot,
)
from pgrecall.faces.http.request_limits import ClientConnection
from pgrecall.faces.page.form_fields import MAX_FIELDS, Fields, Upload, parse_form, parse_upload, path_id
from pgrecall.faces.page.sessions import SessionStore
from pgrecall.faces.page.templating import render

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.service import Service

MAX_FORM_BYTES = 64 * 1024
MAX_TICKS = 3000
"""Fields of a large form: a prune plan has a box for each of its memories."""

TOKEN_FIELD = "token"

_NOTICE_FIELDS = ("done", "other", "relation", "weight", "version", "layer", "expires_at")
"""Messages about the last action that the address of a memory may name."""


@dataclass(frozen=True, slots=True)
class _Post:
    writes: bool = False
    large: bool = False


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a view, or a form that it sent."""

    request: Request
    service: Service
    sessions: SessionStore
    memory: AsyncMemory
    form: Fields
    uploads: tuple[Upload, ...]
    now: datetime

    @property
    def query(self) -> QueryParams:
        return self.request.query_params

    def path_id(self, name: str, noun: str | None = None) -> int:
        """The id that the path has for a parameter; 404 if it is none of such a noun, by default its name."""
        return path_id(self.request.path_params[name], noun or name)

    @property
    def may_write(self) -> bool:
        """Whether the key of this request may change something."""
        return self.sessions.may_write(self.request)

    @property
    def done(self) -> dict[str, str]:
        """The message about the last action, from the address; only if the user came from this page."""
        fields = {name: self.query.get(name, "")[:200] for name in _NOTICE_FIELDS}
        same = self.request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
        return fields if same and fields["done"] else {}

    async def render(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Renders a template in a thread: lists may be long, and graphs need a layout."""
        values = {**base_values(self.request, self.sessions), "now": self.now, **values}
        return await async_run(partial(render, template, values, status=status))


View = Callable[[PageRequest], Awaitable[Response]]


def base_values(request: Request, sessions: SessionStore) -> dict[str, Any]:
    """The values that the base template needs."""
    memory: AsyncMemory | None = getattr(request.state, "memory", None)
    return {
        "path": request.url.path,
        "tenant": None if memory is None else memory.tenant,
        "token": sessions.csrf_token(request),
        "needs_key": sessions.needs_key,
        "may_write": sessions.may_write(request),
    }


def get_route(service: Service, sessions: SessionStore, path: str, view: View) -> Route:
    """A route to a view, which changes nothing."""
    return _route(service, sessions, path, view, _Post(), method="GET")


def post_route(
    service: Service,
    sessions: SessionStore,
    path: str,
    view: View,
    *,
    writes: bool = True,
    large: bool = False,
) -> Route:
    """A route that receives a form.

    Args:
        writes: whether it changes something, which a key may not have the right to.
        large: whether the form may be as large as a request to the API, and bring files.
    """
    return _route(service, sessions, path, view, _Post(writes, large), method="POST")


def redirect(path: str) -> Response:
    """Sends the browser to another view after a form."""
    return RedirectResponse(path, 303)


@asynccontextmanager
async def received_form(
    service: Service,
    sessions: SessionStore,
    request: Request,
    connection: ClientConnection,
    authenticate: Authenticate,
    post: _Post = _Post(),
    *,
    max_bytes: int = MAX_FORM_BYTES,
) -> AsyncIterator[tuple[Fields, tuple[Upload, ...]]]:
    """Authenticates a request and reads its form with its files; a POST needs a valid CSRF token.

    Args:
        max_bytes: limit of a form that is not large.

    Raises:
        HTTPException: the form is too large, too slow, of another media type, or from another site.
    """
    limit = service.settings.http_body_bytes if post.large else max_bytes
    async with received_body(service, request, connection, authenticate, limit) as body:
        kind = request.headers.get("content-type", "")
        if post.large and kind.partition(";")[0].strip().lower() == "multipart/form-data":
            form, uploads = await parse_upload(request, body)
        else:
            form, uploads = parse_form(body, kind, MAX_TICKS if post.large else MAX_FIELDS), ()
        if request.method == "POST":
            sessions.require_csrf_token(request, form.get(TOKEN_FIELD, ""))
        if post.writes:
            sessions.require_right(request)
        yield form, uploads


def _route(
    service: Service, sessions: SessionStore, path: str, view: View, post: _Post, *, method: str
) -> Route:
    async def handle(request: Request) -> Response:
        request.scope["route"] = route  # for the log and the metrics
        connection = ClientConnection(request)
        check = checked_again(partial(sessions.require_valid, request))
        try:
            authenticate = partial(sessions.authenticate, request)
            received = received_form(service, sessions, request, connection, authenticate, post)
            async with received as (form, uploads):
                now = datetime.now(UTC)
                memory: AsyncMemory = request.state.memory
                page_request = PageRequest(request, service, sessions, memory, form, uploads, now)
                work = run_in_slot(service, memory.tenant, _await_view(view, page_request), check)
                with acting_through("page"):
                    return await connection.run_until_disconnect(work)
        except ClientDisconnect:
            return Response(status_code=CLIENT_CLOSED_REQUEST)

    route = Route(path, handle, methods=[method])
    return route


async def _await_view(view: View, request: PageRequest) -> Response:
    return await view(request)
