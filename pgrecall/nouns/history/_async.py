"""``memory.history``: the past of memories."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import declared
from pgrecall.nouns.history import operations
from pgrecall.nouns.status.models import LayerStatus

if TYPE_CHECKING:
    from pgrecall.nouns.memories.models import VitalityTerms


class AsyncHistoryGroup(AsyncGroup):
    """The past, computed from the access log by the rates and settings of today."""

    async def vitality(self, memory: int | str, at: datetime) -> VitalityTerms:
        """Computes every term of a memory's vitality at a past time.

        Args:
            memory: its id or key.
            at: the time.

        Returns:
            The terms of its vitality, and its zone.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: it did not exist then.
        """
        return await self._connection.execute(operations.vitality_as_of(memory, at))

    @declared("zones", "GET /v1/history/zones")
    async def zones(self, at: datetime) -> tuple[LayerStatus, ...]:
        """Counts the live memories of each layer in each zone at a time in the past.

        Args:
            at: a time in the past.

        Returns:
            Counts of all layers.
        """
        return await self._connection.execute(operations.zones_as_of(at))
