"""Who may look at the page: sessions that a key opens, and what a form must prove before anything changes.

A session lives in this process: its cookie is a random number that names it, and says nothing. The key is
asked about at every request, so that one that is revoked opens nothing from then on.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.service import Service

COOKIE = "pgrecall_session"
LASTS = 12 * 3600
"""Seconds after which a session asks for the key again."""

MOST_SESSIONS = 1000

_NOT_OURS = "This form was not sent by this page, so nothing was changed."
_OUTDATED = (
    "This form is from before the service was started again; open the page anew and send it once more."
)


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who has shown a key; ``ends`` is a moment of the process's clock."""

    secret: str
    ends: float


class SignInNeeded(HTTPException):
    """Nobody has signed in, or the key is no good any more."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(401, detail)


class PageDoor:
    """The sessions of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seal = secrets.token_bytes(32)
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    @property
    def needs_key(self) -> bool:
        return self._service.door.needs_key

    async def memory_of(self, request: Request) -> AsyncMemory:
        """The memory of whom a request acts for.

        Raises:
            SignInNeeded: a key is needed, and there is no session, or its key is revoked.
        """
        memory = self._service.memory
        if not self.needs_key:
            return memory
        session = self._session_of(request)
        if session is None:
            raise SignInNeeded
        holder = await memory.keys.holder(session.secret)
        if holder is None:
            self.sign_out(request)
            raise SignInNeeded("The key of this session has been revoked.")
        return memory.for_tenant(holder.tenant)

    async def sign_in(self, secret: str) -> str | None:
        """Opens a session and gives the value of its cookie; None for a key that is unknown or revoked."""
        if await self._service.memory.keys.holder(secret) is None:
            return None
        name = secrets.token_urlsafe(32)
        while len(self._sessions) >= MOST_SESSIONS:
            self._sessions.popitem(last=False)
        self._sessions[_known_by(name)] = Session(secret, time.monotonic() + LASTS)
        return name

    def sign_out(self, request: Request) -> None:
        """Ends the session of a request, for every copy of its cookie."""
        self._sessions.pop(_known_by(request.cookies.get(COOKIE, "")), None)

    def token_for(self, request: Request) -> str:
        """What forms drawn for this request carry; no other site can read it."""
        session = request.cookies.get(COOKIE, "") if self.needs_key else ""
        return hmac.new(self._seal, session.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def require_own_form(self, request: Request, token: str) -> None:
        """Refuses what another site had a browser send.

        Raises:
            HTTPException: 403.
        """
        if not _from_here(request):
            raise HTTPException(403, _NOT_OURS)
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token_for(request).encode()):
            raise HTTPException(403, _OUTDATED)

    def _session_of(self, request: Request) -> Session | None:
        name = _known_by(request.cookies.get(COOKIE, ""))
        session = self._sessions.get(name)
        if session is not None and session.ends <= time.monotonic():
            del self._sessions[name]
            return None
        return session


def keep_cookie(answer: Response, request: Request, name: str) -> None:
    """Has a browser keep a session: out of reach of scripts, and sent to this site's own pages alone."""
    encrypted = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
    answer.set_cookie(
        COOKIE, name, max_age=LASTS, path="/", secure=encrypted, httponly=True, samesite="strict"
    )


def drop_cookie(answer: Response) -> None:
    """Has a browser forget its session."""
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")


def asked_from_here(request: Request) -> bool:
    """Whether somebody opened this address, or followed a link of this page: no other site had it fetched."""
    headers = request.headers
    fetched_early = "prefetch" in headers.get("sec-purpose", "")
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none") and not fetched_early


def _from_here(request: Request) -> bool:
    """Whether a form was sent from this page, as the browser tells."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = urlsplit(request.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == request.headers.get("host", "")


def _known_by(name: str) -> str:
    """What a session is kept under: how long looking it up takes tells nothing of another's cookie."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
