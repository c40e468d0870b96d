"""The cells of an installation together: adding, checking, draining and removing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pgrecall.cells import checking, fleet_roles, joining, replicas
from pgrecall.cells.cell import Cell
from pgrecall.cells.checking import CellFinding
from pgrecall.cells.directory import CellEntry, Directory, Place
from pgrecall.errors import DatabaseUnavailable, InvalidInput, RecallError
from pgrecall.schema.roles import Rights


@dataclass(frozen=True, slots=True)
class CellState:
    """A cell as the directory has it, and whether it answers."""

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


class Fleet:
    """Every cell of the installation of a directory, for administrators.

    Args:
        timeout: seconds to connect.
    """

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self.directory = Directory(url, timeout=timeout)
        self.timeout = timeout

    def cell(self, entry: CellEntry) -> Cell:
        """The database of a cell."""
        return self.at(entry.address)

    def at(self, address: str) -> Cell:
        """The database at the address of a cell."""
        return Cell(self.directory.url_of(address), timeout=self.timeout)

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

    def drain(self, number: int, *, stop: bool = False) -> tuple[CellEntry, tuple[str, ...]]:
        """Keeps new tenants out of a cell, or lets them in again.

        Returns:
            The cell, and the tenants that still live there.
        """
        self.directory.cell(number)
        self.directory.run(
            "UPDATE recall_cells.cell SET draining = %(draining)s WHERE number = %(number)s",
            {"draining": not stop, "number": number},
        )
        left = tuple(place.tenant for place in self.directory.places() if place.cell == number)
        return self.directory.cell(number), left

    def set_replica(self, number: int, url: str | None) -> CellEntry:
        """Names a standby of a cell, or none: :func:`pgrecall.cells.replicas.set_replica`."""
        return replicas.set_replica(self, number, url)

    def place(self, tenant: str, number: int) -> Place:
        """Places a new tenant by hand.

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
        fleet_roles.create_role(self, role, may=may, tenant=tenant, password=password)

    def bind_role(self, role: str, tenant: str) -> bool:
        """Binds a role in every cell and in the directory. Returns whether that is a change anywhere."""
        return fleet_roles.bind_role(self, role, tenant)

    def unbind_role(self, role: str) -> bool:
        """Removes the bindings of a role everywhere; False if there was none."""
        return fleet_roles.unbind_role(self, role)
