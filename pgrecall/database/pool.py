"""A pool of connections for any number of threads, in this process and in those forked from it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from uuid import uuid4

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from pgrecall.database.connections import (
    BoundedConnection,
    connect,
    is_fresh,
    read_json_quickly,
    set_formats,
)
from pgrecall.database.log_positions import Server, server_in
from pgrecall.database.pooler import is_pooled, process_of
from pgrecall.database.server import Call, Row, ServerFacts, server_facts
from pgrecall.database.session import Session, open_session
from pgrecall.database.statements import Limits
from pgrecall.errors import InvalidInput
from pgrecall.settings import PreparedStatements


class Pool(ConnectionPool[BoundedConnection]):
    """A pool that gives up sooner if the server refuses connections than if it is slow or busy."""

    limits: Limits

    def getconn(self, timeout: float | None = None) -> BoundedConnection:
        first, rest = self.limits.waits(timeout)
        try:
            return super().getconn(first)
        except PoolTimeout:
            if rest <= 0 or self.limits.is_refused(self):
                raise
            return super().getconn(rest)


class OpenTransaction:
    """An open transaction for work that is too large for one statement."""

    def __init__(self, connection: BoundedConnection, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits

    def fetch(self, sql: str, parameters: Mapping[str, object]) -> list[Row]:
        """Runs one statement and returns its rows."""
        self._connection.deadline = self._limits.deadline()
        return self._connection.execute(sql, parameters).fetchall()

    def batches(self, sql: str, parameters: Mapping[str, object], size: int) -> Iterator[list[Row]]:
        """Runs one statement and yields its rows in batches, fetched on demand from one snapshot."""
        with self._connection.cursor(name=f"pgrecall_{uuid4().hex}") as cursor:
            self._connection.deadline = self._limits.deadline()
            cursor.execute(sql, parameters)
            while rows := cursor.fetchmany(size):
                yield rows
                self._connection.deadline = self._limits.deadline()


class Database:
    """A pool of connections to one database, serving any number of tenants and threads.

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
        # A pool that came with a fork stays here, untouched: its connections are the parent's.
        self._pools: dict[int, Pool] = {}
        self._closed = False

    def open(self) -> None:
        """Opens the pool after one connection has shown that the server answers; else first use opens it."""
        with connect(self._url, timeout=self._limits.connect_timeout):
            pass
        self._open_pool()

    def close(self) -> None:
        """Closes the connections of this process; those that a fork brought are its parent's."""
        self._closed = True
        if (pool := self._pools.get(os.getpid())) is not None:
            pool.close()

    def keep_warm(self, first_search: Call, tenant: str, connections: int) -> None:
        """Opens connections in the background and keeps so many, at most as many as the pool may have.

        From now on, each new one makes this search before it is used.
        """
        self._limits = replace(self._limits, first_search=(first_search, tenant))
        self._open_pool().resize(min(connections, self._limits.pool_size), self._limits.pool_size)

    @contextmanager
    def transaction(self, tenant: str) -> Iterator[BoundedConnection]:
        """A transaction that acts for ``tenant``; committed at the end, rolled back on any error."""
        pool = self._open_pool()
        with self._limits.translating_errors(pool), pool.connection() as connection:
            connection.deadline = self._limits.deadline()
            with connection.transaction():
                connection.execute(*self._limits.opening(tenant, durable=True))
                yield connection

    @property
    def url(self) -> str:
        """The connection string, with the password if it has one."""
        return self._url

    @property
    def blocking(self) -> Database:
        """The database for threads: this one."""
        return self

    def fetch(
        self, call: Call, *, tenant: str, within: float | None = None, reader: str | None = None
    ) -> list[Row]:
        """Makes one call for ``tenant`` in a separate transaction and returns its rows.

        Args:
            within: seconds that Postgres may take, if that is less than the timeout.
            reader: a tenant that reads what ``tenant`` shares with it; None acts for ``tenant``.
        """
        limits = self._limits.within(within)
        sent = limits.statements(call, tenant, reader)
        pool = self._open_pool()
        with limits.translating_errors(pool), pool.connection() as connection:
            connection.deadline = limits.deadline()
            cursor = connection.cursor()
            with connection.pipelined() if len(sent) > 1 else nullcontext():
                for statement in sent:
                    cursor.execute(*statement)
            connection.last_answer_at = time.monotonic()
            return cursor.fetchall()

    def fetch_replayed(self, call: Call, *, tenant: str) -> tuple[Server, list[Row]]:
        """Makes one call for ``tenant`` that changes nothing, and says how far this standby had replayed.

        Returns:
            The server, with the position in the log of its primary up to which the rows are current; None
            if it is no standby. And the rows.
        """
        first, second = self._limits.replica_statements(call, tenant)
        pool = self._open_pool()
        with self._limits.translating_errors(pool), pool.connection() as connection:
            connection.deadline = self._limits.deadline()
            with connection.pipelined():
                opened = connection.execute(*first)
                cursor = connection.execute(*second)
            connection.last_answer_at = time.monotonic()
            [replayed] = opened.fetchall()
            return server_in(replayed), cursor.fetchall()

    @contextmanager
    def open_transaction(self, tenant: str) -> Iterator[OpenTransaction]:
        """A transaction of several statements for ``tenant``; each may take the timeout of a call."""
        with self.transaction(tenant) as connection:
            yield OpenTransaction(connection, self._limits)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Opens a connection outside the pool, for advisory locks, which last as long as a connection."""
        with open_session(self._url, timeout=self._limits.connect_timeout) as session:
            yield session

    def facts(self) -> ServerFacts:
        """Reads facts about the server over a connection of its own."""
        with connect(self._url, timeout=self._limits.connect_timeout) as connection:
            return server_facts(connection)

    def stats(self) -> dict[str, int]:
        """Returns statistics of the pool."""
        return self._open_pool().get_stats()

    def _open_pool(self) -> Pool:
        """The pool of this process.

        Raises:
            InvalidInput: this database is closed.
        """
        if self._closed:
            raise InvalidInput("This Memory is closed.", hint="Open a new one.")
        pool = self._pools.get(os.getpid())
        if pool is None:
            # Of threads that are first, one wins.
            pool = self._pools.setdefault(os.getpid(), self._create_pool())
        if pool.closed:
            pool.open()
        return pool

    def _create_pool(self) -> Pool:
        pool = Pool(
            self._url,
            connection_class=BoundedConnection,
            configure=self._configure,
            check=self._check,
            reconnect_failed=_retry_waiting,
            **self._limits.pool_arguments(self._url),
        )
        pool.limits = self._limits
        return pool

    def _configure(self, connection: BoundedConnection) -> None:
        read_json_quickly(connection)
        connection.deadline = self._limits.check_deadline()
        set_formats(connection)
        self._limits.adapt(connection, is_pooled(connection, process_of(connection)))
        if statements := self._limits.warming(connection):
            # Postgres keeps what it planned. If this fails, the first call says why.
            with suppress(psycopg.Error), connection.transaction():
                for statement in statements:
                    connection.execute(*statement)

    def _check(self, connection: BoundedConnection) -> None:
        if not is_fresh(connection):
            connection.deadline = self._limits.check_deadline()
            ConnectionPool.check_connection(connection)


def _retry_waiting(pool: ConnectionPool[BoundedConnection]) -> None:
    """Retries connecting while calls still wait for a pool that gave up."""
    if pool.get_stats().get("requests_waiting"):
        pool.check()
