"""The revisions of the tables: what Alembic and SQLAlchemy are for, which take long to import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, exc, pool

from pgrecall.schema import state
from pgrecall.schema.revision_objects import misfit
from pgrecall.schema.tables.columns import SCHEMA
from pgrecall.schema.tables.metadata import describe


def run_revisions(
    driver: psycopg.Connection[Any], dimensions: int, found: str | None, to: str = "head"
) -> None:
    """Takes the tables from a revision, or from none, to a later one, in the transaction of the connection.

    A new schema begins with the baseline. What comes before it is read only if it is found, or asked for.

    Raises:
        psycopg.Error: a statement failed.
    """
    migrations = state.migrations()
    with _lent(driver) as connection:
        if (found or to) < state.BASELINE:
            _run(connection, dimensions, migrations / "earlier", min(to, state.BASELINE))
        if to >= state.BASELINE:
            _run(connection, dimensions, migrations, to)


@contextmanager
def _lent(driver: psycopg.Connection[Any]) -> Iterator[Connection]:
    """The connection as SQLAlchemy has it, which neither ends its transaction nor closes it."""
    engine = create_engine("postgresql+psycopg://", creator=lambda: driver, poolclass=pool.NullPool)
    vars(engine.dialect).update(do_rollback=lambda _: None, do_close=lambda _: None)
    try:
        with engine.connect() as connection:
            yield connection
    except exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise error.orig from error
        raise


def _run(connection: Connection, dimensions: int, folder: Path, to: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["dimensions"] = dimensions
    command.upgrade(config, to)


def require_columns(driver: psycopg.Connection[Any], dimensions: int, revision: str | None) -> None:
    """Checks that each table of the newest revision has all of its columns.

    Raises:
        SchemaMismatch: some are missing; names them.
    """
    found = set(driver.execute(_COLUMNS, (SCHEMA,)))
    wanted = {
        (table.name, column.name)
        for table in describe(dimensions).tables.values()
        for column in table.columns
    }
    if missing := sorted(wanted - found):
        names = ", ".join(f"{table}.{column}" for table, column in missing[:5])
        raise misfit(revision, f"{names} {'is' if len(missing) == 1 else 'are'} missing")


_COLUMNS = (
    "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
    "WHERE c.relnamespace = CAST(%s AS regnamespace) AND a.attnum > 0 AND NOT a.attisdropped"
)
