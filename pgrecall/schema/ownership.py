"""The owner of the schema: acting as it, and differences from the declared rights.

The roles and their rights are declared in ``functions/01_tenancy/05_declared_access.sql`` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from pgrecall.database.error_translation import translated
from pgrecall.errors import DatabaseUnsuitable


@dataclass(frozen=True, slots=True)
class AccessProblem:
    """A difference from what is declared, as a sentence without its full stop, and the SQL that fixes it.

    ``grave`` where others could reach what they should not; else it is only not as good as it could be.
    """

    problem: str
    fix: str
    grave: bool


def run_file(connection: psycopg.Connection[Any], path: Path) -> None:
    """Runs an SQL file of many statements, without parameters: a % is a %."""
    run_statement(connection, path.read_bytes())


def run_statement(connection: psycopg.Connection[Any], statement: str | bytes) -> None:
    """Runs statements without parameters, and raises errors of ours."""
    query = statement.encode() if isinstance(statement, str) else statement
    try:
        connection.execute(query)
    except psycopg.Error as error:
        raise translated(error) from error


def act_as_owner(connection: psycopg.Connection[Any]) -> None:
    """Makes the rest of this transaction act as the owner of the schema, if there is one.

    Raises:
        DatabaseUnsuitable: this role may not act as the owner.
    """
    found = _rows(connection, _OWNER)
    if not found or found[0]["owner"] == found[0]["role"]:
        return
    [row] = found
    if not row["may"]:
        owner, role = row["owner"], row["role"]
        raise DatabaseUnsuitable(
            f"The schema recall belongs to {owner}, and role {role} may not act as it.",
            hint=f"An administrator runs: GRANT {owner} TO {role} WITH INHERIT FALSE, SET TRUE;",
        )
    connection.execute(SQL("SET LOCAL ROLE {}").format(Identifier(row["owner"])))


def act_as_oneself(connection: psycopg.Connection[Any]) -> None:
    """Ends what :func:`act_as_owner` began."""
    connection.execute("RESET ROLE")


def access_problems(connection: psycopg.Connection[Any]) -> Sequence[AccessProblem]:
    """All differences from what is declared; right after an upgrade, those that an upgrade cannot fix."""
    rows = _rows(connection, "SELECT problem, fix, grave FROM recall.access_problems()")
    return tuple(AccessProblem(**row) for row in rows)


def _rows(connection: psycopg.Connection[Any], query: str) -> Sequence[Mapping[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.encode()).fetchall()


_OWNER = (
    "SELECT current_user AS role, o.rolname AS owner, pg_has_role(o.oid, 'SET') AS may "
    "FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner WHERE n.nspname = 'recall'"
)
