"""The directory of cells: in which database each tenant lives."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from pgrecall.cells.addresses import url_at
from pgrecall.cells.kept_connection import KeptConnection
from pgrecall.database.connections import connect
from pgrecall.database.server import Row
from pgrecall.errors import DatabaseError, DatabaseUnavailable, InvalidInput, SchemaMismatch

LOCK_TIMEOUT = 1.0
"""Seconds to wait for another call that moves the same tenant."""

Connection = psycopg.Connection[Row]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tenant lives. The version grows with every move. ``replica`` is a standby of its cell."""

    tenant: str
    cell: int
    address: str
    version: int
    dimensions: int
    replica: str | None = None


@dataclass(frozen=True, slots=True)
class CellEntry:
    """A cell in the directory. ``room`` is its maximum size in bytes, None without one; ``bytes`` its size
    when last recorded. ``tenants`` counts the tenants placed there; ``replica`` is the address of a standby,
    if it has one."""

    number: int
    address: str
    draining: bool
    room: int | None
    bytes: int
    noted_at: datetime
    dimensions: int
    tenants: int
    replica: str | None = None


@dataclass(frozen=True, slots=True)
class MoveEntry:
    """A move in progress."""

    tenant: str
    source: int
    target: int
    step: str
    began_at: datetime
    flipped_at: datetime | None


class Directory:
    """The directory at a URL. Each call opens a connection: callers remember what they learn.

    Args:
        timeout: seconds to connect.
    """

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self.url = url
        self._timeout = timeout
        self._kept = KeptConnection()

    @contextmanager
    def keep_open(self) -> Iterator[None]:
        """Keeps a connection for the calls inside, which come one after the other."""
        with self.connected() as connection, self._kept.keep(connection):
            yield

    def url_of(self, address: str) -> str:
        """The connection string of a cell, for the role that opened this directory."""
        return url_at(address, self.url)

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """A connection to the directory.

        Raises:
            DatabaseUnavailable: the directory cannot be reached.
            SchemaMismatch: there is no directory in this database.
        """
        if (kept := self._kept.connection) is not None:
            yield kept
            return
        try:
            with connect(self.url, timeout=self._timeout) as connection:
                yield connection
        except DatabaseUnavailable as error:
            raise DatabaseUnavailable(
                f"The directory of cells cannot be reached: {error.message}",
                hint="Check PGRECALL_CELLS. Tenants in cells that this client knows are still served.",
                sqlstate=error.sqlstate,
            ) from error
        except DatabaseError as error:
            if isinstance(error, SchemaMismatch) or error.sqlstate in ("3F000", "42P01", "42703", "42883"):
                raise self.mismatch() from error
            raise

    def mismatch(self) -> SchemaMismatch:
        """The error for a directory with missing objects."""
        with connect(self.url, timeout=self._timeout) as connection:
            row = connection.execute(_HAS_DIRECTORY).fetchone()
        if row and row["there"]:
            return SchemaMismatch(
                "This directory of cells has the schema of an older version of pgrecall.",
                hint="Run `pgrecall upgrade` with PGRECALL_CELLS as its administrator.",
            )
        return SchemaMismatch(
            "This database has no directory of cells.",
            hint="Check PGRECALL_CELLS; the first `pgrecall cell add URL` creates the directory.",
        )

    def install(self) -> None:
        """Creates the tables and functions of the directory; repeating it is harmless."""
        sql = (files(__package__) / "directory.sql").read_bytes()
        with self.connected() as connection:
            try:
                connection.execute(sql)
            except psycopg.errors.UniqueViolation:  # another call has just created the schema
                connection.execute(sql)

    def is_installed(self) -> bool:
        """Whether this database has a directory."""
        with self.connected() as connection:
            row = connection.execute(_HAS_DIRECTORY).fetchone()
            return bool(row and row["there"])

    def installation(self) -> str:
        """The id of the installation, which every cell repeats."""
        return str(self._one("SELECT id FROM recall_cells.installation")["id"])

    def find(self, tenant: str) -> Place | None:
        """Returns where a tenant lives; None if it has no place yet."""
        rows = self._rows(_FIND, {"tenant": tenant})
        return Place(**rows[0]) if rows else None

    def place(self, tenant: str, cell: int | None = None) -> Place:
        """Returns where a tenant lives. A tenant without a place gets one: in ``cell``, or in the cell with
        the most room.

        Raises:
            DatabaseError: no cell has room.
            InvalidInput: there is no such cell.
        """
        return Place(**self._one(_PLACE, {"tenant": tenant, "cell": cell}))

    def replica(self, cell: int) -> str | None:
        """The address of a standby of a cell, if it has one."""
        address = self._one("SELECT recall_cells.replica(%(cell)s) AS address", {"cell": cell})["address"]
        return None if address is None else str(address)

    def addresses(self) -> dict[int, str]:
        """The address of each cell, by number, for a role that may act for any tenant."""
        rows = self._rows("SELECT cell, address FROM recall_cells.find_all()")
        return {row["cell"]: row["address"] for row in rows}

    def cells(self) -> tuple[CellEntry, ...]:
        """Every cell, by number, for a role that may act for any tenant."""
        return tuple(CellEntry(**row) for row in self._rows("SELECT * FROM recall_cells.overview()"))

    def cell(self, number: int) -> CellEntry:
        """One cell.

        Raises:
            InvalidInput: there is no such cell.
        """
        for entry in self.cells():
            if entry.number == number:
                return entry
        raise InvalidInput(f"There is no cell {number}.", hint="`pgrecall cell list` shows them.")

    def places(self) -> tuple[Place, ...]:
        """Every tenant with its place, by name. For administrators, like what follows."""
        return tuple(Place(**row) for row in self._rows(_PLACES))

    def moves(self) -> tuple[MoveEntry, ...]:
        """Returns the moves in progress, for a role that may act for any tenant."""
        return tuple(MoveEntry(**row) for row in self._rows("SELECT * FROM recall_cells.moves()"))

    def place_all(self, tenants: Sequence[str], cell: int) -> None:
        """Places those of these tenants in a cell that have no place yet."""
        self.run(
            "INSERT INTO recall_cells.place (tenant, cell) SELECT t, %(cell)s::bigint "
            "FROM unnest(%(tenants)s::text[]) t ON CONFLICT DO NOTHING",
            {"tenants": list(tenants), "cell": cell},
        )

    def bind(self, role: str, tenant: str, password: str | None) -> None:
        """Lets a login role ask for a tenant (``*``: any). It is created if this server does not have it."""
        with self.connected() as connection, connection.transaction():
            there = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
            if there is None:
                connection.execute(SQL("CREATE ROLE {} LOGIN").format(Identifier(role)))
            if password is not None:
                # Hashed here: no log of the server can hold it.
                made = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
                change = SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(role), Literal(made.decode()))
                connection.execute(change)
            connection.execute(_BIND, {"role": role, "tenant": tenant})

    @contextmanager
    def exclusive(self, tenant: str) -> Iterator[None]:
        """Prevents other processes from moving the tenant while it is open.

        Raises:
            InvalidInput: another process is moving it.
        """
        with ExitStack() as opened:
            connection = opened.enter_context(self.connected())
            begin = "SELECT recall_cells.begin_moving(%s) AS ours"
            deadline = time.monotonic() + LOCK_TIMEOUT  # the server notices the end of a killed one late
            while not connection.execute(begin, (tenant,)).fetchall()[0]["ours"]:
                if time.monotonic() > deadline:
                    raise InvalidInput(
                        f"Another process is moving tenant {tenant}.", hint="Wait until it ends, or stop it."
                    )
                time.sleep(0.1)
            opened.callback(_unlock, connection, tenant)
            lasting = opened.pop_all()
        try:
            yield  # outside of the connection: what fails here is not the directory's
        finally:
            lasting.close()

    def flip(self, tenant: str, cell: int) -> None:
        """Records that a tenant lives in another cell, with its move, in one transaction."""
        with self.connected() as connection, connection.transaction():
            for statement in _FLIP:
                connection.execute(statement.encode(), {"tenant": tenant, "cell": cell})

    def flipped(self, older_than: float) -> list[str]:
        """Returns tenants that have lived in their new cell for so many seconds and still have rows in the
        old one."""
        query = (
            "SELECT tenant FROM recall_cells.move WHERE step = 'flipped' "
            "AND flipped_at <= now() - make_interval(secs => %(seconds)s) ORDER BY flipped_at"
        )
        return [row["tenant"] for row in self._rows(query, {"seconds": older_than})]

    def run(self, sql: str, parameters: Mapping[str, object] | None = None) -> int:
        """Runs a statement that changes the directory; returns how many rows it changed."""
        with self.connected() as connection:
            return connection.execute(sql.encode(), parameters).rowcount

    def _rows(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Any]:
        with self.connected() as connection:
            return connection.execute(sql.encode(), parameters).fetchall()

    def _one(self, sql: str, parameters: Mapping[str, object] | None = None) -> Any:
        return self._rows(sql, parameters)[0]


def _unlock(connection: Connection, tenant: str) -> None:
    with suppress(psycopg.Error):  # a lost connection holds no lock
        connection.execute("SELECT recall_cells.end_moving(%s)", (tenant,))


_BIND = (
    "INSERT INTO recall_cells.binding (role, tenant) VALUES (%(role)s, %(tenant)s) "
    "ON CONFLICT (role) DO UPDATE SET tenant = excluded.tenant"
)
_FLIP = (
    # It must outlast a crash: the source may forget the tenant next.
    "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'",
    "UPDATE recall_cells.place SET cell = %(cell)s, version = DEFAULT, placed_at = now() "
    "WHERE tenant = %(tenant)s",
    "UPDATE recall_cells.move SET step = 'flipped', flipped_at = now() WHERE tenant = %(tenant)s",
)
# Not by its name: a role without rights to the schema may not look it up so.
_HAS_DIRECTORY = (
    "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = 'recall_cells' AND c.relname = 'place') AS there"
)
_FIND = "SELECT f.*, recall_cells.replica(f.cell) AS replica FROM recall_cells.find(%(tenant)s) f"
_PLACE = (
    "SELECT f.*, recall_cells.replica(f.cell) AS replica "
    "FROM recall_cells.place_tenant(%(tenant)s, %(cell)s::bigint) f"
)
_PLACES = (
    "SELECT p.tenant, p.cell, c.address, p.version, c.dimensions, c.replica FROM recall_cells.place p "
    "JOIN recall_cells.cell c ON c.number = p.cell ORDER BY p.tenant"
)
