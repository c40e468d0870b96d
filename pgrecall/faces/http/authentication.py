"""Authentication: the tenant that a request acts for, from its bearer key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request

from pgrecall import AsyncMemory
from pgrecall.operations.service import PREFIX, is_read_only

if TYPE_CHECKING:
    from pgrecall.faces.http.service import Service

LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))

_NO_KEY = (
    "This needs a key: send it as `Authorization: Bearer pgr_...`. "
    "The operator of this service makes keys with `pgrecall keys create NAME`."
)
READ_ONLY = "This key may only read."
_READS = ("/v1/search", "/v1/context")
"""Requests that are not GET and yet change no memory."""

_BEARER = re.compile(rf"(?i:Bearer) +({PREFIX}[A-Za-z0-9_-]{{20,100}})")


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Who may use the service.

    Attributes:
        needs_key: every request must have a key; else those without one act for the service's own tenant.
        allowed_hosts: host names that requests may use; None allows any. A service without keys restricts
            them, so that no web page reaches it through a domain that resolves to this machine.
    """

    needs_key: bool
    allowed_hosts: frozenset[str] | None = None


def bearer_key(headers: Headers, *, required: bool) -> str | None:
    """The key in the Authorization header; None without one, unless it is required.

    Raises:
        HTTPException: 401, the header is missing or malformed.
    """
    value = headers.get("authorization")
    if value is None and not required:
        return None
    if value is None:
        raise _unauthorized(_NO_KEY, "")
    match = _BEARER.fullmatch(value.strip())
    if match is None:
        raise _unauthorized("The header Authorization must be `Bearer pgr_...`.", "invalid_request")
    return match[1]


async def authenticate(service: Service, headers: Headers) -> AsyncMemory:
    """The client for the tenant of a request's key.

    Raises:
        HTTPException: 401, the key is missing, unknown or revoked.
    """
    key = bearer_key(headers, required=service.policy.needs_key)
    if key is None:
        return service.memory
    holder = await service.memory.keys.holder(key)
    if holder is None:
        raise _unauthorized("This key is unknown or revoked.", "invalid_token")
    return service.memory.for_tenant(holder.tenant)


def may_write(headers: Headers) -> bool:
    """Whether a request may change something: unless its key may only read."""
    key = bearer_key(headers, required=False)
    return key is None or not is_read_only(key)


def require_right(request: Request) -> None:
    """Refuses requests to the API that would change something with a key that may only read.

    Raises:
        HTTPException: 403.
    """
    reads = request.method in ("GET", "HEAD") or request.url.path in _READS
    if not (reads or may_write(request.headers)):
        raise HTTPException(403, f"{READ_ONLY} A key that may write is made without `--read-only`.")


def _unauthorized(detail: str, error: str) -> HTTPException:
    challenge = 'Bearer realm="pgrecall"' + (f', error="{error}"' if error else "")
    return HTTPException(401, detail, {"WWW-Authenticate": challenge})


async def _tenant_memory(request: Request) -> AsyncMemory:  # a plain function would run in a thread
    memory: AsyncMemory = request.state.memory
    return memory


TenantMemory = Annotated[AsyncMemory, Depends(_tenant_memory)]
"""The client for the tenant that the request acts for, set by :mod:`.request_handling`."""
