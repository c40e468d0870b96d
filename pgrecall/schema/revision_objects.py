"""Whether the objects of a schema are those of its revision.

Only revisions can be upgraded. A development version between two of them may have left tables that belong to
none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import Connection, exc, text

from pgrecall.errors import DatabaseError, SchemaMismatch
from pgrecall.schema.state import NO_REVISION
from pgrecall.schema.tables.columns import SCHEMA
from pgrecall.schema.tables.metadata import describe

_MISSING_OR_THERE_ALREADY = {
    "42701",  # duplicate_column
    "42703",  # undefined_column
    "42704",  # undefined_object
    "42710",  # duplicate_object
    "42723",  # duplicate_function
    "42883",  # undefined_function
    "42P01",  # undefined_table
    "42P07",  # duplicate_table
    "42P16",  # invalid_table_definition
    "42804",  # datatype_mismatch
}


@contextmanager
def explained(revision: str | None) -> Iterator[None]:
    """Explains errors of an upgrade that met other objects than those of the revision it began with.

    Raises:
        SchemaMismatch: names the revision and what did not fit.
    """
    try:
        yield
    except exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.Error) and error.orig.sqlstate in _MISSING_OR_THERE_ALREADY:
            raise misfit(revision, error.orig.diag.message_primary or "") from error
        raise
    except DatabaseError as error:
        if error.sqlstate in _MISSING_OR_THERE_ALREADY:
            raise misfit(revision, error.message) from error
        raise


def require_columns(connection: Connection, dimensions: int, revision: str | None) -> None:
    """Checks that each table of the newest revision has all of its columns.

    Raises:
        SchemaMismatch: some are missing; names them.
    """
    found = {(row.table, row.column) for row in connection.execute(text(_COLUMNS), {"schema": SCHEMA})}
    wanted = {
        (table.name, column.name)
        for table in describe(dimensions).tables.values()
        for column in table.columns
    }
    if missing := sorted(wanted - found):
        names = ", ".join(f"{table}.{column}" for table, column in missing[:5])
        raise misfit(revision, f"{names} {'is' if len(missing) == 1 else 'are'} missing")


def misfit(revision: str | None, what: str) -> SchemaMismatch:
    """The error for tables that are not those of a revision."""
    named = f"schema {revision}" if revision else "any schema"
    return SchemaMismatch(
        f"The objects of this database are not those of {named}: {what.rstrip('.')}. A development version "
        "between two revisions left them.",
        hint=NO_REVISION,
    )


_COLUMNS = (
    'SELECT c.relname AS "table", a.attname AS "column" '
    "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
    "WHERE c.relnamespace = CAST(:schema AS regnamespace) AND a.attnum > 0 AND NOT a.attisdropped"
)
