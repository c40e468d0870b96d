"""``memory.service``: the database as the operator of a service sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.service import operations

if TYPE_CHECKING:
    from pgrecall.nouns.service.models import Caller, CellsReport, Census, SchemaStamp


class AsyncServiceGroup(AsyncGroup):
    """The database as the operator of a service sees it."""

    async def caller(self) -> Caller:
        """Returns the login role of this client, the tenant it acts for, and its privileges."""
        return await self._connection.execute_anywhere(operations.caller())

    async def census(self) -> Census:
        """Computes figures of all tenants together, also those of all cells. It reads every memory.

        Returns:
            Memories by layer and zone, what waits for jobs, and the jobs by state.
        """
        if self._connection.finder is not None:
            return await self._connection.finder.census(self._connection.tenant)
        return await self._connection.execute_anywhere(operations.census())

    async def cells(self) -> CellsReport | None:
        """Lists the cells, whether they answer, and the tenants that move; None without cells.

        Returns:
            The cells and moves.

        Raises:
            DatabaseUnsuitable: this role is bound to a tenant, and may not ask for all cells.
        """
        finder = self._connection.finder
        return None if finder is None else await finder.cells(self._connection.tenant)

    async def schema(self) -> SchemaStamp:
        """Reads the schema version; an upgrade may have changed it since this client was opened.

        Returns:
            The revision of the tables, and the fingerprint of the functions.
        """
        return await self._connection.execute_anywhere(operations.schema_state())
