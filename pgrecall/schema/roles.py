"""Roles: the owner of the schema, differences from the declared rights, and login roles of tenants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import psycopg
from psycopg import Connection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from pgrecall.database.connections import connect
from pgrecall.database.error_translation import translated
from pgrecall.database.pooler import pool_mode
from pgrecall.database.server import ServerFacts, server_facts
from pgrecall.errors import DatabaseUnsuitable, InvalidInput

Rights = Literal["reader", "app", "worker"]


@dataclass(frozen=True, slots=True)
class RoleBinding:
    """The tenant of a login role; ``*`` if it may name any. ``may`` is its highest right."""

    role: str
    tenant: str
    bound_at: datetime
    present: bool
    may_log_in: bool
    may: str


def create(
    url: str, role: str, *, may: Rights, tenant: str, password: str | None, timeout: float = 10.0
) -> None:
    """Creates a login role with these rights, or grants them to an existing one, and binds it to a tenant.

    The password is hashed here: no log of the server can hold it. Without one an existing stays.

    Raises:
        InvalidInput: the role is one that no binding holds, such as a superuser.
        DatabaseUnsuitable: the caller may not make roles, or may not act as the owner.
    """
    if may not in get_args(Rights):
        raise InvalidInput(f"There is no right {may!r}.", hint="Choose reader, app or worker.")
    with connect(url, timeout=timeout) as connection, connection.transaction():
        hashed = ""
        if password is not None:
            made = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
            hashed = made.decode()
        given = {"role": role, "rights": f"recall_{may}", "password": hashed}
        for name, value in given.items():
            connection.execute("SELECT set_config(%s, %s, true)", (f"recall.new_{name}", value))
        connection.execute((files(__package__) / "login_role.sql").read_bytes())
        _bind(connection, role, tenant)


def keep_out_of_the_log(url: str, role: str, *, timeout: float = 10.0) -> None:
    """Stops the server from logging errors of this role, which can quote memories. Its client gets them.

    Other messages are still logged. Needs a superuser.
    """
    with connect(url, timeout=timeout) as connection, connection.transaction():
        # Postgres refuses one of two concurrent changes, as when programs start a server together.
        connection.execute("LOCK TABLE pg_db_role_setting IN SHARE UPDATE EXCLUSIVE MODE")
        connection.execute(SQL("ALTER ROLE {} SET log_min_messages = 'log'").format(Identifier(role)))


def bind(url: str, role: str, tenant: str, *, timeout: float = 10.0) -> bool:
    """Binds a login role to a tenant (``*``: it may name any). Returns whether that is a change.

    Raises:
        InvalidInput: there is no such role, or a binding would not restrict it.
        DatabaseUnsuitable: the caller may not act as the owner.
    """
    with connect(url, timeout=timeout) as connection, connection.transaction():
        return _bind(connection, role, tenant)


def unbind(url: str, role: str, *, timeout: float = 10.0) -> bool:
    """Removes the binding of a role; False if there was none."""
    with _as_owner(url, timeout) as connection:
        row = connection.execute("SELECT recall.unbind_role(%s) AS gone", (role,)).fetchone()
        return bool(row and row["gone"])


def bindings(url: str, *, timeout: float = 10.0) -> Sequence[RoleBinding]:
    """All bindings, by role."""
    with _as_owner(url, timeout) as connection:
        rows = connection.execute("SELECT * FROM recall.role_bindings()").fetchall()
        return tuple(RoleBinding(**row) for row in rows)


@contextmanager
def _as_owner(url: str, timeout: float) -> Iterator[Connection[Any]]:
    with connect(url, timeout=timeout) as connection, connection.transaction():
        act_as_owner(connection)
        yield connection


def _bind(connection: Connection[Any], role: str, tenant: str) -> bool:
    act_as_owner(connection)
    row = connection.execute("SELECT recall.bind_role(%s, %s) AS changed", (role, tenant)).fetchone()
    return bool(row and row["changed"])


@dataclass(frozen=True, slots=True)
class AccessProblem:
    """A difference from the declared rights, as a sentence without its full stop, and the SQL that fixes it.

    ``grave``: others could do what they should not.
    """

    problem: str
    fix: str
    grave: bool


def run_file(connection: psycopg.Connection[Any], path: Path) -> None:
    """Runs an SQL file of many statements, without parameters; a % is literal."""
    run_statement(connection, path.read_bytes())


def run_statement(connection: psycopg.Connection[Any], statement: str | bytes) -> None:
    """Runs statements without parameters; translates errors."""
    query = statement.encode() if isinstance(statement, str) else statement
    try:
        connection.execute(query)
    except psycopg.Error as error:
        raise translated(error) from error


def quoted(role: str) -> str:
    """Returns a role's name as SQL to print, quoted if necessary."""
    return role if re.fullmatch("[a-z_][a-z0-9_]*", role) else '"' + role.replace('"', '""') + '"'


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
            hint=f"An administrator runs: GRANT {quoted(owner)} TO {quoted(role)} "
            "WITH INHERIT FALSE, SET TRUE;",
        )
    connection.execute(SQL("SET LOCAL ROLE {}").format(Identifier(row["owner"])))


def act_as_oneself(connection: psycopg.Connection[Any]) -> None:
    """Reverts :func:`act_as_owner`."""
    connection.execute("RESET ROLE")


def access_problems(connection: psycopg.Connection[Any]) -> Sequence[AccessProblem]:
    """All differences from the declared rights; after an upgrade, those that it cannot fix."""
    rows = _rows(connection, "SELECT problem, fix, grave FROM recall.access_problems()")
    return tuple(AccessProblem(**row) for row in rows)


def _rows(connection: psycopg.Connection[Any], query: str) -> Sequence[Mapping[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.encode()).fetchall()


_OWNER = (
    "SELECT current_user AS role, o.rolname AS owner, pg_has_role(o.oid, 'SET') AS may "
    "FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner WHERE n.nspname = 'recall'"
)


@dataclass(frozen=True, slots=True)
class Examination:
    """A server, and the rights of this role in one of its databases.

    ``unaccent`` is ``installed``, ``offered`` or None. ``owned`` says whether the role may upgrade the
    schema, ``usable`` whether it may use memories; both are None without a schema. ``pool`` is the mode of a
    connection pooler in between.
    """

    facts: ServerFacts
    unaccent: str | None
    owned: bool | None
    usable: bool | None
    pool: Literal["session", "transaction"] | None = None


def rights(url: str, *, timeout: float = 10.0) -> Sequence[AccessProblem]:
    """Differences of roles, rights and row security from the declared ones, in a schema of this version.

    Raises:
        DatabaseUnavailable: it cannot be reached.
    """
    with connect(url, timeout=timeout) as connection:
        return access_problems(connection)


def examine(url: str, *, timeout: float = 10.0) -> Examination:
    """Inspects a database.

    Raises:
        DatabaseUnavailable: it cannot be reached, or the URL cannot be read.
    """
    query = (files(__package__) / "inspection.sql").read_bytes()
    with connect(url, timeout=timeout) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return Examination(server_facts(connection), **row, pool=pool_mode(connection, url, timeout=timeout))
