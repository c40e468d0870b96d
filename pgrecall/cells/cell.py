"""One cell, as an administrator sees it: its contents, its tenants, and running transactions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from pgrecall.cells.kept_connection import KeptConnection
from pgrecall.cells.statements import named_statements
from pgrecall.database.connections import connect
from pgrecall.database.error_translation import translated
from pgrecall.database.server import Row
from pgrecall.errors import DatabaseError
from pgrecall.schema import state as schema
from pgrecall.schema.roles import act_as_owner

_SQL = named_statements("cell.sql")

POLL_SECONDS = 0.02
"""Seconds between checks of transactions that have to end first."""


@dataclass(frozen=True, slots=True)
class CellFacts:
    """The state of a cell, as it reports it.

    ``number``, ``installation`` and ``checked`` are None outside of an installation with cells. ``outside``
    counts sequences that are not in the range of the cell's number.
    """

    number: int | None
    installation: str | None
    checked: bool | None
    embedder: str | None
    bytes: int
    outside: int


class Cell:
    """A cell at a URL. Each call opens a connection, or uses the kept one.

    Methods act as the owner of the schema unless they say otherwise.
    """

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self.url = url
        self._timeout = timeout
        self._kept = KeptConnection()

    @contextmanager
    def open(self) -> Iterator[psycopg.Connection[Row]]:
        """Opens a new connection as the role of the URL, which commits each statement."""
        with connect(self.url, timeout=self._timeout) as connection:
            yield connection

    @contextmanager
    def keep_open(self) -> Iterator[None]:
        """Keeps a connection for the calls inside, which come one after the other."""
        with self.open() as connection, self._kept.keep(connection):
            yield

    @contextmanager
    def as_owner(self) -> Iterator[psycopg.Connection[Row]]:
        """A transaction that acts as the owner of the schema.

        Raises:
            DatabaseUnavailable: the cell cannot be reached.
            DatabaseUnsuitable: this role may not act as the owner.
        """
        with self.connected() as connection, connection.transaction():
            act_as_owner(connection)
            try:
                yield connection
            except psycopg.Error as error:
                raise translated(error) from error

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Row]]:
        """A connection as the role of the URL, committing each statement."""
        if (kept := self._kept.connection) is None:
            with self.open() as connection:
                yield connection
            return
        try:
            yield kept
        except psycopg.Error as error:
            raise translated(error) from error

    def require_current(self) -> schema.SchemaState:
        """The state of the schema, which must be this version's.

        Raises:
            SchemaMismatch: it is not.
        """
        state = schema.inspect(self.url, timeout=self._timeout)
        schema.require_current(state)
        return state

    def facts(self) -> CellFacts:
        """The state that the cell reports."""
        with self.as_owner() as connection:
            row = connection.execute(_SQL["facts"].encode()).fetchone()
            assert row is not None
            return CellFacts(**row)

    def run(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Any]:
        """Runs one statement as the owner; returns its rows."""
        with self.as_owner() as connection:
            cursor = connection.execute(sql.encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def join(self, number: int, installation: str) -> None:
        """Makes the database this cell of an installation.

        Raises:
            InvalidInput: it belongs to another one, or has tenants and could only be cell 0.
        """
        query = "SELECT recall_private.join_cells(%(number)s, %(installation)s)"
        self.run(query, {"number": number, "installation": installation})

    def check_residents(self) -> None:
        """Makes the cell refuse tenants that do not live here. All tenants with rows do, including those that
        were just being stored for the first time."""
        self.run("SELECT recall_private.check_residents(true)")
        self.wait_for_transactions(timeout=60.0)
        self.run("SELECT count(*) FROM recall_private.register_residents()")

    def known_tenants(self) -> list[str]:
        """Every tenant with rows here."""
        return [row["tenant"] for row in self.run("SELECT k AS tenant FROM recall_private.known_tenants() k")]

    def residents(self) -> dict[str, tuple[str, int | None]]:
        """State and cell of every tenant that the cell knows, by name."""
        rows = self.run("SELECT tenant, state, cell FROM recall.resident ORDER BY tenant")
        return {row["tenant"]: (row["state"], row["cell"]) for row in rows}

    def set_resident(self, tenant: str, state: str, cell: int | None) -> None:
        """Records where a tenant lives."""
        self.run(_SQL["set_resident"], {"tenant": tenant, "state": state, "cell": cell})

    def sizes(self, tenants: list[str]) -> dict[str, tuple[int, int]]:
        """The number of memories of these tenants, and about how many bytes all their rows take."""
        rows = self.run(_SQL["sizes"], {"tenants": tenants})
        return {row["tenant"]: (row["memories"], row["bytes"]) for row in rows}

    def secrets(self) -> list[dict[str, Any]]:
        """The digest of each key, session and grant, with its tenant, its name, and whether it opens that."""
        return self.run(_SQL["secrets"])

    def wait_for_transactions(self, *, timeout: float, besides: Sequence[int] = ()) -> None:
        """Waits until every transaction has ended that may have read before now.

        Args:
            timeout: seconds.
            besides: server processes that are not waited for.

        Raises:
            DatabaseError: one took longer.
        """
        with self.connected() as connection:
            rows = connection.execute(_SQL["under_way"].encode(), {"besides": list(besides)}).fetchall()
            waiting = [row["id"] for row in rows]
            deadline = time.monotonic() + timeout
            while waiting:
                rows = connection.execute(_SQL["still"].encode(), {"waiting": waiting}).fetchall()
                waiting = [row["id"] for row in rows]
                if waiting and time.monotonic() > deadline:
                    raise DatabaseError(
                        f"{len(waiting)} transactions in this cell have run for more than {timeout:g} s.",
                        hint="Try again when they have ended; see pg_stat_activity and pg_prepared_xacts.",
                        sqlstate="55P03",
                    )
                if waiting:
                    time.sleep(POLL_SECONDS)
