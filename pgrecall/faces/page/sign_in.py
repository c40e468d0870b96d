"""Signing in with a key, and out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from pgrecall.faces.http.caller import Caller
from pgrecall.faces.http.request_guard import GONE
from pgrecall.faces.page.request_handling import Visit, elsewhere, frame, read_form, sending
from pgrecall.faces.page.sessions import PageDoor, drop_cookie, keep_cookie
from pgrecall.faces.page.templating import drawn

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.service import Service

PATH = "/sign-in"
_UNKNOWN = "This key is unknown or revoked."


def routes(service: Service, door: PageDoor) -> Sequence[Route]:
    """The form, what it does, and the way out."""

    async def nobody() -> AsyncMemory:
        return service.memory

    async def show(request: Request) -> Response:
        request.scope["route"] = showing
        return form(request, door) if door.needs_key else elsewhere("/")

    async def sign_in(request: Request) -> Response:
        request.scope["route"] = signing_in
        caller = Caller(request)
        try:
            given = await read_form(service, door, request, caller, nobody)
            del request.state.memory  # nobody is known yet: no tenant stands in the log
            following = given.get("following", "/")
            async with service.admission.place():
                name = await door.sign_in(given.get("key", "").strip())
        except ClientDisconnect:
            return Response(status_code=GONE)
        if name is None:
            return form(request, door, said=_UNKNOWN, status=401, following=following)
        answer = elsewhere(_here(following))
        keep_cookie(answer, request, name)
        return answer

    async def sign_out(visit: Visit) -> Response:
        door.sign_out(visit.request)
        answer = elsewhere(PATH)
        drop_cookie(answer)
        return answer

    showing = Route(PATH, show, methods=["GET"])
    signing_in = Route(PATH, sign_in, methods=["POST"])
    return showing, signing_in, sending(service, door, "/sign-out", sign_out)


def form(
    request: Request, door: PageDoor, *, said: str = "", status: int = 200, following: str = "/"
) -> Response:
    """The form that asks for a key; ``following`` is what is opened with it."""
    values = {**frame(request, door), "tenant": None, "said": said, "following": _here(following)}
    return drawn("sign_in.html.j2", values, status=status)


def _here(address: str) -> str:
    """An address of this page, whatever the form holds."""
    local = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if local else "/"
