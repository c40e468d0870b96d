"""The cells of an installation together: adding, checking, draining and removing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pgrecall.cells.addresses import address_of, shown
from pgrecall.cells.cell import Cell, CellFacts
from pgrecall.cells.directory import CellEntry, Directory, Place
from pgrecall.errors import DatabaseUnavailable, InvalidInput, RecallError
from pgrecall.schema import roles
from pgrecall.schema.roles import Rights

ANY_TENANT = "*"
"""The tenant of a role that may name any."""


@dataclass(frozen=True, slots=True)
class CellState:
    """A cell as the directory has it, and whether it answers."""

    entry: CellEntry
    reachable: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CellFinding:
    """The result of a check of a cell (None: of the directory): a sentence, and the way out of a failure."""

    cell: int | None
    level: Literal["ok", "warn", "fail"]
    message: str
    fix: str = ""


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
        self._timeout = timeout

    def cell(self, entry: CellEntry) -> Cell:
        """The database of a cell."""
        return self.at(entry.address)

    def at(self, address: str) -> Cell:
        """The database at the address of a cell."""
        return Cell(self.directory.url_of(address), timeout=self._timeout)

    def add(self, url: str, *, number: int | None = None, room: int | None = None) -> CellEntry:
        """Adds a database as a cell; the first one makes the directory. Harmless when repeated.

        From the second cell on, every cell refuses tenants that do not live there.

        Args:
            url: the database, as clients reach it.
            number: the cell's number; None: the next one.
            room: bytes it may hold before no new tenant is placed there.

        Raises:
            InvalidInput: the number is taken, the database is a cell already or has tenants and is not the
                first, or its embeddings are others than those of the other cells.
            SchemaMismatch: its schema is not this version's.
        """
        address = address_of(url)
        cell = self.at(address)
        dimensions = cell.require_current().dimensions
        facts = cell.facts()
        assert dimensions is not None  # require_current
        self.directory.install()
        others = self.directory.cells()
        _require_addable(address, number, others, dimensions)
        self._require_embedder(facts, others)
        known = next((entry.number for entry in others if entry.address == address), None)
        chosen = number if number is not None else max((entry.number for entry in others), default=-1) + 1
        chosen = chosen if known is None else known
        cell.join(chosen, self.directory.installation())
        self.directory.run(
            # Nobody is placed there before the directory has everybody who lives elsewhere.
            "INSERT INTO recall_cells.cell (number, address, room, bytes, dimensions, draining) "
            "VALUES (%(number)s, %(address)s, %(room)s, %(bytes)s, %(dimensions)s, %(later)s) "
            "ON CONFLICT (number) DO UPDATE SET room = coalesce(excluded.room, cell.room)",
            {
                "number": chosen,
                "address": address,
                "room": room,
                "bytes": facts.bytes,
                "dimensions": dimensions,
                "later": bool(others),
            },
        )
        self._check_residents()
        if known is None:
            self.drain(chosen, stop=True)
        return self.directory.cell(chosen)

    def _require_embedder(self, facts: CellFacts, others: tuple[CellEntry, ...]) -> None:
        for entry in others:
            theirs = self.cell(entry).facts().embedder
            if facts.embedder and theirs and facts.embedder != theirs:
                raise InvalidInput(
                    f"This database keeps embeddings of {facts.embedder}, cell {entry.number} of {theirs}.",
                    hint="All cells of an installation have one embedder: docs/howto/change-embedder.md.",
                )

    def _check_residents(self) -> None:
        """Registers every tenant where it has rows; with several cells, makes them refuse the others."""
        entries = self.directory.cells()
        for entry in entries if len(entries) > 1 else ():
            cell = self.cell(entry)
            if not cell.facts().checked:
                cell.check_residents()
            live = [tenant for tenant, (_, elsewhere) in cell.residents().items() if elsewhere is None]
            self.directory.place_all(live, entry.number)

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

    def check(self) -> Iterator[CellFinding]:
        """Checks every cell: version, sequences, and that each tenant lives where the directory says."""
        entries = self.directory.cells()
        if not entries:
            yield CellFinding(None, "warn", "There is no cell yet.", "pgrecall cell add URL")
        moving = {move.tenant for move in self.directory.moves()}
        for entry in entries:
            try:
                yield from self._check(entry, moving, alone=len(entries) == 1)
            except RecallError as error:
                yield CellFinding(entry.number, "fail", error.message, error.hint)
        for move in self.directory.moves():
            message = f"Tenant {move.tenant} moves from cell {move.source} to {move.target} ({move.step})."
            yield CellFinding(None, "warn", message, f"pgrecall tenant move {move.tenant} --to {move.target}")

    def _check(self, entry: CellEntry, moving: set[str], *, alone: bool) -> Iterator[CellFinding]:
        number, cell = entry.number, self.cell(entry)
        cell.require_current()
        facts = cell.facts()
        problems = []
        if facts.number != number or facts.installation != self.directory.installation():
            said = "The database says that it is not this cell."
            problems.append((said, "restore it, or: pgrecall cell remove"))
        if facts.outside:
            said = f"{facts.outside} sequences are not in the range of cell {number}."
            problems.append((said, "pgrecall upgrade, in this cell"))
        if not alone and not facts.checked:
            said = "It does not check who lives there."
            problems.append((said, "pgrecall cell add, again with its URL"))
        if not alone:
            placed = {place.tenant for place in self.directory.places() if place.cell == number}
            lives = {tenant for tenant, (_, elsewhere) in cell.residents().items() if elsewhere is None}
            for tenant in sorted(lives - placed - moving):
                said = f"Tenant {tenant} lives here, and the directory does not say so."
                problems.append((said, f"pgrecall tenant place {tenant} --cell {number}"))
        for message, fix in problems:
            yield CellFinding(number, "fail", message, fix)
        if not problems:
            said = f"{shown(entry.address)}, {entry.tenants} tenants, schema current."
            yield CellFinding(number, "ok", said)

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

    def remove(self, number: int) -> None:
        """Takes a cell without tenants out of the installation. The database stays as it is.

        Raises:
            InvalidInput: tenants live there, or a move to or from it is under way.
        """
        entry = self.directory.cell(number)
        if entry.tenants:
            raise InvalidInput(
                f"{entry.tenants} tenants live in cell {number}.",
                hint=f"Move them first: pgrecall cell drain {number}; pgrecall tenant move NAME --to CELL.",
            )
        if moves := [move for move in self.directory.moves() if number in (move.source, move.target)]:
            raise InvalidInput(
                f"The move of tenant {moves[0].tenant} uses cell {number}.",
                hint=f"Let it end: pgrecall tenant move {moves[0].tenant} --to {moves[0].target}.",
            )
        try:
            self.cell(entry).run("SELECT recall.leave_cells()")
        except DatabaseUnavailable as error:
            raise InvalidInput(
                f"Cell {number} does not answer, so it cannot be told that it is a cell no more.",
                hint="Start it, then remove it.",
            ) from error
        self.directory.run("DELETE FROM recall_cells.cell WHERE number = %(number)s", {"number": number})
        if len(left := self.directory.cells()) == 1:
            self.cell(left[0]).run("SELECT recall.check_residents(false)")

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
        for entry in self.directory.cells():
            url = self.directory.url_of(entry.address)
            roles.create(url, role, may=may, tenant=tenant, password=password, timeout=self._timeout)
        self._admit(tenant)
        self.directory.bind(role, tenant, password)

    def bind_role(self, role: str, tenant: str) -> bool:
        """Binds a role in every cell and in the directory. Returns whether that is a change anywhere."""
        changed = [
            roles.bind(self.directory.url_of(entry.address), role, tenant, timeout=self._timeout)
            for entry in self.directory.cells()
        ]
        self._admit(tenant)
        self.directory.bind(role, tenant, None)
        return any(changed)

    def _admit(self, tenant: str) -> None:
        """Places the tenant of a bound role and lets it live there: the role itself may not."""
        if tenant != ANY_TENANT:
            place = self.directory.place(tenant)
            query = "INSERT INTO recall.resident (tenant) VALUES (%(tenant)s) ON CONFLICT DO NOTHING"
            self.at(place.address).run(query, {"tenant": tenant})

    def unbind_role(self, role: str) -> bool:
        """Removes the bindings of a role everywhere; False if there was none."""
        urls = [self.directory.url_of(entry.address) for entry in self.directory.cells()]
        gone = [roles.unbind(url, role, timeout=self._timeout) for url in urls]
        there = self.directory.run("DELETE FROM recall_cells.binding WHERE role = %(role)s", {"role": role})
        return any(gone) or there > 0


def _require_addable(
    address: str, number: int | None, others: tuple[CellEntry, ...], dimensions: int
) -> None:
    for entry in others:
        if entry.address == address and number in (None, entry.number):
            return
        if entry.address == address or entry.number == number:
            raise InvalidInput(
                f"Cell {entry.number} is {shown(entry.address)} already.",
                hint="`pgrecall cell list` shows all.",
            )
        if entry.dimensions != dimensions:
            raise InvalidInput(
                f"This database keeps embeddings of {dimensions} dimensions, cell {entry.number} "
                f"of {entry.dimensions}.",
                hint=f"Make another database: pgrecall init --dimensions {entry.dimensions}.",
            )
