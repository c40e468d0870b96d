"""``memory.maintenance``: jobs by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import declared
from pgrecall.nouns.maintenance import operations
from pgrecall.nouns.maintenance.models import Check

if TYPE_CHECKING:
    from pgrecall.nouns.maintenance.models import GraphReport


class AsyncMaintenanceGroup(AsyncGroup):
    """Maintenance of a tenant, which a worker does too; imports do the necessary parts at their end."""

    async def refresh_statistics(self, *, now: datetime | None = None) -> int:
        """Recounts document frequencies and the medians of layers.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            How many memories were counted.
        """
        return await self._connection.execute(operations.refresh_statistics(now))

    async def refresh_graph(self) -> GraphReport:
        """Finds and protects the memories that connect parts of the link graph.

        Protection keeps a memory out of the dormant zone; it never changes its rank.

        Returns:
            Counts of memories, links and protected memories, and the links that alone connect two parts.
        """
        return await refresh_graph(self._connection)

    async def fold(self) -> int:
        """Folds the accesses that searches have logged into activations.

        Returns:
            How many searches were folded.
        """
        folded = 0
        while step := await self._connection.execute(operations.fold_accesses(operations.FOLD_ROWS)):
            folded += step
        return folded

    async def rebuild(self, memories: Sequence[int | str] | None = None) -> int:
        """Recomputes the stored summaries of these memories, or of all, from the access log.

        What a memory says is found out again too, unless somebody marked it: an upgrade may know more words.

        Args:
            memories: ids or keys; None for all.

        Returns:
            How many were wrong: 0 for a consistent database.

        Raises:
            MemoryNotFound: one of them is not in this tenant.
        """
        return await self._connection.execute(operations.rebuild(memories))

    @declared("verify", "GET /v1/maintenance/verify", tag="status")
    async def verify(self, *, now: datetime | None = None) -> tuple[Check, ...]:
        """Checks every invariant of this tenant's data; changes nothing.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            Each check, with the number of violations and up to five examples.
        """
        return await self._connection.execute(operations.verify(now))


async def refresh_graph(connection: AsyncConnection) -> GraphReport:
    """Creates pending links with a new target, and protects the memories that connect the graph."""
    await connection.execute(operations.resolve_pending_links())
    return await connection.execute(operations.refresh_graph(None))
