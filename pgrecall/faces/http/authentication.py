"""Authentication: the tenant that a request acts for, from its bearer key."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request

from pgrecall import AsyncMemory
from pgrecall.nouns.keys.operations import PREFIX, is_read_only

if TYPE_CHECKING:
    from pgrecall.faces.http.service import Service
    from pgrecall.nouns.keys.models import KeyHolder

_NO_KEY = (
    "A key is required: send it as `Authorization: Bearer pgr_...`. "
    "The operator of this service creates keys with `pgrecall keys create NAME`."
)
_READS = ("/v1/search", "/v1/context")
"""Requests that are not GET and yet change no memory."""

CHECKED_AGAIN_AFTER = 1.0
"""Seconds from its beginning after which the key or session of a request is looked up again before it runs: a
slow body and the queue could let it run long after the key was revoked."""

_BEARER = re.compile(rf"(?i:Bearer) +({PREFIX}[A-Za-z0-9_-]{{20,100}})")


def bearer_key(headers: Headers, *, required: bool) -> str | None:
    """The key in the Authorization header; None without one, unless it is required.

    Raises:
        HTTPException: 401, the header is missing, malformed or there twice: a proxy in front may have
            checked another one than this service would.
    """
    values = headers.getlist("authorization")
    if len(values) > 1:
        raise _unauthorized("There is more than one header Authorization.", "invalid_request")
    value = values[0] if values else None
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
        async with service.queue.slot(service.memory.tenant):  # an overloaded service reads no body
            return service.memory
    holder = await holder_of_key(service, key)
    if holder is None:
        raise _unauthorized("This key is unknown or revoked.", "invalid_token")
    return service.memory.for_tenant(holder.tenant, also_reads=holder.also_reads)


async def holder_of_key(service: Service, key: str) -> KeyHolder | None:
    """The tenant that a key acts for, and those that it also reads; None if it is unknown or revoked.

    Raises:
        HTTPException: 429 or 503, there are too many requests.
    """
    async with service.queue.slot(service.tenants.of(key)):
        holder = await service.memory.keys.holder(key)
    if holder is not None:
        service.tenants.note(key, holder.tenant)
    return holder


async def require_valid_key(service: Service, headers: Headers) -> None:
    """Looks the key up again, for a request that holds a slot and has waited for it.

    Raises:
        HTTPException: 401, it was revoked meanwhile.
    """
    key = bearer_key(headers, required=False)
    if key is not None and await service.memory.keys.holder(key) is None:
        raise _unauthorized("This key is unknown or revoked.", "invalid_token")


def checked_again(check: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
    """What a request that begins now awaits once it holds a slot: ``check``, if it has waited for long."""
    began = time.monotonic()

    async def check_if_late() -> None:
        if time.monotonic() - began > CHECKED_AGAIN_AFTER:
            await check()

    return check_if_late


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
        raise HTTPException(403, "This key may only read. Create a key that may write without `--read-only`.")


def _unauthorized(detail: str, error: str) -> HTTPException:
    challenge = 'Bearer realm="pgrecall"' + (f', error="{error}"' if error else "")
    return HTTPException(401, detail, {"WWW-Authenticate": challenge})


async def _tenant_memory(request: Request) -> AsyncMemory:  # a plain function would run in a thread
    memory: AsyncMemory = request.state.memory
    return memory


TenantMemory = Annotated[AsyncMemory, Depends(_tenant_memory)]
"""The client for the tenant that the request acts for, set by :mod:`.request_handling`."""
