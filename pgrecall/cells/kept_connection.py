"""A connection that is kept for several calls, because opening one may take longer than a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from pgrecall.database.server import Row


class KeptConnection:
    """The kept connection of one object, if it has one."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Row] | None = None

    @property
    def connection(self) -> psycopg.Connection[Row] | None:
        """The kept connection; None if there is none or it was lost."""
        return None if self._connection is None or self._connection.closed else self._connection

    @contextmanager
    def keep(self, connection: psycopg.Connection[Row]) -> Iterator[None]:
        """Keeps this connection for the calls inside."""
        self._connection = connection
        try:
            yield
        finally:
            self._connection = None
