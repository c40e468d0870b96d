"""Emptying a database of tests that take turns in it, so that only the first pays for its connections."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

TABLES = (
    "SELECT c.oid::regclass::text AS name FROM pg_class c "
    "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' "
    "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
)
"""Every row of theirs has a tenant; '*' has what holds for the whole database."""


SEQUENCES = (
    "SELECT format('%I.%I', schemaname, sequencename)::regclass::oid AS sequence, "
    "coalesce(last_value, start_value) AS value, last_value IS NOT NULL AS called "
    "FROM pg_sequences WHERE schemaname = 'recall'"
)
CONTINUE = "SELECT setval(%(sequence)s::oid::regclass, %(value)s, %(called)s)"


class Emptying:
    """Makes the database of a connection again what it was when this was made, but for what is not rows."""

    def __init__(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        self._connection = connection
        with connection.transaction():
            names = [row["name"] for row in connection.execute(TABLES)]
            self._delete = "; ".join(f"DELETE FROM {name}" for name in names).encode()
            self._sequences = connection.execute(SEQUENCES).fetchall()
            self._brought = {name: rows for name in names if (rows := self._shared(name))}

    def _shared(self, name: str) -> list[Any]:
        """The rows of a table that the installation brought."""
        sql = f"SELECT to_jsonb(t) AS row FROM {name} t WHERE tenant = '*'"
        return [found["row"] for found in self._connection.execute(sql.encode())]

    def __call__(self) -> None:
        """Deletes everything and puts back what was brought; forgets what the connection set or locked.

        No trigger notes it, and no foreign key forbids it: all that they speak of goes too.
        """
        with self._connection.transaction():
            self._connection.execute(
                "SET LOCAL lock_timeout = '200s'; SET LOCAL session_replication_role = replica"
            )
            self._connection.execute(self._delete)
            for name, rows in self._brought.items():
                put = f"INSERT INTO {name} SELECT * FROM jsonb_populate_recordset(NULL::{name}, %s)"
                self._connection.execute(put.encode(), [Jsonb(rows)])
            for sequence in self._sequences:
                self._connection.execute(CONTINUE, sequence)
        with self._connection.transaction():
            self._connection.execute("RESET ALL; SELECT pg_advisory_unlock_all()")
