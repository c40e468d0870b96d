"""The cells of an installation together: adding, checking, draining and removing them, and their roles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pgrecall.cells import checking, joining, replicas
from pgrecall.cells.checking import CellFinding
from pgrecall.cells.directory import CellEntry, Place
from pgrecall.cells.installation import Installation
from pgrecall.errors import DatabaseUnavailable, InvalidInput, RecallError
from pgrecall.schema import roles
from pgrecall.schema.roles import Rights

ANY_TENANT = "*"
"""The tenant of a role that may name any."""


@dataclass(frozen=True, slots=True)
class CellState:
    """A cell in the directory, and whether it answers."""

    entry: CellEntry
    reachable: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TenantSize:
    """A tenant with its cell and size; sizes are None while its cell does not answer."""

    tenant: str
    cell: int
    memories: int | None
    bytes: int | None
    moving_to: int | None = None


class Fleet(Installation):
    """What administrators do with all cells."""

    def add(self, url: str, *, number: int | None = None, room: int | None = None) -> CellEntry:
        """Adds a database as a cell: :func:`pgrecall.cells.joining.add`."""
        return joining.add(self, url, number=number, room=room)

    def remove(self, number: int) -> None:
        """Takes a cell without tenants out: :func:`pgrecall.cells.joining.remove`."""
        joining.remove(self, number)

    def check(self) -> Iterator[CellFinding]:
        """Checks every cell: :func:`pgrecall.cells.checking.check`."""
        return checking.check(self)

    def list(self) -> tuple[CellState, ...]:
        """Every cell; notes the size of each in the directory, by which new tenants are placed."""
        states = []
        for entry in self.directory.cells():
            try:
                held = self.cell(entry).facts().bytes
            except RecallError as error:
                states.append(CellState(entry, reachable=False, problem=error.message))
                continue
            self.directory.run(
                "UPDATE recall_cells.cell SET bytes = %(bytes)s, noted_at = now() WHERE number = %(number)s",
                {"bytes": held, "number": entry.number},
            )
            states.append(CellState(replace(entry, bytes=held), reachable=True))
        return tuple(states)

    def set_replica(self, number: int, url: str | None) -> CellEntry:
        """Names a standby of a cell, or none: :func:`pgrecall.cells.replicas.set_replica`."""
        return replicas.set_replica(self, number, url)

    def place(self, tenant: str, number: int) -> Place:
        """Chooses the cell of a new tenant.

        Raises:
            InvalidInput: it lives in another cell already.
        """
        self.directory.cell(number)
        place = self.directory.place(tenant, number)
        if place.cell != number:
            raise InvalidInput(
                f"Tenant {tenant} lives in cell {place.cell}.",
                hint=f"Move it: pgrecall tenant move {tenant} --to {number}.",
            )
        return place

    def tenants(self) -> tuple[TenantSize, ...]:
        """Every tenant with its cell and size."""
        places, moves = self.directory.places(), {move.tenant: move.target for move in self.directory.moves()}
        sizes: dict[str, tuple[int, int]] = {}
        for entry in self.directory.cells():
            there = [place.tenant for place in places if place.cell == entry.number]
            try:
                sizes |= self.cell(entry).sizes(there)
            except DatabaseUnavailable:
                continue
        found = []
        for place in places:
            memories, held = sizes.get(place.tenant, (None, None))
            found.append(TenantSize(place.tenant, place.cell, memories, held, moves.get(place.tenant)))
        return tuple(found)

    def create_role(self, role: str, *, may: Rights, tenant: str, password: str | None) -> None:
        """Creates a login role in every cell and in the directory, and binds it everywhere."""
        for url in self._urls():
            roles.create(url, role, may=may, tenant=tenant, password=password, timeout=self.timeout)
        self._admit(tenant)
        self.directory.bind(role, tenant, password)

    def bind_role(self, role: str, tenant: str) -> bool:
        """Binds a role in every cell and in the directory. Returns whether that is a change anywhere."""
        changed = [roles.bind(url, role, tenant, timeout=self.timeout) for url in self._urls()]
        self._admit(tenant)
        self.directory.bind(role, tenant, None)
        return any(changed)

    def unbind_role(self, role: str) -> bool:
        """Removes the bindings of a role everywhere; False if there was none."""
        removed = [roles.unbind(url, role, timeout=self.timeout) for url in self._urls()]
        rows = self.directory.run("DELETE FROM recall_cells.binding WHERE role = %(role)s", {"role": role})
        return any(removed) or rows > 0

    def _urls(self) -> Sequence[str]:
        return [self.directory.url_of(entry.address) for entry in self.directory.cells()]

    def _admit(self, tenant: str) -> None:
        """Places the tenant of a bound role and lets it live there: the role itself may not."""
        if tenant != ANY_TENANT:
            place = self.directory.place(tenant)
            query = "INSERT INTO recall.resident (tenant) VALUES (%(tenant)s) ON CONFLICT DO NOTHING"
            self.at(place.address).run(query, {"tenant": tenant})
