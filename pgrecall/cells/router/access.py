"""The login roles that may use the router. All others are refused, because arbitrary SQL could do harm."""

from __future__ import annotations

from psycopg.sql import SQL, Identifier

from pgrecall.cells.fleet import Fleet
from pgrecall.cells.router.coordinator import Coordinator
from pgrecall.errors import InvalidInput
from pgrecall.schema import roles

_GROUPS = {"reader": "recall_reader", "app": "recall_app", "worker": "recall_worker"}


def allow(fleet: Fleet, role: str) -> str:
    """Allows a login role to use the router, with its rights in the cells; returns the highest right.

    Raises:
        InvalidInput: the role may do nothing in a cell, or more in one than in another.
    """
    coordinator = Coordinator(fleet.directory)
    coordinator.require_installed()
    found = {}
    for entry in fleet.directory.cells():
        bindings = roles.bindings(fleet.directory.url_of(entry.address), timeout=fleet.timeout)
        found[entry.number] = next((one.may for one in bindings if one.role == role), "nothing")
    for number, may in found.items():
        if may not in _GROUPS:
            raise InvalidInput(
                f"Role {role} may do nothing in cell {number}.",
                hint=f"Create it there: pgrecall roles create {role} --for TENANT, with PGRECALL_CELLS set.",
            )
    if len(set(found.values())) > 1:
        raise InvalidInput(
            f"Role {role} may do more in one cell than in another: {found}.",
            hint=f"Give it the same rights in all cells: pgrecall roles create {role} --for TENANT.",
        )
    may = next(iter(found.values()))
    deny(fleet, role)
    with coordinator.transaction() as connection:
        grant = SQL("GRANT {} TO {}").format(Identifier(_GROUPS[may]), Identifier(role))
        connection.execute(grant)
    return may


def deny(fleet: Fleet, role: str) -> None:
    """Keeps a login role out of the router; it still uses the cells directly.

    Raises:
        InvalidInput: the coordinator has no such role.
    """
    coordinator = Coordinator(fleet.directory)
    coordinator.require_installed()
    with coordinator.transaction() as connection:
        if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
            raise InvalidInput(
                f"There is no role {role} on the coordinator.",
                hint=f"Create it: pgrecall roles create {role} --for TENANT, with PGRECALL_CELLS set.",
            )
        groups = SQL(", ").join(Identifier(group) for group in _GROUPS.values())
        connection.execute(SQL("REVOKE {} FROM {}").format(groups, Identifier(role)))
