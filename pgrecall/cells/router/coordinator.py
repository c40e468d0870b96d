"""The coordinator: the database of the directory, with Citus and the wrappers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files

import psycopg

from pgrecall.cells.directory import Connection, Directory
from pgrecall.cells.router import STATEMENTS
from pgrecall.cells.router.wrappers import Wrapper
from pgrecall.database.error_translation import translated
from pgrecall.errors import DatabaseUnsuitable, InvalidInput


@dataclass(frozen=True, slots=True)
class CoordinatorFacts:
    """The state of the directory's database; ``routes`` if a router is installed there."""

    loaded: bool
    is_cell: bool
    has_directory: bool
    routes: bool
    superuser: bool
    role: str
    database: str


class Coordinator:
    """The coordinator at the URL of the directory."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    @property
    def url(self) -> str:
        """Its connection string."""
        return self._directory.url

    @contextmanager
    def transaction(self, *, alone: bool = False) -> Iterator[Connection]:
        """A transaction in which statements about schemas and roles stay on the coordinator.

        Args:
            alone: waits for other calls that change the directory or the router.

        Raises:
            DatabaseUnavailable: it cannot be reached.
        """
        with self._directory.connected() as connection, connection.transaction():
            propagate(connection, False)
            try:
                if alone:
                    connection.execute("SELECT FROM recall_cells.installation FOR UPDATE")
                yield connection
            except psycopg.Error as error:
                raise translated(error) from error

    def facts(self) -> CoordinatorFacts:
        """What the database is."""
        with self._directory.connected() as connection:
            row = connection.execute(STATEMENTS["coordinator"].encode()).fetchone()
        assert row is not None
        return CoordinatorFacts(**row)

    def require_usable(self) -> CoordinatorFacts:
        """The facts, of a database that can be a coordinator.

        Raises:
            InvalidInput: it is a cell, or has no directory with cells.
            DatabaseUnsuitable: its server has no Citus, or the role is no superuser.
        """
        facts = self.facts()
        if facts.is_cell:
            raise InvalidInput(
                f"The directory is in a cell, the database {facts.database}; a coordinator cannot be one.",
                hint="Create one with Citus for the directory, then add the cells: docs/howto/scale.md.",
            )
        if not facts.has_directory:
            raise InvalidInput(
                f"The database {facts.database} has no directory of cells.", hint="Run pgrecall cell add URL."
            )
        if not facts.loaded:
            raise DatabaseUnsuitable(
                "The server of the directory has not loaded Citus.",
                hint="Install it there and in every cell: shared_preload_libraries = 'citus' and a restart.",
            )
        if not facts.superuser:
            raise DatabaseUnsuitable(
                f"Role {facts.role} is not a superuser, which Citus requires.",
                hint="Name a superuser of the coordinator and the cells in PGRECALL_CELLS.",
            )
        return facts

    def require_installed(self) -> None:
        """Raises for a database without router.

        Raises:
            InvalidInput: it has none.
        """
        if not self.facts().routes:
            raise InvalidInput("No router is installed here.", hint="Install one: pgrecall router init")


def propagate(connection: Connection, on: bool) -> None:
    """Whether statements of this transaction about schemas are repeated in the cells.

    The setting may be made on servers without Citus, where it means nothing.
    """
    connection.execute(
        "SELECT set_config('citus.enable_ddl_propagation', %s, true)", ("on" if on else "off",)
    )


def installed_wrappers(connection: Connection) -> dict[str, tuple[Wrapper, str]]:
    """The wrappers in a database, by name, each with the types that identify it."""
    with connection.transaction():
        connection.execute("SET LOCAL search_path = pg_catalog")
        rows = connection.execute(STATEMENTS["wrappers"].encode()).fetchall()
    return {
        row["name"]: (
            Wrapper(row["name"], "", row["arguments"], row["result"], row["body"]),
            row["identity"],
        )
        for row in rows
    }


def run_file(connection: Connection, name: str) -> None:
    """Runs an SQL file of this package."""
    connection.execute((files(__package__) / name).read_bytes())
