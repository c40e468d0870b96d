"""Whom a request acts for: the tenant of its key or, on a machine of one's own, the service's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from pgrecall.operations.service import PREFIX

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.service import Service

_FORM = re.compile(rf"(?i:Bearer) +({PREFIX}[A-Za-z0-9_-]{{20,100}})")


def secret_in(headers: Headers, *, needed: bool) -> str | None:
    """The key a request shows; None without one, where none is needed.

    Raises:
        HTTPException: 401, there is none or it is no key of ours.
    """
    given = headers.get("authorization")
    if given is None and not needed:
        return None
    if given is None:
        raise _unauthorized("This needs a key: send it as `Authorization: Bearer pgr_...`.", "")
    found = _FORM.fullmatch(given.strip())
    if found is None:
        raise _unauthorized("The header Authorization must be `Bearer pgr_...`.", "invalid_request")
    return found[1]


async def memory_of(service: Service, headers: Headers) -> AsyncMemory:
    """The memory of whom a request acts for.

    Raises:
        HTTPException: 401, the key is missing, unknown or revoked.
    """
    secret = secret_in(headers, needed=service.door.needs_key)
    if secret is None:
        return service.memory
    holder = await service.memory.keys.holder(secret)
    if holder is None:
        raise _unauthorized("This key is unknown or revoked.", "invalid_token")
    return service.memory.for_tenant(holder.tenant)


def _unauthorized(detail: str, error: str) -> HTTPException:
    challenge = 'Bearer realm="pgrecall"' + (f', error="{error}"' if error else "")
    return HTTPException(401, detail, {"WWW-Authenticate": challenge})
