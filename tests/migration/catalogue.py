"""What the catalogue says of schema recall: which objects there are, and how they are defined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.conftest import Query

Row = tuple[Any, ...]


def fetch(url: str, sql: str, parameters: Any = None) -> list[Row]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql, parameters)
        return cursor.fetchall() if cursor.description is not None else []


@contextmanager
def statements(url: str) -> Iterator[Query]:
    """Runs statements, committed, as tenant ``acme``, without pgrecall's own connections."""
    with psycopg.connect(url, row_factory=dict_row, autocommit=True) as connection:

        def run(sql: str, parameters: Any = None, *, tenant: str = "acme") -> list[dict[str, Any]]:
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
            cursor = connection.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

        yield run


def catalogue(url: str) -> list[Row]:
    """Every object of schema recall and every setting: what "nothing changed" is judged by."""
    return fetch(
        url,
        "SELECT 'function', p.oid::text, p.xmin::text FROM pg_proc p "
        "JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('recall', 'recall_private') "
        "UNION ALL SELECT 'relation', c.oid::text, c.relname FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'recall' "
        "UNION ALL SELECT 'extension', extname, extversion FROM pg_extension ORDER BY 1, 2, 3",
    )


def recall_settings(url: str) -> dict[str, Any]:
    return dict(fetch(url, "SELECT name, value FROM recall.setting WHERE tenant = '*'"))


DEFINITIONS = (
    "SELECT 'constraint', r.relname, conname, pg_get_constraintdef(k.oid) FROM pg_constraint k "
    "JOIN pg_class r ON r.oid = conrelid "
    "WHERE connamespace = 'recall'::regnamespace AND r.relname <> 'alembic_version' "
    "AND NOT relispartition AND contype <> 'n' "  # from 18; columns list them in every version
    "UNION ALL SELECT 'index', tablename, indexname, indexdef FROM pg_indexes "
    "JOIN pg_class r ON r.relname = tablename AND r.relnamespace = 'recall'::regnamespace "
    "WHERE schemaname = 'recall' AND tablename <> 'alembic_version' AND NOT relispartition "
    "UNION ALL SELECT 'column', r.relname, attname, concat_ws(' ', format_type(atttypid, atttypmod), "
    "attnotnull, attgenerated, attidentity, pg_get_expr(adbin, adrelid)) "
    "FROM pg_attribute JOIN pg_class r ON r.oid = attrelid "
    "LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum "
    "WHERE relnamespace = 'recall'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0 "
    "AND NOT attisdropped "
    "AND r.relname <> 'alembic_version' AND NOT relispartition "
    "UNION ALL SELECT 'storage', relname, reloptions::text, NULL FROM pg_class "
    "WHERE relnamespace = 'recall'::regnamespace AND reloptions IS NOT NULL ORDER BY 1, 2, 3, 4"
)
"""Checks, generated columns, storage, indexes: all that Alembic does not compare."""
