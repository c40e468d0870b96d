"""``memory.readers``: the tenants with which this one is shared."""

from __future__ import annotations

from datetime import datetime

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.operation import rows_of
from pgrecall.nouns.readers import operations
from pgrecall.nouns.readers.models import Reader


class AsyncReadersGroup(AsyncGroup):
    """Other tenants that may read this one, and copy memories into it if they may share with it."""

    async def add(self, reader: str, *, may_share: bool = False, now: datetime | None = None) -> bool:
        """Lets another tenant read this one: its memories, searches and settings, but not write to it.

        Searches of the other tenant rank these memories only where it asks for them: with a key that names
        this tenant (``keys.create(also_reads=...)``), or with ``PGRECALL_ALSO_READS``.

        Args:
            reader: name of the other tenant, 1 to 200 characters.
            may_share: let it also copy memories of its own into this tenant, with ``share``. Repeat the call
                without it to end that.
            now: time to use instead of the database's clock.

        Returns:
            False if nothing changed.

        Raises:
            InvalidInput: the name is invalid or that of this tenant, or there are 1,000 readers.
        """
        adding = operations.add_reader(reader, may_share, now)
        return await self._connection.execute(adding, of_memories=False)

    async def list(self) -> tuple[Reader, ...]:
        """Lists the tenants that may read this one, by name, since when, and whether they may share with it.

        Returns:
            The readers.
        """
        return await self._connection.execute(rows_of("readers", Reader))

    async def remove(self, reader: str) -> bool:
        """Ends the right of another tenant to read this one, from its next search on.

        Args:
            reader: name of the other tenant.

        Returns:
            False if it could not read.
        """
        return await self._connection.execute(operations.remove_reader(reader), of_memories=False)
