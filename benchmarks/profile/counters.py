"""What Postgres counts while a session works: processor time, statements, functions, rows and buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

Connect = psycopg.Connection[Any]
Rows = list[dict[str, Any]]

_STATEMENTS = """
SELECT regexp_replace(s.query, '\\s+', ' ', 'g') AS statement, sum(s.calls)::float8 AS calls,
       sum(s.total_exec_time) AS ms, sum(s.shared_blks_hit + s.shared_blks_read)::float8 AS buffers
FROM pg_stat_statements s WHERE NOT s.toplevel GROUP BY 1 ORDER BY 3 DESC
"""
# Those of a statement include those of the statements inside it, so only the outermost ones are added up.
_BUFFERS = """
SELECT coalesce(sum(s.shared_blks_hit + s.shared_blks_read), 0)::float8
FROM pg_stat_statements s WHERE s.toplevel
"""
_FUNCTIONS = """
SELECT f.funcname AS function, f.calls::float8 AS calls, f.self_time AS own_ms, f.total_time AS ms
FROM pg_stat_xact_user_functions f
WHERE f.schemaname IN ('recall', 'recall_private') ORDER BY 3 DESC
"""
_ROWS = """
SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
WHERE schemaname = 'recall'
"""


def processor_ms(pid: int) -> float:
    """Milliseconds of processor time that a process has used, as Linux counts them."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


@dataclass(frozen=True, slots=True)
class Counted:
    """Statements and functions, most expensive first, rows fetched by table, and buffers; sums."""

    statements: Rows
    functions: Rows
    rows: Counter[str]
    buffers: float

    @property
    def plans(self) -> float:
        return float(sum(row["calls"] for row in self.statements))


@contextmanager
def counting(connection: Connect) -> Iterator[list[Counted]]:
    """Counts everything inside, in one transaction that is rolled back; the result is in the list afterwards.

    Counting itself costs time, so processor time is measured without it.
    """
    found: list[Counted] = []
    for name, value in (("track_functions", "all"), ("pg_stat_statements.track", "all")):
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))
    try:
        with connection.transaction(force_rollback=True), connection.cursor(row_factory=dict_row) as cursor:
            before = _rows(connection)
            connection.execute("SELECT pg_stat_statements_reset()")
            yield found
            buffers = connection.execute(_BUFFERS).fetchall()[0][0]
            rows = _rows(connection) - before
            functions = cursor.execute(_FUNCTIONS).fetchall()
            statements = cursor.execute(_STATEMENTS).fetchall()
            found.append(Counted(statements, functions, rows, buffers))
    finally:
        connection.execute("RESET track_functions")
        connection.execute("SET pg_stat_statements.track = 'none'")


def _rows(connection: Connect) -> Counter[str]:
    return Counter(dict(connection.execute(_ROWS).fetchall()))
