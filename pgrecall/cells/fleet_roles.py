"""Login roles that act for a tenant in whichever cell it lives: bound in every cell, and in the directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.schema import roles
from pgrecall.schema.roles import Rights

if TYPE_CHECKING:
    from pgrecall.cells.fleet import Fleet

ANY_TENANT = "*"
"""The tenant of a role that may name any."""


def create_role(fleet: Fleet, role: str, *, may: Rights, tenant: str, password: str | None) -> None:
    """Creates a login role in every cell and in the directory, and binds it everywhere."""
    for entry in fleet.directory.cells():
        url = fleet.directory.url_of(entry.address)
        roles.create(url, role, may=may, tenant=tenant, password=password, timeout=fleet.timeout)
    _admit(fleet, tenant)
    fleet.directory.bind(role, tenant, password)


def bind_role(fleet: Fleet, role: str, tenant: str) -> bool:
    """Binds a role in every cell and in the directory. Returns whether that is a change anywhere."""
    changed = [
        roles.bind(fleet.directory.url_of(entry.address), role, tenant, timeout=fleet.timeout)
        for entry in fleet.directory.cells()
    ]
    _admit(fleet, tenant)
    fleet.directory.bind(role, tenant, None)
    return any(changed)


def _admit(fleet: Fleet, tenant: str) -> None:
    """Places the tenant of a bound role and lets it live there: the role itself may not."""
    if tenant != ANY_TENANT:
        place = fleet.directory.place(tenant)
        query = "INSERT INTO recall.resident (tenant) VALUES (%(tenant)s) ON CONFLICT DO NOTHING"
        fleet.at(place.address).run(query, {"tenant": tenant})


def unbind_role(fleet: Fleet, role: str) -> bool:
    """Removes the bindings of a role everywhere; False if there was none."""
    urls = [fleet.directory.url_of(entry.address) for entry in fleet.directory.cells()]
    gone = [roles.unbind(url, role, timeout=fleet.timeout) for url in urls]
    there = fleet.directory.run("DELETE FROM recall_cells.binding WHERE role = %(role)s", {"role": role})
    return any(gone) or there > 0
