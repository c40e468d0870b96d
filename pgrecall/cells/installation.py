"""The databases of an installation with cells: its directory, and each cell."""

from __future__ import annotations

from pgrecall.cells.cell import Cell
from pgrecall.cells.directory import CellEntry, Directory


class Installation:
    """The directory of an installation, and its cells.

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
