"""A tenant that the planner's statistics do not know, beside tenants that they know: what its calls read.

Such a tenant is new, or too small for autovacuum to look at the tables again on its account. The planner
then believes that it has no row: every index that begins with the tenant looks as good as the right one, and
a loop over all its rows as good as a lookup. What each call reads is compared with what it reads when the
statistics are of all tenants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.attack.calls import functions_of
from tests.attack.growth import DRAFTS, vector
from tests.attack.world import NOW
from tests.databases import new_database
from tests.given_server import Server
from tests.integration.memories.bulk_calls import IMPORTS, LATER, ONE_ROW, SOME, Call, writes
from tests.integration.memories.bulk_reads import FEW_ROWS, reads

MANY = 320
"""Memories of each tenant."""

KNOWN_TENANTS = 3

MUCH = MANY * SOME // 2
"""Rows. A call that reads all rows for each of SOME memories reads twice as many."""

READ = """
SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) + coalesce(index_reads, 0)
FROM pg_stat_xact_user_tables t
LEFT JOIN (SELECT indrelid, sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint AS index_reads
           FROM pg_index GROUP BY indrelid) i ON i.indrelid = t.relid
WHERE schemaname = 'recall'
"""
TABLES = """
SELECT c.relname, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
GROUP BY c.relname HAVING bool_or(a.attname = 'tenant')
"""

Reads = dict[str, dict[str, int]]


@pytest.fixture(scope="module")
def compared(server: Server, template: str) -> Iterator[tuple[Reads, Reads, dict[str, int]]]:
    """What each call reads of each table, before and after the statistics know the tenant; rows by table."""
    for url in new_database(server, template):
        with psycopg.connect(url, autocommit=True) as admin:
            _live(admin)
            _hide_from_statistics(admin)
        unknown = _read_by_calls(url)
        with psycopg.connect(url, autocommit=True) as admin:
            _let_statistics_know_the_importer(admin)
            rows: dict[str, int] = dict(
                admin.execute(
                    "SELECT relname, reltuples::bigint FROM pg_class WHERE relkind = 'r'"
                ).fetchall()
            )
        yield unknown, _read_by_calls(url), rows


def test_no_call_depends_on_whether_statistics_know_the_tenant(
    compared: tuple[Reads, Reads, dict[str, int]],
) -> None:
    unknown, known, rows = compared
    # A table with a handful of rows is rightly read whole.
    much = {
        (name, table): (count, known[name].get(table, 0))
        for name, tables in unknown.items()
        for table, count in tables.items()
        if rows.get(table, 0) > MANY and count > 3 * known[name].get(table, 0) + MUCH
    }
    assert much == {}


def test_every_function_is_compared_or_reads_few_rows(database_url: str) -> None:
    with psycopg.connect(database_url) as admin:
        functions = functions_of(admin)
    ids = list(range(MANY))
    calls = (writes(ids), reads(ids, functions))
    writing, reading = ({name.partition(":")[0] for name in made} for made in calls)
    reader = {one.name for one in functions if one.least_role == "recall_reader"}
    assert {one.name for one in functions} - reader == writing | ONE_ROW | IMPORTS
    assert reader == reading | FEW_ROWS.keys()
    assert not writing & ONE_ROW
    assert not reading & FEW_ROWS.keys()


def _live(admin: psycopg.Connection[Any]) -> None:
    """Fills tenant acme with something of everything that calls read."""
    admin.execute("SELECT set_config('recall.tenant', 'acme', false)")
    vectors = json.dumps({number: vector(number) for number in range(1, MANY + 1)})
    admin.execute(DRAFTS, {"word": "rope", "first": 1, "last": MANY, "now": NOW, "vectors": vectors})
    ids = [row[0] for row in admin.execute("SELECT id FROM recall.memory WHERE tenant = 'acme' ORDER BY id")]
    uses = [
        {"memory_id": one, "kind": "used", "session_id": f"s{one % 50}", "idempotency_key": f"o{one}"}
        for one in ids
    ]
    admin.execute("SELECT recall.record_accesses(%s::jsonb, %s)", (json.dumps(uses), NOW))
    for sql, parameters in (
        ('recall.edit(i, \'{"author": "x"}\', p_now => %s)', (ids[:SOME],)),
        ("recall.pin(i, true, %s)", (ids[100:200],)),
        ("recall.supersede(i, i + 30, %s)", (ids[200:230],)),
        ("recall.forget(i, false, %s)", (ids[-SOME:],)),
    ):
        admin.execute(f"SELECT {sql} FROM unnest(%s::bigint[]) i", (NOW, *parameters))
    for start in range(0, 200, 10):
        shown = admin.execute(
            "SELECT recall.log_shown(%s::bigint[], %s, %s, 'who?')",
            (ids[start : start + 10], f"q{start}", NOW),
        ).fetchone()
        admin.execute("SELECT recall.used(%s, ARRAY[%s]::bigint[], %s)", (*(shown or ()), ids[start], NOW))
    for sql in (
        "SELECT recall.find_duplicates()",
        "SELECT recall.plan_dedupe(p_now => %(now)s)",
        "SELECT recall.plan_prune(p_max_share => 0.3, p_now => %(later)s)",
        "SELECT recall.plan_erasure('{\"tag\": \"rope1\"}', 'me', %(now)s)",
        "SELECT recall.refresh_statistics(%(now)s)",
    ):
        admin.execute(sql, {"now": NOW, "later": LATER})


def _hide_from_statistics(admin: psycopg.Connection[Any]) -> None:
    """Gives other tenants the same rows, and analyses while acme's are away."""
    tables = [row for row in admin.execute(TABLES) if row[0] not in ("tenant_role", "resident", "api_key")]
    admin.execute("SET session_replication_role = replica")
    for table, columns in tables:
        admin.execute(
            f"CREATE TEMP TABLE kept_{table} AS SELECT {columns} FROM recall.{table} WHERE tenant = 'acme'; "
            f"DELETE FROM recall.{table} WHERE tenant = 'acme'".encode()
        )
        for number in range(KNOWN_TENANTS):
            admin.execute(f"UPDATE kept_{table} SET tenant = 'known{number}'".encode())
            _put_back(admin, table, columns)
    admin.execute("VACUUM (FREEZE, ANALYZE)")
    for table, columns in tables:
        admin.execute(f"UPDATE kept_{table} SET tenant = 'acme'".encode())
        _put_back(admin, table, columns)


def _let_statistics_know_the_importer(admin: psycopg.Connection[Any]) -> None:
    """Analyses while the importing tenant has its rows, then removes them: it must be empty to import."""
    with admin.transaction():
        for _, (sql, parameters) in _imports(admin):
            admin.execute(sql.encode(), parameters)
    admin.execute("VACUUM (ANALYZE)")
    with admin.transaction():
        admin.execute("SET LOCAL session_replication_role = replica")
        for table, _ in admin.execute(TABLES).fetchall():
            admin.execute(f"DELETE FROM recall.{table} WHERE tenant = 'importer'".encode())
    admin.execute("VACUUM")


def _imports(connection: psycopg.Connection[Any]) -> list[tuple[str, Call]]:
    """The calls that copy acme to a tenant without rows, in the transaction that has begun."""
    connection.execute("SELECT set_config('recall.tenant', 'acme', true)")
    header, *lines = (row[0] for row in connection.execute("SELECT recall.export_lines(p_now => %s)", (NOW,)))
    connection.execute("SELECT set_config('recall.tenant', 'importer', true)")
    return [
        ("begin_import", ("SELECT recall.begin_import(%s)", (header,))),
        ("import_lines", ("SELECT recall.import_lines(%s::text[])", (lines,))),
        ("end_import", ("SELECT recall.end_import()", ())),
    ]


def _put_back(admin: psycopg.Connection[Any], table: str, columns: str) -> None:
    put = f"INSERT INTO recall.{table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM kept_{table}"
    admin.execute(put.encode())


def _read_by_calls(url: str) -> Reads:
    """What each call reads, each of them undone; plans are made for the first time."""
    found: Reads = {}
    with psycopg.connect(url, autocommit=True, options="-c recall.tenant=acme") as connection:
        ids = [
            row[0]
            for row in connection.execute("SELECT id FROM recall.memory WHERE tenant = 'acme' ORDER BY id")
        ]
        for name, call in (writes(ids) | reads(ids, functions_of(connection))).items():
            with connection.transaction(force_rollback=True):
                found[name] = _read_by(connection, call)
        with connection.transaction(force_rollback=True):
            for name, call in _imports(connection):
                found[name] = _read_by(connection, call)
    return found


def _read_by(connection: psycopg.Connection[Any], call: Call) -> dict[str, int]:
    sql, parameters = call
    connection.execute("SELECT pg_stat_force_next_flush()")
    before: dict[str, int] = dict(connection.execute(READ).fetchall())
    connection.execute(sql.encode(), parameters).fetchall()
    after: dict[str, int] = dict(connection.execute(READ).fetchall())
    return {table: count - before.get(table, 0) for table, count in after.items()}
