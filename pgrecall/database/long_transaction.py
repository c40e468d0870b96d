"""Several statements in one transaction, for what is too large for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import uuid4

from pgrecall.database.connections import BoundedConnection
from pgrecall.database.server import Row
from pgrecall.database.statements import Limits


class Conversation:
    """A transaction that is open."""

    def __init__(self, connection: BoundedConnection, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits

    def fetch(self, sql: str, parameters: Mapping[str, object]) -> list[Row]:
        """Runs one statement and returns its rows."""
        self._connection.deadline = self._limits.deadline()
        return self._connection.execute(sql, parameters).fetchall()

    def portions(self, sql: str, parameters: Mapping[str, object], size: int) -> Iterator[list[Row]]:
        """Runs one statement and returns its rows in portions, none of which is fetched before it is wanted.

        All are of the same instant.
        """
        with self._connection.cursor(name=f"pgrecall_{uuid4().hex}") as cursor:
            self._connection.deadline = self._limits.deadline()
            cursor.execute(sql, parameters)
            while rows := cursor.fetchmany(size):
                yield rows
                self._connection.deadline = self._limits.deadline()
