"""``memory.keys``: keys, sessions of the page and grants of OAuth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import declared
from pgrecall.nouns.keys import operations
from pgrecall.nouns.keys.models import ApiKey, Grant, IssuedKey, KeyHolder, OpenGrant
from pgrecall.nouns.operation import rows_of

_ATTEMPTS = 2
"""How often a session is looked for: its tenant may move between both questions."""


class AsyncKeysGroup(AsyncGroup):
    """Keys that let their holder act for this tenant over HTTP."""

    async def create(
        self,
        name: str,
        *,
        read_only: bool = False,
        also_reads: Sequence[str] = (),
        now: datetime | None = None,
    ) -> IssuedKey:
        """Creates a key for this tenant. Its secret is in the result and nowhere else.

        Args:
            name: name of the key, 1 to 200 characters.
            read_only: whether its holder may only search and read.
            also_reads: other tenants that its searches also rank, at most 10, while these let this tenant
                read them (``readers.add``).
            now: time to use instead of the database's clock.

        Returns:
            The key and its secret.

        Raises:
            InvalidInput: the name is empty or too long, or so is one of a tenant; there are more than 10, or
                this one is among them.
        """
        creation = operations.create_key(name, now, read_only, also_reads)
        return await self._connection.execute(creation)

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

    async def open_grant(self, cookie: str, code: str, terms: Mapping[str, Any], seconds: int) -> bool:
        """Opens a grant of OAuth for the key of a session; returns False if that has ended or may only read.

        A key has 20 grants at most: the one that ends first goes when it opens another. Only digests are
        stored.

        Args:
            cookie: the cookie of the session, of this tenant.
            code: the code that may be exchanged for tokens.
            terms: what the grant is bound to, as JSON of at most 4,000 bytes.
            seconds: how long the code is valid.

        Returns:
            Whether the grant was opened.

        Raises:
            InvalidInput: the code has another form than that of a code.
        """
        opening = operations.open_grant(cookie, code, terms, seconds)
        return await self._connection.execute(opening, of_memories=False)

    async def grant(self, token: str) -> Grant | None:
        """Finds the grant of a code or token, whichever tenant's it is; None if it or its key has ended.

        Args:
            token: the code, refresh token or access token.

        Returns:
            The grant, and whether this token of it may be used.

        Raises:
            InvalidInput: it has another form than that of a token.
        """
        finding = operations.find_grant(token)
        name = operations.grant_name(token)
        return await self._connection.execute_anywhere(finding, name, attrgetter("tenant"))

    async def exchange_grant(
        self, token: str, following: str, access: str, access_seconds: int, seconds: int
    ) -> bool:
        """Replaces the tokens of a grant of this tenant; returns False if it has ended.

        A token that was exchanged before has been copied: the grant ends.

        Args:
            token: the code or refresh token.
            following: the refresh token that may be exchanged next.
            access: the new access token.
            access_seconds: how long the access token is valid.
            seconds: how long the refresh token is valid.

        Returns:
            Whether they were replaced.

        Raises:
            InvalidInput: the token has another form than that of a token.
        """
        exchange = operations.exchange_grant(token, following, access, access_seconds, seconds)
        return await self._connection.execute(exchange, of_memories=False)

    async def close_grant(self, token: str) -> bool:
        """Ends a grant of this tenant, with all of its tokens; returns whether there was one.

        Args:
            token: any token of the grant.

        Returns:
            Whether there was one.

        Raises:
            InvalidInput: it has another form than that of a token.
        """
        return await self._connection.execute(operations.close_grant(token), of_memories=False)

    @declared("grants", "GET /v1/grants", tag="keys")
    async def grants(self) -> tuple[OpenGrant, ...]:
        """Lists the OAuth grants of this tenant: which programs may use its keys, and for what.

        Returns:
            The grants that have not ended, by key; without tokens.
        """
        return await self._connection.execute(rows_of("grants", OpenGrant))

    @declared("end_grant", "DELETE /v1/grants/{grant}", tag="keys")
    async def end_grant(self, grant: str) -> bool:
        """Ends an OAuth grant and all of its tokens. The next request of its program is refused.

        Args:
            grant: id of the grant.

        Returns:
            Whether there was one.
        """
        return await self._connection.execute(operations.end_grant(grant), of_memories=False)

    async def any(self) -> bool:
        """Returns whether any tenant of this database, or of the cells, has a key that is not revoked."""
        return await self._connection.execute_anywhere(operations.has_active_key())
