"""Sessions: single connections with state that Postgres keeps for a session, such as the lock of a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from pgrecall.database.connections import connect, keepalive_options
from pgrecall.database.error_translation import translated
from pgrecall.database.pooler import pool_mode, process_of, shared_process
from pgrecall.database.server import Call, Row

LOCK_WAIT = "20s"
"""How long a statement waits for a lock: jobs serve one tenant after another, and a transaction that one
tenant leaves open must not keep the others waiting."""

_BEGIN = (
    "SELECT set_config('recall.tenant', %s, true), set_config('lock_timeout', %s, true), "
    "set_config('extra_float_digits', '1', true), pg_backend_pid() AS pid"
)


@contextmanager
def open_session(url: str, *, timeout: float) -> Iterator[Session]:
    """Opens a session.

    Raises:
        DatabaseUnavailable: no connection could be made.
        DatabaseUnsuitable: the URL leads to a pooler in transaction mode.
    """
    with connect(url, timeout=timeout) as connection:
        if pool_mode(connection, url, timeout=timeout) == "transaction":
            raise shared_process()
        watch_from_there(connection, url)
        yield Session(connection, process_of(connection))


class Session:
    """One connection for many transactions. Only ``cancel`` may be called from another thread.

    Args:
        process: the server process of the connection; another one would not have its locks.
    """

    def __init__(self, connection: psycopg.Connection[Row], process: int) -> None:
        self._connection = connection
        self._process = process

    def fetch(self, call: Call, *, tenant: str) -> list[Row]:
        """Makes one call for ``tenant`` in a separate transaction and returns its rows.

        Raises:
            DatabaseUnsuitable: another process answers, as behind a pooler in transaction mode.
        """
        try:
            with self._connection.transaction():
                if self._begun_for(tenant) != self._process:
                    raise shared_process()
                return self._connection.execute(call.sql, call.parameters).fetchall()
        except psycopg.Error as error:
            raise translated(error) from error

    def _begun_for(self, tenant: str) -> int:
        """Sets the tenant of the transaction, and returns the process that runs it."""
        begun = self._connection.execute(_BEGIN, (tenant, LOCK_WAIT)).fetchone()
        assert begun is not None
        return int(begun["pid"])

    def cancel(self) -> None:
        """Cancels the running statement, if any; it fails with a DatabaseError."""
        with suppress(psycopg.Error):  # a lost connection runs no statement
            self._connection.cancel_safe(timeout=5.0)


def watch_from_there(connection: psycopg.Connection[Row], url: str) -> None:
    """Makes the server detect a lost client equally fast, even while a statement runs or waits. Otherwise the
    session would keep its locks, such as that of a job, for hours."""
    connection.execute(_KEEP_ALIVE, keepalive_options(url))
    with suppress(psycopg.DataError):  # not supported by servers on Windows
        connection.execute("SELECT set_config('client_connection_check_interval', '10s', false)")


_KEEP_ALIVE = (
    "SELECT set_config('tcp_keepalives_idle', %(keepalives_idle)s::text, false), "
    "set_config('tcp_keepalives_interval', %(keepalives_interval)s::text, false), "
    "set_config('tcp_keepalives_count', %(keepalives_count)s::text, false), "
    "set_config('tcp_user_timeout', %(tcp_user_timeout)s::text, false)"
)
