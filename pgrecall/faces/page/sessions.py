"""Cookie sessions that a key opens, and the CSRF tokens of forms.

Sessions live in the database, which keeps a digest of the cookie, a random number. The key is checked at each
request, so that a revoked one stops working immediately.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pgrecall.faces.http.authentication import holder_of_key
from pgrecall.nouns.keys.operations import is_read_only

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.service import Service

COOKIE = "pgrecall_session"
SESSION_SECONDS = 12 * 3600
READ_ONLY_COOKIE = "read."
"""Prefix of the cookie of a session with a read-only key. The stored digest is that of the whole cookie, so
nobody can turn it into another; no other cookie has a full stop."""

_CROSS_SITE = "This form was not sent from this page, so nothing was changed."
_MAY_ONLY_READ = "Your key is read-only, so nothing was changed."
_STALE_TOKEN = "This form is outdated; reload the page and send it again."


class SignInRequired(HTTPException):
    """The request has no session, or its key was revoked."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(401, detail)


class SessionStore:
    """The sessions of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._csrf_secret = secrets.token_urlsafe(32)

    @property
    def needs_key(self) -> bool:
        return self._service.policy.needs_key

    async def authenticate(self, request: Request) -> AsyncMemory:
        """The client for the tenant of a request.

        Raises:
            SignInRequired: a key is needed, and there is no session or its key was revoked.
        """
        memory, queue, tenants = self._service.memory, self._service.queue, self._service.tenants
        if not self.needs_key:
            async with queue.slot(memory.tenant):  # an overloaded service reads no form
                return memory.for_tenant(memory.tenant)  # alone: the page links to each memory
        cookie = request.cookies.get(COOKIE, "")
        if not cookie:
            raise SignInRequired
        async with queue.slot(tenants.of(cookie)):
            tenant = await self._tenant_of(cookie)
        tenants.note(cookie, tenant)
        return memory.for_tenant(tenant)

    async def require_valid(self, request: Request) -> None:
        """Looks the session up again, for a request that holds a slot and has waited for it.

        Raises:
            SignInRequired: it has ended meanwhile, or its key was revoked.
        """
        if self.needs_key:
            await self._tenant_of(request.cookies.get(COOKIE, ""))

    async def _tenant_of(self, cookie: str) -> str:
        tenant = await self._service.memory.keys.session_tenant(cookie)
        if tenant is None:
            raise SignInRequired("This session has ended, or its key was revoked.")
        return tenant

    async def sign_in(self, key: str) -> str | None:
        """Opens a session and returns its cookie; None when the key is unknown or revoked."""
        holder = await holder_of_key(self._service, key)
        if holder is None:
            return None
        cookie = (READ_ONLY_COOKIE if is_read_only(key) else "") + secrets.token_urlsafe(32)
        # Opening may wait for a lock on the key, which its tenant can hold; looking it up cannot.
        async with self._service.queue.slot(holder.tenant):
            opened = await self._service.memory.keys.open_session(key, cookie, SESSION_SECONDS)
        return cookie if opened else None

    async def sign_out(self, request: Request) -> None:
        """Ends the session of a request, for every copy of its cookie."""
        await self._service.memory.keys.close_session(request.cookies.get(COOKIE, ""))

    def may_write(self, request: Request) -> bool:
        """Whether a request may change something: unless the key of its session may only read."""
        return not (self.needs_key and request.cookies.get(COOKIE, "").startswith(READ_ONLY_COOKIE))

    def require_right(self, request: Request) -> None:
        """Refuses requests that would change something with a key that may only read.

        Raises:
            HTTPException: 403.
        """
        if not self.may_write(request):
            raise HTTPException(403, _MAY_ONLY_READ)

    def csrf_token(self, request: Request) -> str:
        """The token for forms on a page rendered for this request.

        It is derived from the cookie, which no other site can read, so that it outlives this process as the
        session does; without a session from a secret of this process.
        """
        cookie = request.cookies.get(COOKIE, "") if self.needs_key else ""
        secret = (cookie or self._csrf_secret).encode("utf-8", "replace")
        return hmac.new(secret, b"pgrecall form", hashlib.sha256).hexdigest()

    def require_csrf_token(self, request: Request, token: str) -> None:
        """Refuses forms that another site made the browser send.

        Raises:
            HTTPException: 403.
        """
        if not _is_same_origin(request):
            raise HTTPException(403, _CROSS_SITE)
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.csrf_token(request).encode()):
            raise HTTPException(403, _STALE_TOKEN)


def set_session_cookie(response: Response, request: Request, cookie: str) -> None:
    """Sets the cookie, hidden from scripts and sent only with requests from this site."""
    secure = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
    response.set_cookie(
        COOKIE, cookie, max_age=SESSION_SECONDS, path="/", secure=secure, httponly=True, samesite="strict"
    )


def delete_session_cookie(response: Response) -> None:
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


def is_user_navigation(request: Request) -> bool:
    """Whether a user opened this address or followed a link of this page: no prefetch, no other site."""
    headers = request.headers
    prefetch = "prefetch" in headers.get("sec-purpose", "")
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none") and not prefetch


def _is_same_origin(request: Request) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = urlsplit(request.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == request.headers.get("host", "")
