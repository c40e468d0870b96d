"""Memory that request bodies and the values in them take, so that no tenant fills that of the service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException

RETRY_AFTER = 1
"""Seconds."""

_BYTES_BY_SIGN = {b",": 40, b"[": 64, b"{": 240}
"""Bytes that Python takes for the value after a comma, for a list and for an object."""

TakePart = Callable[[bytes], None]
"""Counts a part of a body that has arrived; raises HTTPException 429 when the tenant holds too much."""


def uncounted(_: bytes) -> None:
    """Counts nothing: for small bodies of requests that act for no tenant yet."""


class BodiesInFlight:
    """Counts the memory of bodies that arrive, wait or are being handled, by tenant.

    Args:
        limit: bytes of one tenant. A body that is alone may be larger: it has a limit of its own.
    """

    def __init__(self, limit: int) -> None:
        self.refused = 0
        self._limit = limit
        self._held: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """Bytes of all tenants."""
        return self._held.total()

    @contextmanager
    def hold(self, tenant: str) -> Iterator[TakePart]:
        """Counts the memory of one body until the end of the context.

        Args:
            tenant: the tenant that the request acts for.

        Returns:
            What to call with each part, before it is kept.
        """
        own = 0

        def take(part: bytes) -> None:
            nonlocal own
            size = _memory_of(part)
            others = self._held[tenant] - own
            if others and others + own + size > self._limit:
                self.refused += 1
                raise HTTPException(
                    429,
                    f"Requests of your tenant hold {others + own:,} bytes of memory and may hold "
                    f"{self._limit:,}. Try again in {RETRY_AFTER} second.",
                    {"Retry-After": str(RETRY_AFTER)},
                )
            own += size
            self._held[tenant] += size

        try:
            yield take
        finally:
            self._held[tenant] -= own
            if not self._held[tenant]:
                del self._held[tenant]


def _memory_of(part: bytes) -> int:
    """Bytes of a part and, estimated by its signs, of the values that are parsed from it.

    8 MB of ``[],[],[]`` become 190 MB; a text has few of these signs and becomes little more than itself.
    """
    return len(part) + sum(size * part.count(sign) for sign, size in _BYTES_BY_SIGN.items())
