"""A pool of connections for the tasks of an event loop."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from pgrecall.database.cancelling import cancelled_once
from pgrecall.database.connections import (
    BoundedAsyncConnection,
    formats_to_set,
    is_fresh,
    read_json_quickly,
)
from pgrecall.database.log_positions import Server, server_in
from pgrecall.database.pool import Database
from pgrecall.database.pooler import PROCESS, is_pooled
from pgrecall.database.server import Call, Row
from pgrecall.database.statements import Limits
from pgrecall.errors import InvalidInput
from pgrecall.settings import PreparedStatements


class Pool(AsyncConnectionPool[BoundedAsyncConnection]):
    """As the pool for threads."""

    limits: Limits

    async def getconn(self, timeout: float | None = None) -> BoundedAsyncConnection:
        first, rest = self.limits.waits(timeout)
        try:
            return await super().getconn(first)
        except PoolTimeout:
            if rest <= 0 or self.limits.is_refused(self):
                raise
            return await super().getconn(rest)


@dataclass(frozen=True, slots=True)
class _PoolOwner:
    """A pool with its process, which owns the sockets, and its event loop, which owns the waiting tasks."""

    process: int
    loop: asyncio.AbstractEventLoop
    pool: Pool


class AsyncDatabase:
    """A pool of connections to one database, serving any number of tenants and tasks of one event loop.

    A forked child gets connections of its own. ``blocking`` is the same database for threads, used by jobs;
    it connects at the first use.

    Args:
        timeout: seconds Postgres may take for one call; None sets no limit.
        prepared_statements: auto prepares statements unless a connection pooler is in between.
        refusals: seconds to try on while the server refuses connections; None: as long as to connect.
        unusable: functions that may not be called, by name, with the reason.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 8,
        connect_timeout: float = 10.0,
        timeout: float | None = None,
        prepared_statements: PreparedStatements = "auto",
        refusals: float | None = None,
        unusable: Mapping[str, str] | None = None,
    ) -> None:
        self._url = url
        self._limits = Limits(
            pool_size,
            connect_timeout,
            timeout,
            prepared_statements,
            refusals,
            {} if unusable is None else unusable,
        )
        self._owner: _PoolOwner | None = None
        self._inherited: list[_PoolOwner] = []
        self._closed = False
        self.blocking = Database(
            url,
            pool_size=pool_size,
            connect_timeout=connect_timeout,
            timeout=timeout,
            prepared_statements=prepared_statements,
            refusals=refusals,
            unusable=unusable,
        )

    async def keep_warm(self, first_search: Call, tenant: str, connections: int) -> None:
        """As Database.keep_warm."""
        self._limits = replace(self._limits, first_search=(first_search, tenant))
        pool = await self._open_pool()
        await pool.resize(min(connections, self._limits.pool_size), self._limits.pool_size)

    async def close(self) -> None:
        """Closes the connections of this loop. Those inherited by a fork belong to the parent."""
        self._closed = True
        await asyncio.to_thread(self.blocking.close)
        owner = self._owner
        if owner is not None and owner.process == os.getpid() and not owner.loop.is_closed():
            await owner.pool.close()

    async def fetch(
        self, call: Call, *, tenant: str, within: float | None = None, reader: str | None = None
    ) -> list[Row]:
        """Makes one call for ``tenant`` in a separate transaction and returns its rows.

        Args:
            within: seconds that Postgres may take, if that is less than the timeout.
            reader: a tenant that reads what ``tenant`` shares with it; None acts for ``tenant``.
        """
        return await cancelled_once(self._fetch(call, tenant, reader, self._limits.within(within)))

    async def _fetch(self, call: Call, tenant: str, reader: str | None, limits: Limits) -> list[Row]:
        sent = limits.statements(call, tenant, reader)
        pool = await self._open_pool()
        with limits.translating_errors(pool):
            async with pool.connection() as connection:
                connection.deadline = limits.deadline()
                cursor = connection.cursor()
                async with connection.pipelined() if len(sent) > 1 else nullcontext():
                    for statement in sent:
                        await cursor.execute(*statement)
                connection.last_answer_at = time.monotonic()
                return await cursor.fetchall()

    async def fetch_replayed(self, call: Call, *, tenant: str) -> tuple[Server, list[Row]]:
        """Makes one call for ``tenant`` that changes nothing, and says how far this standby had replayed.

        Returns:
            The server, with the position in the log of its primary up to which the rows are current; None
            if it is no standby. And the rows.
        """
        return await cancelled_once(self._fetch_replayed(call, tenant))

    async def _fetch_replayed(self, call: Call, tenant: str) -> tuple[Server, list[Row]]:
        first, second = self._limits.replica_statements(call, tenant)
        pool = await self._open_pool()
        with self._limits.translating_errors(pool):
            async with pool.connection() as connection:
                connection.deadline = self._limits.deadline()
                async with connection.pipelined():
                    opened = await connection.execute(*first)
                    cursor = await connection.execute(*second)
                connection.last_answer_at = time.monotonic()
                [replayed] = await opened.fetchall()
                return server_in(replayed), await cursor.fetchall()

    def stats(self) -> dict[str, int]:
        """Returns statistics of the pool; empty before it is used."""
        return {} if self._owner is None else self._owner.pool.get_stats()

    async def _open_pool(self) -> Pool:
        """The pool of this process and loop.

        Raises:
            InvalidInput: it is closed, or was opened in another loop of this process.
        """
        if self._closed:
            raise InvalidInput("This AsyncMemory is closed.", hint="Open a new one.")
        loop, process, owner = asyncio.get_running_loop(), os.getpid(), self._owner
        if owner is None or owner.process != process:
            if owner is not None:
                self._inherited.append(owner)  # or garbage collection would close the parent's sockets
            owner = self._owner = _PoolOwner(process, loop, self._create_pool())
        if owner.loop is not loop:
            raise InvalidInput(
                "This AsyncMemory is used in a different event loop from the one it was opened in.",
                hint="Open one in each loop, or use Memory, which any thread may share.",
            )
        if owner.pool.closed:
            await owner.pool.open()
        return owner.pool

    def _create_pool(self) -> Pool:
        pool = Pool(
            self._url,
            connection_class=BoundedAsyncConnection,
            configure=self._configure,
            check=self._check,
            reconnect_failed=_retry_waiting,
            **self._limits.pool_arguments(self._url),
        )
        pool.limits = self._limits
        return pool

    async def _configure(self, connection: BoundedAsyncConnection) -> None:
        read_json_quickly(connection)
        connection.deadline = self._limits.check_deadline()
        if statement := formats_to_set(connection):
            await connection.execute(*statement)
        answer = await (await connection.execute(PROCESS)).fetchone()
        assert answer is not None
        self._limits.adapt(connection, is_pooled(connection, answer["pid"]))
        if statements := self._limits.warming(connection):
            with suppress(psycopg.Error):  # as in the pool for threads
                async with connection.transaction():
                    for each in statements:
                        await connection.execute(*each)

    async def _check(self, connection: BoundedAsyncConnection) -> None:
        if not is_fresh(connection):
            connection.deadline = self._limits.check_deadline()
            await AsyncConnectionPool.check_connection(connection)


async def _retry_waiting(pool: AsyncConnectionPool[BoundedAsyncConnection]) -> None:
    """Retries connecting while calls still wait for a pool that gave up."""
    if pool.get_stats().get("requests_waiting"):
        await pool.check()
