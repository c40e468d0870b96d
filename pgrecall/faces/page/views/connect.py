"""Letting a program elsewhere use the key that one has signed in with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from pgrecall.faces.http.oauth.clients import READ, WRITE
from pgrecall.faces.http.oauth.provider import CONNECT_PATH, REFRESH_SECONDS
from pgrecall.faces.page.request_handling import PageRequest, get_route, post_route
from pgrecall.faces.page.sessions import COOKIE, SessionStore, SignInRequired
from pgrecall.setting_types import LOOPBACK

if TYPE_CHECKING:
    from pgrecall.faces.http.oauth.server import OAuth
    from pgrecall.faces.http.service import Service


def routes(service: Service, sessions: SessionStore, oauth: OAuth) -> Sequence[Route]:
    return (
        get_route(service, sessions, CONNECT_PATH, partial(_show, oauth)),
        post_route(service, sessions, CONNECT_PATH, partial(_decide, oauth), writes=False),
    )


async def _show(oauth: OAuth, request: PageRequest) -> Response:
    client, params = oauth.asked(request.query)
    target = params.redirect_uri
    # The host is what a person can judge; a program's own scheme has none.
    place = (target.host or "") if target.scheme in ("http", "https") else f"{target.scheme}:"
    return await request.render(
        "connect.html.j2",
        here=f"{CONNECT_PATH}?{request.query}",
        client=client.client_name,
        place=place,
        local=place.strip("[]") in LOOPBACK,
        days=REFRESH_SECONDS // 86400,
        writes=request.may_write and WRITE in (params.scopes or ()),
    )


async def _decide(oauth: OAuth, request: PageRequest) -> Response:
    client, params = oauth.asked(request.query)
    decision = request.form.get("decision")
    allowed = decision in ("allow", "read")
    if decision == "read" or not request.may_write:
        params.scopes = [READ]
    address: str | None = oauth.answer(params, error="access_denied")
    if allowed:
        cookie = request.request.cookies.get(COOKIE, "")
        address = await oauth.allow(cookie, request.memory, client, params)
    if address is None:
        raise SignInRequired("This session has ended, or its key was revoked.")
    # Not a redirect: the policy for forms would apply to it, and to those that the program adds.
    return await request.render(
        "connected.html.j2", allowed=allowed, client=client.client_name, address=address
    )
