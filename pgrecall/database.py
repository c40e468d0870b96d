"""How pgrecall speaks to Postgres: connections, a tenant for every transaction, errors made ours.

Every operation runs in its own transaction, in which ``recall.tenant`` is set first; psycopg's
errors leave this module only as :mod:`pgrecall.errors`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import psycopg
import psycopg.errors
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from pgrecall.errors import (
    DatabaseError,
    DatabaseUnavailable,
    DatabaseUnsuitable,
    EmbedderMismatch,
    InvalidInput,
    MemoryNotFound,
    RecallError,
    SchemaMismatch,
)

Row = Mapping[str, Any]

MINIMUM_SERVER = 160_000
MINIMUM_PGVECTOR = (0, 8)

_LOST = ("08", "57P")
"""SQLSTATE classes of a lost connection: connection exceptions, and a server shutting down."""


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension a server offers: the version it would install, the one it has, and whether this role
    may create it."""

    offered: str
    installed: str | None
    creatable: bool


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server is and has: version as an integer (180006), its text, and extension versions."""

    version: int
    version_text: str
    role: str
    database: str
    may_create: bool
    extensions: Mapping[str, Extension]
    """By name; of the two that pgrecall needs, those that the server offers."""


class Database:
    """A pool of connections to one database, serving any number of tenants and threads."""

    def __init__(self, url: str, *, pool_size: int = 8, connect_timeout: float = 10.0) -> None:
        self._url = url
        self._timeout = connect_timeout
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            url,
            connection_class=psycopg.Connection[Row],
            min_size=0,
            max_size=pool_size,
            timeout=connect_timeout,
            open=False,
            kwargs={"row_factory": dict_row, "connect_timeout": max(1, round(connect_timeout))},
            check=ConnectionPool.check_connection,
            name="pgrecall",
        )

    def open(self) -> None:
        """Opens the pool after one connection has shown that the server answers."""
        with connect(self._url, timeout=self._timeout):
            pass
        self._pool.open()

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def transaction(self, tenant: str, *, durable: bool = True) -> Iterator[psycopg.Connection[Row]]:
        """A transaction that acts for ``tenant``; committed at the end, rolled back on any error.

        Without ``durable`` its commit does not wait for the disk.
        """
        try:
            with self._pool.connection() as connection, connection.pipeline():
                connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant,))
                if not durable:
                    connection.execute("SET LOCAL synchronous_commit = off")
                yield connection
        except PoolTimeout as error:
            raise DatabaseUnavailable(
                f"No connection to Postgres became free within {self._timeout:g} s.",
                hint="Raise PGRECALL_POOL_SIZE, or ask again when there is less to do.",
            ) from error
        except psycopg.Error as error:
            raise translated(error) from error

    def fetch(
        self, sql: str, parameters: Mapping[str, object], *, tenant: str, durable: bool = True
    ) -> list[Row]:
        """Runs one statement for ``tenant`` and returns its rows."""
        with self.transaction(tenant, durable=durable) as connection:
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection outside the pool, for what lasts as long as a connection does: advisory locks."""
        with connect(self._url, timeout=self._timeout) as connection:
            yield Session(connection)

    def facts(self) -> ServerFacts:
        """What the server is and has; opens one connection of its own."""
        with connect(self._url, timeout=self._timeout) as connection:
            return server_facts(connection)


class Session:
    """One connection, kept over many transactions; only ``cancel`` may be called from another thread."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def fetch(self, sql: str, parameters: Mapping[str, object], *, tenant: str) -> list[Row]:
        """Runs one statement for ``tenant`` in a transaction of its own and returns its rows."""
        try:
            with self._connection.transaction():
                self._connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant,))
                return self._connection.execute(sql, parameters).fetchall()
        except psycopg.Error as error:
            raise translated(error) from error

    def cancel(self) -> None:
        """Breaks off the statement that runs now, if one does; it fails with a DatabaseError."""
        with suppress(psycopg.Error):  # a connection that is gone runs nothing
            self._connection.cancel_safe(timeout=5.0)


@contextmanager
def connect(url: str, *, timeout: float = 10.0) -> Iterator[psycopg.Connection[Row]]:
    """One connection outside any pool, autocommitting."""
    try:
        connection: psycopg.Connection[Row] = psycopg.connect(
            url, autocommit=True, row_factory=dict_row, connect_timeout=max(1, round(timeout))
        )
    except psycopg.ProgrammingError:
        raise DatabaseUnavailable(  # libpq quotes what it cannot read, and that may be the password
            "The database URL cannot be read.",
            hint="Write it as postgresql://user:password@host:5432/database, special signs %-escaped.",
        ) from None
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(
            f"Postgres cannot be reached: {_sentence(_first_line(error))}",
            hint="Check PGRECALL_DATABASE_URL and that the server runs; without that variable pgrecall "
            "starts its own.",
        ) from error
    try:
        with connection:
            yield connection
    except psycopg.Error as error:
        raise translated(error) from error


def server_facts(connection: psycopg.Connection[Row]) -> ServerFacts:
    """What the server behind an open connection is and has."""
    query = (files("pgrecall") / "server_facts.sql").read_bytes()
    row = connection.execute(query).fetchone()
    assert row is not None
    found = {name: Extension(**versions) for name, versions in row["extensions"].items()}
    return ServerFacts(**(dict(row) | {"extensions": found}))


def require_suitable(facts: ServerFacts) -> None:
    """Refuses a server that lacks a version or an extension, naming everything that is missing.

    Raises:
        DatabaseUnsuitable: with one sentence for each thing missing.
    """
    missing: list[str] = []
    if facts.version < MINIMUM_SERVER:
        missing.append(f"it is Postgres {facts.version_text}, and pgrecall needs 16 or newer")
    for name, package in (("vector", "pgvector 0.8 or newer"), ("pg_trgm", "the contrib package")):
        if name not in facts.extensions:
            missing.append(f"the extension {name} is not installed on the server ({package})")
    vector = facts.extensions.get("vector")
    if vector is not None and _numbers(vector.installed or vector.offered) < MINIMUM_PGVECTOR:
        version = vector.installed or vector.offered
        missing.append(f"pgvector is {version}, and pgrecall needs 0.8 or newer")
    if not facts.may_create:
        missing.append(f"role {facts.role} may not create in database {facts.database}")
    missing.extend(
        f"an administrator still has to run CREATE EXTENSION {name} in it"
        for name, extension in facts.extensions.items()
        if extension.installed is None and not (extension.creatable and facts.may_create)
    )
    if missing:
        raise DatabaseUnsuitable(
            "This Postgres cannot hold pgrecall: " + "; ".join(missing) + ".",
            hint="Have an administrator mend that, then run `pgrecall init` again.",
        )


def translated(error: psycopg.Error) -> RecallError:
    """The pgrecall error that says what a psycopg error means."""
    diagnostic = error.diag
    message = diagnostic.message_primary or _first_line(error)
    hint = diagnostic.message_hint or ""
    match error:
        case psycopg.errors.NoDataFound():
            return _not_found(diagnostic)
        case psycopg.errors.InvalidParameterValue() if diagnostic.constraint_name == "embedder_mismatch":
            return EmbedderMismatch(message, hint=hint)
        case psycopg.errors.InvalidSchemaName() | psycopg.errors.UndefinedFunction():
            return SchemaMismatch(
                "This database is not initialised for this version of pgrecall.",
                hint="Run `pgrecall init` (new database) or `pgrecall upgrade`.",
                sqlstate=error.sqlstate,
            )
        case psycopg.errors.UndefinedTable():
            return SchemaMismatch(message, hint="Run `pgrecall upgrade`.", sqlstate=error.sqlstate)
        case psycopg.errors.InsufficientPrivilege():
            return DatabaseUnsuitable(
                f"Postgres refused: {message}.", hint="Grant this role the right.", sqlstate=error.sqlstate
            )
        case psycopg.DataError() | psycopg.IntegrityError():
            return InvalidInput(_sentence(message), hint=hint)
        case psycopg.errors.ProgramLimitExceeded():
            return InvalidInput(_sentence(message), hint=hint)
        case psycopg.OperationalError() if error.sqlstate and not error.sqlstate.startswith(_LOST):
            return DatabaseError(_sentence(message), hint=hint or "Try again.", sqlstate=error.sqlstate)
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return DatabaseUnavailable(
                f"The connection to Postgres failed: {message}",
                hint=hint or "Try again.",
                sqlstate=error.sqlstate,
            )
        case _:
            return DatabaseError(_sentence(message), hint=hint, sqlstate=error.sqlstate)


def _not_found(diagnostic: psycopg.errors.Diagnostic) -> RecallError:
    reference = diagnostic.message_detail
    if not reference:
        return InvalidInput(diagnostic.message_primary or "There is no such memory.")
    return MemoryNotFound(int(reference) if diagnostic.column_name == "id" else reference)


def _first_line(error: psycopg.Error) -> str:
    lines: Sequence[str] = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0]


def _sentence(message: str) -> str:
    return message if message.endswith((".", "!", "?")) else f"{message}."


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
