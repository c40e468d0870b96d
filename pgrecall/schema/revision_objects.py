"""Whether the objects of a schema are those of its revision.

Only revisions can be upgraded. A development version between two of them may have left tables that belong to
none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from pgrecall.errors import DatabaseError, SchemaMismatch
from pgrecall.schema.state import NO_REVISION

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
    except psycopg.Error as error:
        if error.sqlstate in _MISSING_OR_THERE_ALREADY:
            raise misfit(revision, error.diag.message_primary or "") from error
        raise
    except DatabaseError as error:
        if error.sqlstate in _MISSING_OR_THERE_ALREADY:
            raise misfit(revision, error.message) from error
        raise


def misfit(revision: str | None, what: str) -> SchemaMismatch:
    """The error for tables that are not those of a revision."""
    named = f"schema {revision}" if revision else "any schema"
    return SchemaMismatch(
        f"The objects of this database are not those of {named}: {what.rstrip('.')}. A development version "
        "between two revisions left them.",
        hint=NO_REVISION,
    )
