"""Upgrades of a database to this version's schema: new revisions, then every function file.

All of it happens in one transaction under a lock of the schema: two processes may upgrade at once, and an
interrupted upgrade leaves the database as it was. Locks of tables are waited for briefly and often. Alembic
and SQLAlchemy are imported only where tables may have to change: their import costs more than the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pgrecall.database.connections import connect, set_formats
from pgrecall.database.error_translation import translated
from pgrecall.database.server import MINIMUM_SERVER, ServerFacts, require_suitable, server_facts
from pgrecall.errors import InvalidInput, SchemaMismatch
from pgrecall.schema import state
from pgrecall.schema.aside import ASIDE, brought_back, refuse_remains
from pgrecall.schema.function_replacement import (
    apply_defaults,
    apply_functions,
    are_untouched,
    remember_functions,
)
from pgrecall.schema.lock_retry import LockRetry
from pgrecall.schema.revision_objects import explained
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
    with _locked(url) as driver:
        # After the lock, since another upgrade may take long.
        driver.execute("SELECT set_config('lock_timeout', %s, true)", (lock_retry.lock_timeout,))
        act_as_owner(driver)
        before = _state(driver)
        act_as_oneself(driver)
        refuse_unknown(before)
        wanted = _dimensions(before, dimensions)
        require_suitable(facts)
        _prepare(driver, facts)
        with explained(before.revision):
            if state.is_current(before) and are_untouched(driver):
                apply_defaults(driver)
            else:
                _take_on(driver, before.revision, wanted)
            driver.execute("SELECT recall_private.apply_declared_access()")
            remember_functions(driver)
            # Begun now: a transaction that begins an era makes others wait, and could wait for one of them.
            driver.execute("SELECT recall_private.change_era('*')")
        _record(driver, wanted)
        return Upgrade(before, _state(driver), tuple(access_problems(driver)))


def _take_on(driver: psycopg.Connection[Any], found: str | None, dimensions: int) -> None:
    """Takes tables and functions to this version."""
    from pgrecall.schema.revisions import require_columns, run_revisions

    if found not in (None, head_revision()):
        driver.execute(state.lock_file().read_bytes())
    run_revisions(driver, dimensions, found)
    require_columns(driver, dimensions, found)
    apply_functions(driver)


@contextmanager
def _locked(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Allows one upgrade at a time: a comment locks the schema, and only its owner can comment on it."""
    try:
        # As in pgrecall.database.connections.
        with psycopg.connect(url, prepare_threshold=None) as driver:
            set_formats(driver)
            _override_defaults(driver)
            if _schema_exists(driver):
                act_as_owner(driver)
                driver.execute("COMMENT ON SCHEMA recall IS 'pgrecall: memories of agents'")
                act_as_oneself(driver)
            yield driver
    except psycopg.Error as error:
        raise translated(error) from error


def _override_defaults(driver: psycopg.Connection[Any]) -> None:
    """Overrides defaults of the server, the database or the role that an upgrade cannot work with."""
    # A cell beside Citus is whole, and Citus refuses some functions. Without it this says nothing.
    driver.execute("SELECT set_config('citus.enable_ddl_propagation', 'off', true)")
    # Between its statements, an upgrade looks for the next revision and reads files.
    driver.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
    # Functions keep their search path as it is written, and are checked for it.
    driver.execute("SELECT set_config('quote_all_identifiers', 'off', true)")
    # Postgres refuses partitioned tables if this is the database's own tablespace, where they go without it.
    own = (
        "SELECT set_config('default_tablespace', '', true) FROM pg_database d "
        "JOIN pg_tablespace t ON t.oid = d.dattablespace "
        "WHERE d.datname = current_database() AND t.spcname = current_setting('default_tablespace')"
    )
    driver.execute(own)


def _schema_exists(driver: psycopg.Connection[Any]) -> bool:
    """Creates the schema if it is missing; false if this role may not."""
    there = "SELECT nspname FROM pg_namespace"
    while "recall" not in (schemas := {name for (name,) in driver.execute(there)}):
        if ASIDE["recall"] in schemas:
            raise SchemaMismatch(
                f"The memories of this database are set aside in the schema {ASIDE['recall']}.",
                hint="A restore is running; wait for its end. If none is, one was killed. To have them back: "
                f"{brought_back(schemas)}",
            )
        refuse_remains(schemas)
        try:
            with driver.transaction():
                driver.execute("CREATE SCHEMA recall")
        except psycopg.IntegrityError:
            pass  # Another first installation was creating it; this one has waited for its end.
        except psycopg.ProgrammingError:
            return False  # What this role lacks is reported before anything is created.
    return True


def _state(driver: psycopg.Connection[Any]) -> SchemaState:
    with driver.cursor(row_factory=dict_row) as cursor:
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


def _prepare(driver: psycopg.Connection[Any], facts: ServerFacts) -> None:
    # Where no schema of the search path exists, nothing would say where an extension goes.
    [(nowhere,)] = driver.execute("SELECT current_schema() IS NULL")
    for name, extension in facts.extensions.items():
        if extension.installed is None:
            where = " SCHEMA public" if nowhere else ""
            driver.execute(f"CREATE EXTENSION IF NOT EXISTS {name}{where}".encode())
    run_file(driver, state.roles_file())
    act_as_owner(driver)
    run_file(driver, state.text_search_file())
    # Functions keep this path; types and operators of the extensions may live in any schema.
    [(schemas,)] = driver.execute(
        "SELECT string_agg(DISTINCT quote_ident(n.nspname), ', ') FROM pg_extension e "
        "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname IN ('vector', 'pg_trgm')"
    )
    driver.execute(f"SET LOCAL search_path = recall, {schemas}, pg_temp".encode())
    driver.execute("SET LOCAL check_function_bodies = on")
    # The modules' own parameters are known only once they are loaded.
    driver.execute("SELECT NULL::vector, show_limit()")


def _record(driver: psycopg.Connection[Any], dimensions: int) -> None:
    for name, value in (
        ("embedding.dimensions", str(dimensions)),
        ("schema.functions", f'"{functions_fingerprint()}"'),
    ):
        driver.execute(
            "INSERT INTO recall.setting (tenant, name, value) VALUES ('*', %s, %s::jsonb) "
            "ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value",
            (name, value),
        )
