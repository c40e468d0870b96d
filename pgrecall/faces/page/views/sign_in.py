"""Signing in with a key, and signing out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from pgrecall.faces.http.request_handling import CLIENT_CLOSED_REQUEST
from pgrecall.faces.http.request_limits import MAX_PATH_BYTES, ClientConnection
from pgrecall.faces.page.request_handling import PageRequest, base_values, post_route, received_form, redirect
from pgrecall.faces.page.sessions import SessionStore, delete_session_cookie, set_session_cookie
from pgrecall.faces.page.templating import render

if TYPE_CHECKING:
    from pgrecall.faces.http.service import Service

PATH = "/sign-in"
MAX_BYTES = 8 * 1024
"""Of the form. It is not counted for any tenant, so it must be smaller than the connection that brings it."""

_UNKNOWN_KEY = "This key is unknown or revoked."


def routes(service: Service, sessions: SessionStore) -> Sequence[Route]:
    async def no_authentication() -> None:
        pass

    async def show(request: Request) -> Response:
        request.scope["route"] = show_route
        return show_form(request, sessions) if sessions.needs_key else redirect("/")

    async def sign_in(request: Request) -> Response:
        request.scope["route"] = sign_in_route
        connection = ClientConnection(request)
        try:
            received = received_form(
                service, sessions, request, connection, no_authentication, max_bytes=MAX_BYTES
            )
            async with received as (form, _):
                next_path = form.get("next", "/")
                cookie = await sessions.sign_in(form.get("key", "").strip())
        except ClientDisconnect:
            return Response(status_code=CLIENT_CLOSED_REQUEST)
        if cookie is None:
            return show_form(request, sessions, message=_UNKNOWN_KEY, status=401, next_path=next_path)
        response = redirect(_local_path(next_path))
        set_session_cookie(response, request, cookie)
        return response

    async def sign_out(request: PageRequest) -> Response:
        await sessions.sign_out(request.request)
        response = redirect(PATH)
        delete_session_cookie(response)
        return response

    show_route = Route(PATH, show, methods=["GET"])
    sign_in_route = Route(PATH, sign_in, methods=["POST"])
    return show_route, sign_in_route, post_route(service, sessions, "/sign-out", sign_out, writes=False)


def show_form(
    request: Request, sessions: SessionStore, *, message: str = "", status: int = 200, next_path: str = "/"
) -> Response:
    """The form that asks for a key; signing in leads to ``next_path``."""
    values = {**base_values(request, sessions), "tenant": None, "message": message}
    return render("sign_in.html.j2", {**values, "next": _local_path(next_path)}, status=status)


def _local_path(path: str) -> str:
    """The path if it is on this site, else the start page."""
    local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if local and len(path.encode()) <= MAX_PATH_BYTES else "/"
