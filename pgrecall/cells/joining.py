"""Adding a database to an installation as a cell, and removing it."""

from __future__ import annotations

from pgrecall.cells.addresses import address_of, shown
from pgrecall.cells.cell import CellFacts
from pgrecall.cells.directory import CellEntry
from pgrecall.cells.installation import Installation
from pgrecall.errors import DatabaseUnavailable, InvalidInput


def add(
    installation: Installation, url: str, *, number: int | None = None, room: int | None = None
) -> CellEntry:
    """Adds a database as a cell; the first one creates the directory. Repeating it is harmless.

    From the second cell on, every cell refuses tenants that do not live there.

    Args:
        url: the database, as clients reach it.
        number: the cell's number; None: the next one.
        room: size in bytes from which no new tenant is placed there.

    Raises:
        InvalidInput: the number is taken, the database is a cell already or has tenants and is not the
            first, or its embeddings differ from those of the other cells.
        SchemaMismatch: its schema is not this version's.
    """
    address = address_of(url)
    cell = installation.at(address)
    dimensions = cell.require_current().dimensions
    facts = cell.facts()
    assert dimensions is not None  # require_current
    installation.directory.install()
    others = installation.directory.cells()
    _require_addable(address, number, others, dimensions)
    _require_embedder(installation, facts, others)
    known = next((entry.number for entry in others if entry.address == address), None)
    chosen = number if number is not None else max((entry.number for entry in others), default=-1) + 1
    chosen = chosen if known is None else known
    cell.join(chosen, installation.directory.installation())
    installation.directory.run(
        # The cell gets no tenants until the directory knows those of all cells.
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
    _check_residents(installation)
    if known is None:
        installation.drain(chosen, stop=True)
    return installation.directory.cell(chosen)


def _require_embedder(installation: Installation, facts: CellFacts, others: tuple[CellEntry, ...]) -> None:
    for entry in others:
        theirs = installation.cell(entry).facts().embedder
        if facts.embedder and theirs and facts.embedder != theirs:
            raise InvalidInput(
                f"This database keeps embeddings of {facts.embedder}, cell {entry.number} of {theirs}.",
                hint="All cells of an installation need the same embedder: docs/howto/models.md.",
            )


def _check_residents(installation: Installation) -> None:
    """Registers every tenant where it has rows; with several cells, makes them refuse the others."""
    entries = installation.directory.cells()
    for entry in entries:
        cell = installation.cell(entry)
        if len(entries) == 1:
            installation.directory.place_all(cell.known_tenants(), entry.number)
            return
        if not cell.facts().checked:
            cell.check_residents()
        live = [tenant for tenant, (_, elsewhere) in cell.residents().items() if elsewhere is None]
        installation.directory.place_all(live, entry.number)


def remove(installation: Installation, number: int) -> None:
    """Takes a cell out of the installation. The database stays as it is.

    Raises:
        InvalidInput: tenants live there and it is not the only cell, or a move to or from it is under way.
    """
    entry = installation.directory.cell(number)
    if entry.tenants and len(installation.directory.cells()) > 1:
        raise InvalidInput(
            f"Cell {number} still has tenants: {entry.tenants:,}.",
            hint=f"Move them first: pgrecall cell drain {number}; pgrecall tenant move NAME --to CELL.",
        )
    if moves := [move for move in installation.directory.moves() if number in (move.source, move.target)]:
        raise InvalidInput(
            f"The move of tenant {moves[0].tenant} uses cell {number}.",
            hint=f"Finish it: pgrecall tenant move {moves[0].tenant} --to {moves[0].target}.",
        )
    try:
        installation.cell(entry).run("SELECT recall_private.leave_cells()")
    except DatabaseUnavailable as error:
        raise InvalidInput(
            f"Cell {number} does not answer, so it would still believe that it is a cell.",
            hint="Start its server, then remove it.",
        ) from error
    for table, column in (("place", "cell"), ("cell", "number")):
        statement = f"DELETE FROM recall_cells.{table} WHERE {column} = %(number)s"
        installation.directory.run(statement, {"number": number})
    if len(left := installation.directory.cells()) == 1:
        installation.cell(left[0]).run("SELECT recall_private.check_residents(false)")


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
                hint=f"Create another database: pgrecall init --dimensions {entry.dimensions}.",
            )
