"""What the catalogue says of schema recall: which objects there are, and how they are defined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.databases import Query

Row = tuple[Any, ...]
STALE = "UPDATE recall.setting SET value = '\"old\"' WHERE name = 'schema.functions'"
"""Makes the functions those of another version."""


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

WHOLE = (
    DEFINITIONS.removesuffix(" ORDER BY 1, 2, 3, 4")
    + " UNION ALL SELECT 'order', c.relname, NULL, string_agg("
    "concat_ws('/', a.attname, a.attstattarget, a.attstorage, a.attcompression), ',' ORDER BY a.attnum) "
    "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p', 'c', 'v', 'i', 'I') "
    "AND NOT relispartition GROUP BY 2 "
    # Of indexes that cost the same, the planner takes one by the order of their creation.
    "UNION ALL SELECT 'order of indexes', indrelid::regclass::text, NULL, "
    "string_agg(indexrelid::regclass::text, ',' ORDER BY indexrelid) "
    "FROM pg_index JOIN pg_class c ON c.oid = indrelid "
    "WHERE c.relnamespace = 'recall'::regnamespace AND NOT c.relispartition GROUP BY indrelid "
    "UNION ALL SELECT 'relation', c.relname, concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, "
    "c.relforcerowsecurity, c.relreplident, pg_get_userbyid(c.relowner)), c.relacl::text FROM pg_class c "
    "WHERE c.relnamespace = 'recall'::regnamespace "
    "UNION ALL SELECT 'attribute', c.relname, a.attname, format_type(a.atttypid, a.atttypmod) "
    "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'c' "
    "UNION ALL SELECT 'not null', conrelid::regclass::text, conname, pg_get_constraintdef(oid) "
    "FROM pg_constraint WHERE connamespace = 'recall'::regnamespace AND contype = 'n' "
    "UNION ALL SELECT 'column grant', attrelid::regclass::text, attname, attacl::text "
    "FROM pg_attribute JOIN pg_class c ON c.oid = attrelid "
    "WHERE c.relnamespace = 'recall'::regnamespace AND attacl IS NOT NULL "
    "UNION ALL SELECT 'view', viewname, definition, NULL FROM pg_views WHERE schemaname = 'recall' "
    "UNION ALL SELECT 'policy', tablename, policyname, "
    "concat_ws(' ', permissive, roles, cmd, qual, with_check) FROM pg_policies WHERE schemaname = 'recall' "
    "UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(t.oid) "
    "FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid "
    "WHERE c.relnamespace = 'recall'::regnamespace AND NOT tgisinternal "
    "UNION ALL SELECT 'sequence', sequencename, pg_get_userbyid(s.relowner), concat_ws(' ', data_type, "
    "start_value, increment_by, cache_size, cycle, d.deptype, d.refobjid::regclass, d.refobjsubid) "
    "FROM pg_sequences JOIN pg_class s ON s.oid = format('recall.%I', sequencename)::regclass "
    "LEFT JOIN pg_depend d ON d.objid = s.oid AND d.deptype IN ('a', 'i') "
    "WHERE schemaname = 'recall' "
    "UNION ALL SELECT 'function', p.oid::regprocedure::text, CASE WHEN prokind <> 'a' "
    "THEN pg_get_functiondef(p.oid) END, concat_ws(' ', pg_get_userbyid(proowner), "
    # The private schema is closed; functions that came to it after an installation are closed themselves too.
    "CASE pronamespace WHEN 'recall'::regnamespace THEN proacl END) "
    "FROM pg_proc p WHERE pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) "
    "UNION ALL SELECT 'schema', nspname, pg_get_userbyid(nspowner), nspacl::text FROM pg_namespace "
    "WHERE nspname IN ('recall', 'recall_private') "
    "UNION ALL SELECT 'comment', pg_describe_object(classoid, objoid, objsubid), description, NULL "
    "FROM pg_description d WHERE objoid IN (SELECT oid FROM pg_class "
    "WHERE relnamespace = 'recall'::regnamespace UNION ALL SELECT oid FROM pg_proc "
    "WHERE pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) "
    "UNION ALL SELECT 'recall'::regnamespace) "
    "UNION ALL SELECT 'search', cfgname, dict::regdictionary::text, maptokentype::text "
    "FROM pg_ts_config JOIN pg_ts_config_map ON mapcfg = pg_ts_config.oid, "
    "LATERAL (SELECT mapdict AS dict) x WHERE cfgnamespace = 'recall'::regnamespace ORDER BY 1, 2, 3, 4"
)
"""All of the schema: tables and the order of their columns, types, functions, policies, rights, owners."""
