"""The page as an application: its views, its files, and its errors, which are pages too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgrecall.errors import RecallError
from pgrecall.faces.http.problems import RETRY_AFTER, kind_of
from pgrecall.faces.page import links, maintenance, memory, prune, search, sign_in
from pgrecall.faces.page import overview as overview
from pgrecall.faces.page.request_handling import frame, looking, sending
from pgrecall.faces.page.sessions import PageDoor, SignInNeeded
from pgrecall.faces.page.templating import drawn

if TYPE_CHECKING:
    from pgrecall.faces.http.service import Service

FILES = "/page"
"""Where style, script and icon lie."""

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, a browser hides where a form was sent from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def create_page(service: Service) -> ASGIApp:
    """The page of a service, to be mounted beside its API."""
    door = PageDoor(service)
    look, send = partial(looking, service, door), partial(sending, service, door)
    routes: Sequence[BaseRoute] = (
        look("/", search.search),
        send("/feedback", search.feedback),
        look("/overview", overview.overview),
        look("/overview/{listed}", overview.one_list),
        look("/memory/{memory:path}", memory.show_memory),
        look("/links/{memory:path}", links.around),
        look("/prune", prune.plans),
        send("/prune", prune.make),
        look("/prune/{plan}", prune.review),
        send("/prune/{plan}/apply", prune.apply),
        send("/prune/{plan}/undo", prune.undo),
        look("/upkeep", maintenance.upkeep),
        send("/upkeep/verify", maintenance.verify),
        *sign_in.routes(service, door),
        Mount(
            FILES,
            StaticFiles(
                directory=Path(__file__).parent / "static", packages=[("pgrecall.faces.charts", "styles")]
            ),
            name="files",
        ),
    )
    return Starlette(
        routes=routes,
        middleware=[Middleware(_Guarding)],
        exception_handlers=_handlers(door),
    )


class _Guarding:
    """ASGI middleware: what every answer of the page tells browsers not to do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                # Memories stay in no cache; files are asked for anew, and mostly have not changed.
                headers["Cache-Control"] = "no-cache" if scope["path"].startswith(FILES) else "no-store"
            await send(message)

        await self._app(scope, receive, guarded)


def _handlers(door: PageDoor) -> dict[Any, Any]:
    async def on_stranger(request: Request, error: SignInNeeded) -> Response:
        return sign_in.form(request, door, said=error.detail, status=401, following=_asked(request))

    async def on_refusal(request: Request, error: HTTPException) -> Response:
        phrase = HTTPStatus(error.status_code).phrase
        said = error.detail if error.detail != phrase else _SAID.get(error.status_code, f"{phrase}.")
        answer = _error(request, door, error.status_code, phrase, said)
        answer.headers.update(error.headers or {})
        return answer

    async def on_failure(request: Request, error: RecallError) -> Response:
        request.state.failure = error
        kind = kind_of(error)
        answer = _error(request, door, kind.status, kind.title, error.message, error.hint)
        if kind.status == HTTPStatus.SERVICE_UNAVAILABLE:
            answer.headers["Retry-After"] = RETRY_AFTER
        return answer

    async def on_anything_else(request: Request, error: Exception) -> Response:
        said = f"An error of the kind {type(error).__name__}; the log of the service has more."
        return _error(request, door, 500, "Something went wrong here", said)

    return {
        SignInNeeded: on_stranger,
        HTTPException: on_refusal,
        RecallError: on_failure,
        Exception: on_anything_else,
    }


_SAID = {404: "There is nothing at this address.", 405: "This address takes no such request."}


def _error(request: Request, door: PageDoor, status: int, title: str, said: str, hint: str = "") -> Response:
    values = {**frame(request, door), "title": title, "said": said, "hint": hint, "status": status}
    return drawn("error.html.j2", values, status=status)


def _asked(request: Request) -> str:
    """Where somebody wanted to go; where a form went, nothing is sent again."""
    if request.method != "GET":
        return "/"
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
