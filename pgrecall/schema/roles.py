"""Login roles and the tenants they act for, as administrators of a database make them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any, Literal, get_args

from psycopg import Connection
from psycopg.sql import SQL, Identifier

from pgrecall.database.connections import connect
from pgrecall.errors import InvalidInput
from pgrecall.schema.ownership import act_as_owner

Rights = Literal["reader", "app", "worker"]


@dataclass(frozen=True, slots=True)
class RoleBinding:
    """The tenant a login role acts for; ``*``: any that it names. ``may`` is the most it may do."""

    role: str
    tenant: str
    bound_at: datetime
    present: bool
    may_log_in: bool
    may: str


def create(
    url: str, role: str, *, may: Rights, tenant: str, password: str | None, timeout: float = 10.0
) -> None:
    """Makes a login role with these rights, or gives them to the one there is, and binds it to a tenant.

    The password is hashed here: no log of the server can hold it. Without one an existing stays.

    Raises:
        InvalidInput: the role is one that no binding holds, such as a superuser.
        DatabaseUnsuitable: the caller may not make roles, or may not act as the owner.
    """
    if may not in get_args(Rights):
        raise InvalidInput(f"{may!r} is nothing a role may do.", hint="Choose reader, app or worker.")
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
    """Has the server write down no more refusals of this role's: they go to whoever asked, and name what was
    asked for. Its own affairs, and those of other roles, it goes on to log. Only a superuser may say so."""
    with connect(url, timeout=timeout) as connection, connection.transaction():
        # Of two who say so at once Postgres would refuse one, as where programs start a server together.
        connection.execute("LOCK TABLE pg_db_role_setting IN SHARE UPDATE EXCLUSIVE MODE")
        connection.execute(SQL("ALTER ROLE {} SET log_min_messages = 'log'").format(Identifier(role)))


def bind(url: str, role: str, tenant: str, *, timeout: float = 10.0) -> bool:
    """Binds a login role to a tenant (``*``: it may name any); whether that is a change.

    Raises:
        InvalidInput: there is no such role, or no binding holds it.
        DatabaseUnsuitable: the caller may not act as the owner.
    """
    with connect(url, timeout=timeout) as connection, connection.transaction():
        return _bind(connection, role, tenant)


def unbind(url: str, role: str, *, timeout: float = 10.0) -> bool:
    """Takes a role's binding away; False where there was none."""
    with _as_owner(url, timeout) as connection:
        row = connection.execute("SELECT recall.unbind_role(%s) AS gone", (role,)).fetchone()
        return bool(row and row["gone"])


def bindings(url: str, *, timeout: float = 10.0) -> Sequence[RoleBinding]:
    """Every binding, by role."""
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
