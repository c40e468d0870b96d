"""What every view goes through: who looks is known, what they send is bounded and theirs, their turn is
awaited, and the work ends when they go away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pgrecall.faces.cli.values import clock
from pgrecall.faces.http.caller import Caller
from pgrecall.faces.http.request_guard import GONE, admitted_body, in_its_turn
from pgrecall.faces.page.form_fields import Fields, form_of
from pgrecall.faces.page.sessions import PageDoor
from pgrecall.faces.page.templating import drawn

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.service import Service

LARGEST_FORM = 64 * 1024
TOKEN = "token"


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody who looks at a view, or sends one of its forms."""

    request: Request
    service: Service
    door: PageDoor
    memory: AsyncMemory
    form: Fields
    now: datetime

    @property
    def query(self) -> QueryParams:
        """What the address asks for."""
        return self.request.query_params

    async def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A view, drawn in a thread: lists may be long and graphs have to be laid out."""
        known = {**frame(self.request, self.door), "now": self.now, **values}
        return await asyncio.to_thread(drawn, template, known, status=status)


View = Callable[[Visit], Awaitable[Response]]


def frame(request: Request, door: PageDoor) -> dict[str, Any]:
    """What stands around every view."""
    memory: AsyncMemory | None = getattr(request.state, "memory", None)
    return {
        "path": request.url.path,
        "tenant": None if memory is None else memory.tenant,
        "token": door.token_for(request),
        "needs_key": door.needs_key,
    }


def looking(service: Service, door: PageDoor, path: str, view: View) -> Route:
    """A route to a view that changes nothing."""
    return _route(service, door, path, view, method="GET")


def sending(service: Service, door: PageDoor, path: str, view: View) -> Route:
    """A route to what a form of the page does."""
    return _route(service, door, path, view, method="POST")


def elsewhere(path: str) -> Response:
    """Has the browser open another view, in answer to a form."""
    return RedirectResponse(path, 303)


async def read_form(
    service: Service,
    door: PageDoor,
    request: Request,
    caller: Caller,
    whose: Callable[[], Awaitable[AsyncMemory]],
) -> Fields:
    """The form of a request, sent by this page and by nobody else; of others nothing is done.

    Raises:
        HTTPException: it is too large, too slow, of another kind, or from elsewhere.
    """
    body = await admitted_body(service, request, caller, whose, LARGEST_FORM)
    form = form_of(body, request.headers.get("content-type", ""))
    if request.method == "POST":
        door.require_own_form(request, form.get(TOKEN, ""))
    return form


def _route(service: Service, door: PageDoor, path: str, view: View, *, method: str) -> Route:
    async def visited(request: Request) -> Response:
        request.scope["route"] = route  # what the log and the figures call it
        caller = Caller(request)
        try:
            form = await read_form(service, door, request, caller, partial(door.memory_of, request))
            visit = Visit(request, service, door, request.state.memory, form, clock())
            return await caller.while_here(in_its_turn(service, _seen(view, visit)))
        except ClientDisconnect:
            return Response(status_code=GONE)

    route = Route(path, visited, methods=[method])
    return route


async def _seen(view: View, visit: Visit) -> Response:
    return await view(visit)
