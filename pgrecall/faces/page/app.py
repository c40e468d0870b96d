"""The page as an ASGI application: routes, security headers and error pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from pgrecall.faces.http.problems import CLOSING, RETRY_AFTER, problem_type
from pgrecall.faces.page.request_handling import base_values, get_route, post_route
from pgrecall.faces.page.sessions import SessionStore, SignInRequired
from pgrecall.faces.page.templating import render
from pgrecall.faces.page.views import (
    actions,
    edit,
    front,
    memory,
    overview,
    past_imports,
    plans,
    quality,
    search,
    sign_in,
    versions,
)
from pgrecall.faces.page.views.imports import Imports, import_views

if TYPE_CHECKING:
    from pgrecall.faces.http.oauth.server import OAuth
    from pgrecall.faces.http.service import Service

_ACTIONS = (
    actions.pin,
    actions.unpin,
    actions.archive,
    actions.unarchive,
    actions.link,
    actions.unlink,
    actions.supersede,
    actions.merge,
    actions.forget,
)
"""Forms that change one memory, each at an address of its name."""

STATIC_PATH = "/page"

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send forms with the Origin null
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_STATIC_FILES = StaticFiles(
    directory=Path(__file__).parent / "static", packages=[("pgrecall.faces.charts", "styles")]
)
_DETAILS = {404: "There is nothing at this address.", 405: "This address does not accept such a request."}
"""For statuses that the framework raises without a detail."""


def create_page(service: Service, oauth: OAuth | None = None) -> ASGIApp:
    """Builds the page of a service; :mod:`pgrecall.faces.http.app` mounts it.

    Args:
        oauth: lets people connect programs that ask for it.
    """
    sessions = SessionStore(service)
    get, post = partial(get_route, service, sessions), partial(post_route, service, sessions)
    receive, show_import = import_views(Imports(service.settings.http_body_bytes, service.importing))
    routes: Sequence[BaseRoute] = (
        get("/", search.search),
        get("/memories", front.browse),
        post("/forget-session", front.forget_session),
        post("/unarchive-session", front.unarchive_session),
        get("/add", edit.add_form),
        post("/add", edit.add, large=True),
        get("/edit/{memory}", edit.edit_form),
        post("/edit/{memory}", edit.edit, large=True),
        get("/versions/{memory}", versions.versions),
        get("/versions/{memory}/{version}", versions.version),
        post("/restore/{memory}", versions.restore),
        post("/import", receive, large=True),
        get("/import/{number}", show_import),
        get("/imports", past_imports.past_imports),
        get("/imports/{number}/undo", past_imports.undo_import_form),
        post("/imports/{number}/undo", past_imports.undo_import),
        *(post(f"/{view.__name__}/{{memory}}", view) for view in _ACTIONS),
        get("/link/{memory}", actions.link_form),
        get("/supersede/{memory}", actions.supersede_form),
        get("/merge/{memory}", actions.merge_form),
        get("/forget/{memory}", actions.forget_form),
        get("/zones", overview.zones),
        post("/feedback", search.feedback),
        get("/overview", overview.overview),
        get("/overview/{listed}", overview.one_list),
        get("/memories/{memory:path}", memory.memory),
        get("/links/{memory:path}", memory.links),
        *_plan_routes(get, post),
        get("/quality", quality.quality),
        post("/quality/replay", quality.replay, writes=False),
        get("/maintenance", overview.maintenance),
        post("/maintenance/verify", overview.verify, writes=False),
        post("/grants/{grant}/end", overview.end_grant),
        *sign_in.routes(service, sessions),
        *_connect_routes(service, sessions, oauth),
        Mount(STATIC_PATH, _STATIC_FILES, name="static"),
    )
    return Starlette(
        routes=routes,
        middleware=[Middleware(SecurityHeadersMiddleware)],
        exception_handlers=_exception_handlers(sessions),
    )


def _plan_routes(get: Callable[..., BaseRoute], post: Callable[..., BaseRoute]) -> Sequence[BaseRoute]:
    return (
        get("/plans", plans.list_plans),
        post("/plans/prune", plans.create_prune_plan),
        post("/plans/dedupe", plans.create_dedupe_plan),
        post("/plans/redact", plans.create_redact_plan),
        get("/plans/{plan}", plans.show_plan),
        post("/plans/{plan}/apply", plans.apply_plan, large=True),
        post("/plans/{plan}/undo", plans.undo_plan),
        post("/plans/{plan}/drop", plans.drop_plan),
    )


def _connect_routes(service: Service, sessions: SessionStore, oauth: OAuth | None) -> Sequence[BaseRoute]:
    if oauth is None:
        return ()
    from pgrecall.faces.page.views import connect  # needs the extra mcp

    return connect.routes(service, sessions, oauth)


class SecurityHeadersMiddleware:
    """Adds the security and caching headers to every response of the page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                # Memories are never cached; static files are revalidated.
                headers["Cache-Control"] = "no-cache" if scope["path"].startswith(STATIC_PATH) else "no-store"
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _exception_handlers(sessions: SessionStore) -> dict[Any, Any]:
    async def on_sign_in_required(request: Request, error: SignInRequired) -> Response:
        return sign_in.show_form(
            request, sessions, message=error.detail, status=401, next_path=_requested_path(request)
        )

    async def on_http_exception(request: Request, error: HTTPException) -> Response:
        phrase = HTTPStatus(error.status_code).phrase
        detail = error.detail if error.detail != phrase else _DETAILS.get(error.status_code, f"{phrase}.")
        response = _error_page(request, sessions, error.status_code, phrase, detail)
        response.headers.update(error.headers or {})
        return response

    async def on_recall_error(request: Request, error: RecallError) -> Response:
        request.state.failure = error
        kind = problem_type(error)
        response = _error_page(request, sessions, kind.status, kind.title, error.message, error.hint)
        if kind.status == HTTPStatus.SERVICE_UNAVAILABLE:
            response.headers["Retry-After"] = RETRY_AFTER
        return response

    async def on_unexpected_error(request: Request, error: Exception) -> Response:
        detail = f"An unexpected {type(error).__name__}; see the log of the service."
        response = _error_page(request, sessions, 500, "Internal error", detail)
        response.headers.update(CLOSING)
        return response

    return {
        SignInRequired: on_sign_in_required,
        HTTPException: on_http_exception,
        RecallError: on_recall_error,
        Exception: on_unexpected_error,
    }


def _error_page(
    request: Request, sessions: SessionStore, status: int, title: str, detail: str, hint: str = ""
) -> Response:
    values = {**base_values(request, sessions), "title": title, "detail": detail, "hint": hint}
    return render("error.html.j2", {**values, "status": status}, status=status)


def _requested_path(request: Request) -> str:
    """Where to go after signing in; the start page after a form, which is not sent again."""
    if request.method != "GET":
        return "/"
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
