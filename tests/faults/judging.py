"""The one judgement after every fault: what is stored agrees with itself, and nobody may do too much."""

from __future__ import annotations

import psycopg
from psycopg.rows import dict_row

BTREES = (
    "SELECT c.oid::regclass::text AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "JOIN pg_am a ON a.oid = c.relam "
    "WHERE c.relnamespace = 'recall'::regnamespace AND a.amname = 'btree' AND c.relkind = 'i'"
)


def sound(url: str, *tenants: str, indexes: bool = False) -> None:
    """Fails with what is wrong: an invariant of these tenants, a right, and, where asked, an index.

    ``indexes`` compares every btree with its table, which is what a crash that lost pages would break.
    """
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("SELECT set_config('statement_timeout', '0', false)")  # a test may have set one
        for tenant in tenants:
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
            row = connection.execute("SELECT recall.verify() AS found").fetchone()
            assert row is not None
            wrong = [check for check in row["found"]["checks"] if check["problems"]]
            assert wrong == [], (tenant, wrong)
        assert connection.execute("SELECT * FROM recall.access_problems()").fetchall() == []
        if indexes:
            connection.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
            for index in connection.execute(BTREES).fetchall():
                connection.execute("SELECT bt_index_check(%s::regclass, true)", (index["name"],))
