"""``memory.keys`` and ``memory.service``: keys of the HTTP service, and figures of the whole database."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall.client._async.connection import AsyncGroup
from pgrecall.operations import service

if TYPE_CHECKING:
    from pgrecall.models.service import ApiKey, Caller, Census, IssuedKey, KeyHolder, SchemaStamp


class AsyncKeysGroup(AsyncGroup):
    """Keys that let their holder act for this tenant over HTTP."""

    async def create(self, name: str, *, now: datetime | None = None) -> IssuedKey:
        """Creates a key for this tenant. Its secret is in the result and nowhere else.

        Args:
            name: what to call it, 1 to 200 characters.
            now: time to use instead of the database's clock.

        Raises:
            InvalidInput: the name is empty or too long.
        """
        return await self._connection.execute(service.create_key(name, now))

    async def list(self) -> tuple[ApiKey, ...]:
        """Lists this tenant's keys, newest first, revoked ones included."""
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
        """Finds the tenant a key acts for, whichever it is; None for an unknown or revoked key."""
        return await self._connection.execute(service.key_holder(secret, now))

    async def any(self) -> bool:
        """Returns whether any tenant of this database has a key that is not revoked."""
        return await self._connection.execute(service.has_active_key())


class AsyncServiceGroup(AsyncGroup):
    """The database as the operator of a service sees it."""

    async def caller(self) -> Caller:
        """Returns the role this client logs in as, the tenant it acts for, and what it may do."""
        return await self._connection.execute(service.caller())

    async def census(self) -> Census:
        """Computes figures of all tenants together. It reads every memory."""
        return await self._connection.execute(service.census())

    async def schema(self) -> SchemaStamp:
        """Reads the schema version; an upgrade may have changed it since this client was opened."""
        return await self._connection.execute(service.schema_state())
