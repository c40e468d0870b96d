"""The use of memories, which keeps them lively."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall import operations
from pgrecall.client.driver import Driver
from pgrecall.models.access import Access

if TYPE_CHECKING:
    from pgrecall.models.access import Access, AccessKind


class Using(Driver):
    """What is done with memories."""

    def record_access(
        self,
        memory: int | str,
        kind: AccessKind = "read",
        *,
        at: datetime | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
        now: datetime | None = None,
    ) -> bool:
        """Logs one use of a memory, which makes it livelier; False when its idempotency key was seen.

        Raises:
            MemoryNotFound, InvalidInput: no such memory or kind, or a time in the future.
        """
        access = Access(memory, kind, at, session_id, idempotency_key)
        return self._run(operations.record_access(self._in_session(access), now))

    def record_accesses(self, accesses: Iterable[Access], *, now: datetime | None = None) -> int:
        """Logs uses in one transaction; returns how many were not seen before."""
        return self._run(operations.record_accesses(map(self._in_session, accesses), now))

    def _in_session(self, access: Access) -> Access:
        return replace(access, session_id=self.session_id) if access.session_id is None else access
