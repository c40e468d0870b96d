"""Connection poolers between this program and Postgres, such as PgBouncer.

A pooler in transaction mode lends a server process for one transaction at a time. What a session keeps in
that process, such as prepared statements and locks, then stays behind for the next client.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import psycopg

from pgrecall.database.connections import connect
from pgrecall.database.server import Row
from pgrecall.errors import DatabaseUnavailable, DatabaseUnsuitable

PROCESS = "SELECT pg_backend_pid() AS pid"

_ROUNDS = 4


def is_pooled(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], process: int) -> bool:
    """Whether a pooler is in between, given the ``process`` that answers; a pooler announces another one."""
    return connection.info.backend_pid != process


def process_of(connection: psycopg.Connection[Row]) -> int:
    """The process of the server that answers this connection now."""
    row = connection.execute(PROCESS).fetchone()
    assert row is not None
    return int(row["pid"])


def pool_mode(
    connection: psycopg.Connection[Row], url: str, *, timeout: float
) -> Literal["session", "transaction"] | None:
    """The mode of the pooler behind a connection to this URL; None if there is none.

    A second connection shows that server processes are shared: one process answers both, or two processes
    answer one of them. With many other clients this can be missed; then
    :class:`pgrecall.database.session.Session` notices the change.
    """
    mine, theirs = {process_of(connection)}, set[int]()
    if not is_pooled(connection, *mine):
        return None
    with suppress(DatabaseUnavailable), connect(url, timeout=timeout) as other:  # none left in session mode
        for _ in range(_ROUNDS):
            theirs |= {process_of(other), process_of(other)}
            mine.add(process_of(connection))
            if len(mine) > 1 or len(theirs) > 1 or mine & theirs:
                return "transaction"
    return "session"


def shared_process() -> DatabaseUnsuitable:
    """Returns the error for a session behind a pooler in transaction mode."""
    return DatabaseUnsuitable(
        "The database URL points to a connection pooler in transaction mode; jobs need a direct "
        "connection or a pool in session mode.",
        hint="Set another PGRECALL_DATABASE_URL where jobs run; see docs/howto/postgres.md.",
    )
