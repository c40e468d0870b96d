"""One cell, as an administrator sees it: what it holds, who lives there, and what is under way."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from pgrecall.database.connections import connect
from pgrecall.database.error_translation import translated
from pgrecall.database.server import Row
from pgrecall.errors import DatabaseError
from pgrecall.schema import state as schema
from pgrecall.schema.roles import act_as_owner

BETWEEN_LOOKS = 0.02
"""Seconds between two looks at transactions that have to end first."""


@dataclass(frozen=True, slots=True)
class CellFacts:
    """What a cell says of itself.

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
    """A cell at a URL. Each call opens a connection and, unless it says otherwise, acts as the owner."""

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self.url = url
        self._timeout = timeout

    @contextmanager
    def owned(self) -> Iterator[psycopg.Connection[Row]]:
        """A transaction that acts as the owner of the schema.

        Raises:
            DatabaseUnavailable: the cell cannot be reached.
            DatabaseUnsuitable: this role may not act as the owner.
        """
        with connect(self.url, timeout=self._timeout) as connection, connection.transaction():
            act_as_owner(connection)
            try:
                yield connection
            except psycopg.Error as error:
                raise translated(error) from error

    @contextmanager
    def plain(self) -> Iterator[psycopg.Connection[Row]]:
        """A connection as the role of the URL, committing each statement."""
        with connect(self.url, timeout=self._timeout) as connection:
            yield connection

    def require_current(self) -> schema.SchemaState:
        """The state of the schema, which must be this version's.

        Raises:
            SchemaMismatch: it is not.
        """
        state = schema.inspect(self.url, timeout=self._timeout)
        schema.require_current(state)
        return state

    def facts(self) -> CellFacts:
        """What the cell says of itself."""
        with self.owned() as connection:
            row = connection.execute(_FACTS).fetchone()
            assert row is not None
            return CellFacts(**row)

    def run(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Any]:
        """Runs one statement as the owner; returns its rows."""
        with self.owned() as connection:
            cursor = connection.execute(sql.encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def join(self, number: int, installation: str) -> None:
        """Makes the database this cell of an installation.

        Raises:
            InvalidInput: it belongs to another one, or has tenants and could only be cell 0.
        """
        query = "SELECT recall.join_cells(%(number)s, %(installation)s)"
        self.run(query, {"number": number, "installation": installation})

    def check_residents(self) -> None:
        """Makes the cell refuse tenants that do not live here. Those with rows do, even such as were just
        being stored for the first time."""
        self.run("SELECT recall.check_residents(true)")
        self.wait_for_transactions(limit=60.0)
        self.run("SELECT count(*) FROM recall.register_residents()")

    def residents(self) -> dict[str, tuple[str, int | None]]:
        """State and cell of every tenant that the cell knows, by name."""
        rows = self.run("SELECT tenant, state, cell FROM recall.resident ORDER BY tenant")
        return {row["tenant"]: (row["state"], row["cell"]) for row in rows}

    def set_resident(self, tenant: str, state: str, cell: int | None) -> None:
        """Notes where a tenant lives."""
        self.run(_SET_RESIDENT, {"tenant": tenant, "state": state, "cell": cell})

    def sizes(self, tenants: list[str]) -> dict[str, tuple[int, int]]:
        """Memories of these tenants, and about how many bytes they take with all that belongs to them."""
        rows = self.run(_SIZES, {"tenants": tenants})
        return {row["tenant"]: (row["memories"], row["bytes"]) for row in rows}

    def wait_for_transactions(self, *, limit: float) -> None:
        """Waits until every transaction has ended that may have read before now.

        Raises:
            DatabaseError: one went on for longer than ``limit`` seconds.
        """
        with self.plain() as connection:
            waiting = [row["id"] for row in connection.execute(_UNDER_WAY).fetchall()]
            deadline = time.monotonic() + limit
            while waiting:
                rows = connection.execute(_STILL, {"waiting": waiting}).fetchall()
                waiting = [row["id"] for row in rows]
                if waiting and time.monotonic() > deadline:
                    raise DatabaseError(
                        f"{len(waiting)} transactions in this cell went on for more than {limit:g} s.",
                        hint="Try again when long ones have ended; pg_stat_activity shows them.",
                        sqlstate="55P03",
                    )
                if waiting:
                    time.sleep(BETWEEN_LOOKS)


_FACTS = """
SELECT (s.value ->> 'number')::bigint AS number, s.value ->> 'installation' AS installation,
       (s.value ->> 'checked')::boolean AS checked, e.value #>> '{}' AS embedder,
       pg_database_size(current_database()) AS bytes,
       (SELECT count(*) FROM pg_sequences q WHERE q.schemaname = 'recall'
          AND q.min_value <> greatest((s.value ->> 'number')::bigint << 40, 1)) AS outside
FROM (SELECT) one
LEFT JOIN recall.setting s ON s.tenant = '*' AND s.name = 'cell'
LEFT JOIN recall.setting e ON e.tenant = '*' AND e.name = 'embedding.model'
"""

_SET_RESIDENT = """
INSERT INTO recall.resident (tenant, state, cell) VALUES (%(tenant)s, %(state)s, %(cell)s)
ON CONFLICT (tenant) DO UPDATE SET state = excluded.state, cell = excluded.cell, since = now()
"""

# A memory takes its share of all tables. Exact sums would read every row.
_SIZES = """
WITH counted AS (
    SELECT t.tenant, (SELECT count(*) FROM recall.memory m WHERE m.tenant = t.tenant) AS memories
    FROM unnest(%(tenants)s::text[]) t(tenant)
), whole AS (
    SELECT sum(pg_total_relation_size(c.oid)) AS bytes,
           (SELECT greatest(k.reltuples, 0) FROM pg_class k
            WHERE k.oid = 'recall.memory'::regclass) AS guessed
    FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'r'
)
SELECT c.tenant, c.memories,
       (w.bytes * c.memories / greatest(w.guessed, (SELECT sum(memories) FROM counted), 1))::bigint AS bytes
FROM counted c CROSS JOIN whole w
"""

# A virtual transaction that holds a snapshot, or has written, may have seen what was before.
_UNDER_WAY = """
SELECT l.virtualxid AS id FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'virtualxid' AND l.granted AND a.datname = current_database() AND a.pid <> pg_backend_pid()
  AND a.backend_type IN ('client backend', 'parallel worker')
  AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
"""
_STILL = """
SELECT l.virtualxid AS id FROM pg_locks l
WHERE l.locktype = 'virtualxid' AND l.virtualxid = ANY (%(waiting)s)
"""
