"""``memory.keys``: keys and sessions of the page."""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.keys import operations
from pgrecall.nouns.keys.models import ApiKey, IssuedKey, KeyHolder
from pgrecall.nouns.operation import rows_of

_ATTEMPTS = 2
"""How often a session is looked for: its tenant may move between both questions."""


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
        return await self._connection.execute(operations.create_key(name, now, read_only))

    async def list(self) -> tuple[ApiKey, ...]:
        """Lists this tenant's keys, newest first: what each may do, when it was created, used, revoked.

        Returns:
            The keys, without their secrets.
        """
        return await self._connection.execute(rows_of("keys", ApiKey))

    async def revoke(self, key: int, *, now: datetime | None = None) -> bool:
        """Revokes a key, now and for good.

        Args:
            key: id of the key.
            now: time to use instead of the database's clock.

        Returns:
            False when it was revoked before.

        Raises:
            InvalidInput: this tenant has no such key.
        """
        return await self._connection.execute(operations.revoke_key(key, now))

    async def holder(self, secret: str, *, now: datetime | None = None) -> KeyHolder | None:
        """Finds the tenant a key acts for, whichever it is; None for an unknown or revoked key.

        Args:
            secret: the key.
            now: time to use instead of the database's clock.

        Returns:
            The tenant and the id of the key.
        """
        finding = operations.key_holder(secret, now)
        named = attrgetter("tenant")
        return await self._connection.execute_anywhere(finding, operations.digest(secret), named)

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
        opening = operations.open_page_session(secret, cookie, seconds)
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
        finding = operations.page_session_tenant(cookie)
        return await self._connection.execute_anywhere(finding, operations.digest(cookie), str)

    async def close_session(self, cookie: str) -> bool:
        """Ends a session, for every copy of its cookie; returns whether there was one.

        Args:
            cookie: the cookie of the session.

        Returns:
            Whether there was one.
        """
        closing = operations.close_page_session(cookie)
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
        return await self._connection.execute_anywhere(operations.has_active_key())
