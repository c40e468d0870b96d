"""``memory.maintenance``: statistics, the link graph, waiting accesses, rebuilding and verifying."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from pgrecall.client._async.connection import AsyncConnection, AsyncGroup
from pgrecall.operations import maintenance

if TYPE_CHECKING:
    from pgrecall.models.maintenance import Check, GraphReport


class AsyncMaintenanceGroup(AsyncGroup):
    """Upkeep of a tenant's memories. A worker does it by itself; imports do what they need at their end."""

    async def refresh_statistics(self, *, now: datetime | None = None) -> int:
        """Recounts how rare each word is, and how lively each layer is by its median.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            How many memories were counted.
        """
        return await self._connection.execute(maintenance.refresh_statistics(now))

    async def refresh_graph(self) -> GraphReport:
        """Finds the memories that alone hold parts of the link graph together, and protects them.

        Protection keeps a memory out of the archived zone; it never changes its rank.
        """
        return await refresh_graph(self._connection)

    async def fold(self) -> int:
        """Folds the accesses that searches have logged into activations.

        Returns:
            How many searches were folded.
        """
        folded = 0
        while step := await self._connection.execute(maintenance.fold_accesses(maintenance.FOLD_ROWS)):
            folded += step
        return folded

    async def rebuild(self, memories: Sequence[int | str] | None = None) -> int:
        """Computes the stored summaries of these memories, or of all, again from the access log.

        Args:
            memories: ids or keys; None for all.

        Returns:
            How many summaries differed from the log: 0 for a database in order.

        Raises:
            MemoryNotFound: one of them is not in this tenant.
        """
        return await self._connection.execute(maintenance.rebuild(memories))

    async def verify(self, *, now: datetime | None = None) -> tuple[Check, ...]:
        """Checks what must hold of this tenant's data; changes nothing.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            Each check, with the number of violations and up to five examples.
        """
        return await self._connection.execute(maintenance.verify(now))


async def refresh_graph(connection: AsyncConnection) -> GraphReport:
    """Makes links whose target has come, and protects the memories that hold the graph together."""
    from pgrecall.jobs.catalogue import graph_shape

    await connection.execute(maintenance.resolve_pending_links())
    shape = await connection.run(partial(graph_shape, await connection.execute(maintenance.link_graph())))
    return shape.report(await connection.execute(maintenance.store_cut_sizes(shape.cut_sizes)))
