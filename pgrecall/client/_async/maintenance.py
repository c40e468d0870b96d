"""``memory.maintenance``, ``memory.keys`` and ``memory.service``: jobs by hand, keys, figures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.group import AsyncGroup
from pgrecall.operations import maintenance, service

if TYPE_CHECKING:
    from pgrecall.models.maintenance import Check, GraphReport
    from pgrecall.models.service import ApiKey, Caller, CellsReport, Census, IssuedKey, KeyHolder, SchemaStamp

_ATTEMPTS = 2
"""How often a session is looked for: its tenant may move between both questions."""


class AsyncMaintenanceGroup(AsyncGroup):
    """Maintenance of a tenant, which a worker does too; imports do the necessary parts at their end."""

    async def refresh_statistics(self, *, now: datetime | None = None) -> int:
        """Recounts document frequencies and the medians of layers.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            How many memories were counted.
        """
        return await self._connection.execute(maintenance.refresh_statistics(now))

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
        while step := await self._connection.execute(maintenance.fold_accesses(maintenance.FOLD_ROWS)):
            folded += step
        return folded

    async def rebuild(self, memories: Sequence[int | str] | None = None) -> int:
        """Recomputes the stored summaries of these memories, or of all, from the access log.

        Args:
            memories: ids or keys; None for all.

        Returns:
            How many summaries differed from the log: 0 for a consistent database.

        Raises:
            MemoryNotFound: one of them is not in this tenant.
        """
        return await self._connection.execute(maintenance.rebuild(memories))

    async def verify(self, *, now: datetime | None = None) -> tuple[Check, ...]:
        """Checks the invariants of this tenant's data; changes nothing.

        Args:
            now: time to use instead of the database's clock.

        Returns:
            Each check, with the number of violations and up to five examples.
        """
        return await self._connection.execute(maintenance.verify(now))


async def refresh_graph(connection: AsyncConnection) -> GraphReport:
    """Creates pending links with a new target, and protects the memories that connect the graph."""
    await connection.execute(maintenance.resolve_pending_links())
    return await connection.execute(maintenance.refresh_graph(None))


class AsyncKeysGroup(AsyncGroup):
    """Keys that let their holder act for this tenant over HTTP."""

    async def create(self, name: str, *, read_only: bool = False, now: datetime | None = None) -> IssuedKey:
        """Creates a key for this tenant. Its secret is in the result and nowhere else.

        Args:
            name: name of the key, 1 to 200 characters.
            read_only: whether its holder may only search and read, over HTTP and on the page; not over MCP.
            now: time to use instead of the database's clock.

        Returns:
            The key and its secret.

        Raises:
            InvalidInput: the name is empty or too long.
        """
        return await self._connection.execute(service.create_key(name, now, read_only))

    async def list(self) -> tuple[ApiKey, ...]:
        """Lists this tenant's keys, newest first, revoked ones included.

        Returns:
            The keys, without their secrets.
        """
        return await self._connection.execute(service.keys())

    async def revoke(self, key: int, *, now: datetime | None = None) -> bool:
        """Revokes a key for good.

        Args:
            key: its id.
            now: time to use instead of the database's clock.

        Returns:
            False when it was revoked before.

        Raises:
            InvalidInput: this tenant has no such key.
        """
        return await self._connection.execute(service.revoke_key(key, now))

    async def holder(self, secret: str, *, now: datetime | None = None) -> KeyHolder | None:
        """Finds the tenant a key acts for, whichever it is; None for an unknown or revoked key.

        Args:
            secret: the key.
            now: time to use instead of the database's clock.

        Returns:
            The tenant and the id of the key.
        """
        finding = service.key_holder(secret, now)
        named = attrgetter("tenant")
        return await self._connection.execute_anywhere(finding, service.digest(secret), named)

    async def open_session(self, secret: str, cookie: str, seconds: int) -> bool:
        """Opens a session of the page, named by a cookie; returns False for an unknown or revoked key.

        A key has 20 sessions at most: the oldest ends when it opens another. Only digests are stored.

        Args:
            secret: the key.
            cookie: the cookie that names the session.
            seconds: how long the session lasts.

        Returns:
            Whether the session was opened.
        """
        opening = service.open_page_session(secret, cookie, seconds)
        for _ in range(_ATTEMPTS):
            holder = await self.holder(secret)
            if holder is None:
                return False
            if await self._connection.view(tenant=holder.tenant).execute(opening, of_memories=False):
                return True
        return False

    async def session_tenant(self, cookie: str) -> str | None:
        """Finds the tenant of a session; None if it has ended or its key was revoked.

        Args:
            cookie: the cookie of the session.

        Returns:
            The name of the tenant.
        """
        finding = service.page_session_tenant(cookie)
        return await self._connection.execute_anywhere(finding, service.digest(cookie), str)

    async def close_session(self, cookie: str) -> bool:
        """Ends a session, for every copy of its cookie; returns whether there was one.

        Args:
            cookie: the cookie of the session.

        Returns:
            Whether there was one.
        """
        closing = service.close_page_session(cookie)
        if self._connection.finder is None:
            return await self._connection.execute(closing, of_memories=False)
        for _ in range(_ATTEMPTS):
            tenant = await self.session_tenant(cookie)
            if tenant is None:
                return False
            if await self._connection.view(tenant=tenant).execute(closing, of_memories=False):
                return True
        return False

    async def any(self) -> bool:
        """Returns whether any tenant of this database, or of the cells, has a key that is not revoked."""
        return await self._connection.execute_anywhere(service.has_active_key())


class AsyncServiceGroup(AsyncGroup):
    """The database as the operator of a service sees it."""

    async def caller(self) -> Caller:
        """Returns the login role of this client, the tenant it acts for, and its privileges."""
        return await self._connection.execute_anywhere(service.caller())

    async def census(self) -> Census:
        """Computes figures of all tenants together, also those of all cells. It reads every memory.

        Returns:
            Memories by layer and zone, what waits for jobs, and the jobs by state.
        """
        if self._connection.finder is not None:
            return await self._connection.finder.census(self._connection.tenant)
        return await self._connection.execute_anywhere(service.census())

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
        return await self._connection.execute_anywhere(service.schema_state())
