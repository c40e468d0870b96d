"""Replacement of the SQL functions of another version by those of this one."""

from __future__ import annotations

from typing import Any

import psycopg

from pgrecall.errors import DatabaseError
from pgrecall.schema.roles import run_file, run_statement
from pgrecall.schema.state import function_files

DEFAULTS = "18_defaults"
"""The folder of statements about rows; the other files create functions."""


def apply_functions(driver: psycopg.Connection[Any]) -> None:
    """Creates every function again and drops those that no file creates any more.

    Functions are replaced in place, which does not disturb running statements. If one has another result or
    other argument names than before, Postgres cannot replace it; then all are dropped first.
    """
    try:
        with driver.transaction():  # a savepoint of the upgrade's transaction
            _replace_functions(driver)
    except DatabaseError as error:
        if error.sqlstate not in _NOT_REPLACEABLE:
            raise
        _drop_functions(driver)
        _replace_functions(driver)


def remember_functions(driver: psycopg.Connection[Any]) -> None:
    """Notes what this upgrade leaves, if the role may; else the next one applies everything again."""
    found = driver.execute(
        f"SELECT {_FOUND} WHERE (SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace "
        f"WHERE oid = 'recall_private'::regnamespace) AND {_FOUND} IS DISTINCT FROM {_LEFT}".encode()
    ).fetchall()
    for (digest,) in found:
        run_statement(
            driver, f"COMMENT ON SCHEMA recall_private IS 'internal functions of pgrecall; {digest}'"
        )


def are_untouched(driver: psycopg.Connection[Any]) -> bool:
    """Whether all functions, triggers, views and columns are as the last upgrade left them."""
    return bool(driver.execute(f"SELECT {_FOUND} = {_LEFT}".encode()).fetchall()[0][0])


def apply_defaults(driver: psycopg.Connection[Any]) -> None:
    """Applies what concerns rows alone: what is shipped, and what depends on the day and the dictionaries."""
    for path in function_files():
        if path.parent.name == DEFAULTS:
            run_file(driver, path)


_NOT_REPLACEABLE = (
    "42P13",  # invalid_function_definition: another result, or other argument names
    "42725",  # ambiguous_function: the old form fits a call as well as the new one
    "2BP01",  # dependent_objects_still_exist: a new function was bound to an old form
)


def _replace_functions(driver: psycopg.Connection[Any]) -> None:
    before = _functions(driver)
    for path in function_files():
        run_file(driver, path)
    after = _functions(driver)
    outdated = [function for function, version in before.items() if after.get(function) == version]
    if outdated:
        run_statement(driver, f"DROP ROUTINE {_signatures(driver, outdated)}")


def _drop_functions(driver: psycopg.Connection[Any]) -> None:
    """Drops every function except those that columns, indexes, triggers and policies need."""
    kept = {function for (function,) in driver.execute(_FUNCTIONS_OF_TABLES)}
    dropped = [function for function in _functions(driver) if function not in kept]
    run_statement(driver, f"DROP VIEW IF EXISTS recall.health; DROP ROUTINE {_signatures(driver, dropped)}")


def _functions(driver: psycopg.Connection[Any]) -> dict[int, str]:
    """The functions of both schemas with the ctid of their rows, which changes when one is created again."""
    return dict(driver.execute(_OUR_FUNCTIONS).fetchall())


def _signatures(driver: psycopg.Connection[Any], functions: list[int]) -> str:
    """The names and argument types of functions, as a statement lists them. Of all, they take 30 ms."""
    [(listed,)] = driver.execute(
        "SELECT string_agg(f::regprocedure::text, ', ') FROM unnest(%s::oid[]) f", (functions,)
    )
    return str(listed)


_OUR_FUNCTIONS = (
    "SELECT oid, ctid::text AS version "
    "FROM pg_proc WHERE pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) "
    "AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = pg_proc.oid AND d.deptype = 'e') "
    # Functions used by a column or an index are created in its revision.
    "AND proname NOT IN ('joined', 'configuration', 'plain', 'tenant_mark', 'tenant_words', "
    "'tenant_trigrams', 'trigram_signature', 'unchained', "
    "'unspaced_letters', 'folded', 'spaced', 'compounds', 'compound_parts', 'text_words', 'body_words')"
)


_FUNCTIONS_OF_TABLES = (
    "SELECT oid FROM pg_proc p "
    "WHERE pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) "
    "AND (prorettype = 'trigger'::regtype OR proname = 'current_tenant')"
)


# Rows with their oids: in a database that was restored from a dump, everything is applied again.
_FOUND = (
    "(SELECT md5(current_setting('search_path') || string_agg(md5(made), '' ORDER BY made)) FROM ("
    "SELECT p::text AS made FROM pg_proc p "
    "WHERE pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) "
    "UNION ALL SELECT a::text FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid "
    "WHERE pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) "
    "UNION ALL SELECT t::text FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid "
    "WHERE c.relnamespace = 'recall'::regnamespace AND NOT tgisinternal "
    "UNION ALL SELECT r::text FROM pg_rewrite r JOIN pg_class c ON c.oid = ev_class "
    "WHERE c.relnamespace = 'recall'::regnamespace "
    # Partitions come and go.
    "UNION ALL SELECT (a.attrelid, a.attname, a.atttypid)::text FROM pg_attribute a "
    "JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = 'recall'::regnamespace "
    "AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped) rows)"
)

_LEFT = "(SELECT split_part(obj_description('recall_private'::regnamespace, 'pg_namespace'), '; ', 2))"
