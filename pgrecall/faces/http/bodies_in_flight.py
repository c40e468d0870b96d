"""Bytes of request bodies in memory, so that no tenant fills it with requests that it does not finish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException

RETRY_AFTER = 1
"""Seconds."""

TakeBytes = Callable[[int], None]
"""Counts bytes that have arrived; raises HTTPException 429 when they are too many."""


def uncounted(_: int) -> None:
    """Counts nothing: for small bodies of requests that act for no tenant yet."""


class BodiesInFlight:
    """Counts the bytes of bodies that arrive, wait or are being handled, by tenant.

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
    def hold(self, tenant: str) -> Iterator[TakeBytes]:
        """Counts the bytes of one body until the end of the context.

        Args:
            tenant: the tenant that the request acts for.

        Returns:
            What to call with the number of bytes of each part, before it is kept.
        """
        own = 0

        def take(size: int) -> None:
            nonlocal own
            others = self._held[tenant] - own
            if others and others + own + size > self._limit:
                self.refused += 1
                raise HTTPException(
                    429,
                    f"Requests of your tenant hold {others + own:,} bytes, and may hold {self._limit:,}. "
                    f"Try again in {RETRY_AFTER} second.",
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
