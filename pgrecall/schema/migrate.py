"""Upgrades of a database to this version's schema: new revisions, then every function file.

All of it happens in one transaction under a lock of the schema: two processes may upgrade at once, and an
interrupted upgrade leaves the database as it was. Locks of tables are waited for briefly and often.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from alembic import command
from alembic.config import Config
from psycopg.rows import dict_row
from sqlalchemy import Connection, create_engine, exc, pool, text

from pgrecall.database.connections import connect, set_formats
from pgrecall.database.error_translation import translated
from pgrecall.database.server import MINIMUM_SERVER, ServerFacts, require_suitable, server_facts
from pgrecall.errors import InvalidInput, SchemaMismatch
from pgrecall.schema import state
from pgrecall.schema.aside import ASIDE, brought_back, refuse_remains
from pgrecall.schema.function_replacement import apply_functions, remember_functions
from pgrecall.schema.lock_retry import LockRetry
from pgrecall.schema.revision_objects import explained, require_columns
from pgrecall.schema.roles import (
    AccessProblem,
    access_problems,
    act_as_oneself,
    act_as_owner,
    run_file,
)
from pgrecall.schema.state import (
    SchemaState,
    function_files,
    functions_fingerprint,
    head_revision,
    inspect,
    refuse_unknown,
    require_current,
)

__all__ = [
    "LOCK_RETRY",
    "MAX_DIMENSIONS",
    "LockRetry",
    "SchemaState",
    "Upgrade",
    "function_files",
    "functions_fingerprint",
    "head_revision",
    "inspect",
    "require_current",
    "upgrade",
]

MAX_DIMENSIONS = 4000
"""Maximum number of dimensions of an HNSW index over halfvec."""

LOCK_RETRY = LockRetry()
"""How an upgrade waits for locks by default."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The outcome of an upgrade."""

    before: SchemaState
    after: SchemaState
    left: tuple[AccessProblem, ...] = ()
    """Access problems that only an administrator of the server can fix."""

    @property
    def changed(self) -> bool:
        return self.before != self.after


def upgrade(
    url: str, *, dimensions: int | None = None, timeout: float = 10.0, lock_retry: LockRetry = LOCK_RETRY
) -> Upgrade:
    """Installs or upgrades the schema; running it twice is harmless.

    Args:
        dimensions: dimensions of the embeddings; required for a new database, checked on an old one.
        timeout: seconds to connect.
        lock_retry: how long and how often to wait for tables that others hold.

    Raises:
        InvalidInput: dimensions are missing, out of range, or not those of the database.
        DatabaseUnsuitable: the server lacks something; it is named.
        SchemaMismatch: the database belongs to a newer pgrecall, or to no revision of it.
        DatabaseError: others held tables for too long, or Postgres failed; nothing was changed.
    """
    if dimensions is not None and not 1 <= dimensions <= MAX_DIMENSIONS:
        raise InvalidInput(
            f"{dimensions} dimensions cannot be indexed.", hint=f"Use 1 to {MAX_DIMENSIONS}, e.g. 384."
        )
    with connect(url, timeout=timeout) as connection:
        facts = server_facts(connection)
    if facts.version < MINIMUM_SERVER:  # it would not understand what comes first
        require_suitable(facts)
    return lock_retry.apply(lambda: _upgraded(url, facts, dimensions, lock_retry), url, timeout=timeout)


def _upgraded(url: str, facts: ServerFacts, dimensions: int | None, lock_retry: LockRetry) -> Upgrade:
    """One attempt, in one transaction."""
    with _locked(url) as connection:
        # After the lock, since another upgrade may take long.
        connection.execute(
            text("SELECT set_config('lock_timeout', :wait, true)"), {"wait": lock_retry.lock_timeout}
        )
        driver = _driver(connection)
        act_as_owner(driver)
        before = _state(connection)
        act_as_oneself(driver)
        refuse_unknown(before)
        wanted = _dimensions(before, dimensions)
        require_suitable(facts)
        _prepare(connection, facts)
        with explained(before.revision):
            if before.revision not in (None, head_revision()):
                connection.exec_driver_sql(state.lock_file().read_text(encoding="utf-8"))
            run_revisions(connection, wanted, before.revision)
            require_columns(connection, wanted, before.revision)
            apply_functions(driver, of_this_version=state.is_current(before))
            connection.execute(text("SELECT recall_private.apply_declared_access()"))
            remember_functions(driver)
            # Begun now: a transaction that begins an era makes others wait, and could wait for one of them.
            connection.execute(text("SELECT recall_private.change_era()"))
        _record(connection, wanted)
        return Upgrade(before, _state(connection), tuple(access_problems(driver)))


@contextmanager
def _engine_connection(url: str) -> Iterator[Connection]:
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: _connected(url),
        poolclass=pool.NullPool,
    )
    try:
        with engine.connect() as connection:
            yield connection
    except exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise translated(error.orig) from error
        raise
    finally:
        engine.dispose()


def _connected(url: str) -> psycopg.Connection[Any]:
    connection = psycopg.connect(url, prepare_threshold=None)  # as in pgrecall.database.connections
    set_formats(connection)
    return connection


@contextmanager
def _locked(url: str) -> Iterator[Connection]:
    """Allows one upgrade at a time: a comment locks the schema, and only its owner can comment on it."""
    with _engine_connection(url) as connection, connection.begin():
        _override_defaults(connection)
        if _schema_exists(connection):
            driver = _driver(connection)
            act_as_owner(driver)
            connection.execute(text("COMMENT ON SCHEMA recall IS 'pgrecall: memories of agents'"))
            act_as_oneself(driver)
        yield connection


def _override_defaults(connection: Connection) -> None:
    """Overrides defaults of the server, the database or the role that an upgrade cannot work with."""
    # A cell beside Citus is whole, and Citus refuses some functions. Without it this says nothing.
    connection.execute(text("SELECT set_config('citus.enable_ddl_propagation', 'off', true)"))
    # Between its statements, an upgrade looks for the next revision and reads files.
    connection.execute(text("SELECT set_config('idle_in_transaction_session_timeout', '0', true)"))
    # Functions keep their search path as it is written, and are checked for it.
    connection.execute(text("SELECT set_config('quote_all_identifiers', 'off', true)"))
    # Postgres refuses partitioned tables if this is the database's own tablespace, where they go without it.
    own = (
        "SELECT set_config('default_tablespace', '', true) FROM pg_database d "
        "JOIN pg_tablespace t ON t.oid = d.dattablespace "
        "WHERE d.datname = current_database() AND t.spcname = current_setting('default_tablespace')"
    )
    connection.execute(text(own))


def _schema_exists(connection: Connection) -> bool:
    """Creates the schema if it is missing; false if this role may not."""
    there = text("SELECT nspname FROM pg_namespace")
    while "recall" not in (schemas := set(connection.execute(there).scalars())):
        if ASIDE["recall"] in schemas:
            raise SchemaMismatch(
                f"The memories of this database are set aside in the schema {ASIDE['recall']}.",
                hint="A restore is running; wait for its end. If none is, one was killed. To have them back: "
                f"{brought_back(schemas)}",
            )
        refuse_remains(schemas)
        try:
            with connection.begin_nested():
                connection.execute(text("CREATE SCHEMA recall"))
        except exc.IntegrityError:
            pass  # Another first installation was creating it; this one has waited for its end.
        except exc.ProgrammingError:
            return False  # What this role lacks is reported before anything is created.
    return True


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def run_revisions(connection: Connection, dimensions: int, found: str | None, to: str = "head") -> None:
    """Takes the tables from a revision, or from none, to a later one.

    A new schema begins with the baseline. What comes before it is read only if it is found, or asked for.
    """
    migrations = state.migrations()
    if (found or to) < state.BASELINE:
        _run(connection, dimensions, migrations / "earlier", min(to, state.BASELINE))
    if to >= state.BASELINE:
        _run(connection, dimensions, migrations, to)


def _run(connection: Connection, dimensions: int, folder: Path, to: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["dimensions"] = dimensions
    command.upgrade(config, to)


def _state(connection: Connection) -> SchemaState:
    with _driver(connection).cursor(row_factory=dict_row) as cursor:
        return state.state_of(cursor)


def _dimensions(before: SchemaState, asked: int | None) -> int:
    if before.dimensions is None:
        if asked is None:
            raise InvalidInput(
                "A new database needs to know how many dimensions its embeddings have.",
                hint="Run `pgrecall init --dimensions 384` (384 for all-MiniLM-L6-v2).",
            )
        return asked
    if asked not in (None, before.dimensions):
        raise InvalidInput(
            f"This database keeps embeddings of {before.dimensions} dimensions, not {asked}.",
            hint="Run init without --dimensions, or make another database for the other embedder.",
        )
    return before.dimensions


def _prepare(connection: Connection, facts: ServerFacts) -> None:
    # Where no schema of the search path exists, nothing would say where an extension goes.
    nowhere = connection.execute(text("SELECT current_schema() IS NULL")).scalar_one()
    for name, extension in facts.extensions.items():
        if extension.installed is None:
            where = " SCHEMA public" if nowhere else ""
            connection.execute(text(f"CREATE EXTENSION IF NOT EXISTS {name}{where}"))
    driver = _driver(connection)
    run_file(driver, state.roles_file())
    act_as_owner(driver)
    run_file(driver, state.text_search_file())
    # Functions keep this path; types and operators of the extensions may live in any schema.
    schemas = connection.execute(
        text(
            "SELECT string_agg(DISTINCT quote_ident(n.nspname), ', ') FROM pg_extension e "
            "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname IN ('vector', 'pg_trgm')"
        )
    ).scalar_one()
    connection.execute(text(f"SET LOCAL search_path = recall, {schemas}, pg_temp"))
    connection.execute(text("SET LOCAL check_function_bodies = on"))
    # The modules' own parameters are known only once they are loaded.
    connection.execute(text("SELECT NULL::vector, show_limit()"))


def _record(connection: Connection, dimensions: int) -> None:
    for name, value in (
        ("embedding.dimensions", str(dimensions)),
        ("schema.functions", f'"{functions_fingerprint()}"'),
    ):
        connection.execute(
            text(
                "INSERT INTO recall.setting (tenant, name, value) VALUES ('*', :name, cast(:value AS jsonb)) "
                "ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value"
            ),
            {"name": name, "value": value},
        )
