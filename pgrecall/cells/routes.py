"""Where tenants live: what a client asks, from a cache that the directory fills."""

from __future__ import annotations

from threading import Lock

from pgrecall.cells.directory import CellEntry, Directory, MoveEntry, Place
from pgrecall.errors import DatabaseUnavailable

LARGEST_CACHE = 100_000
"""Places remembered; beyond, the oldest is forgotten. One is about 300 bytes."""


class Routes:
    """Places of tenants. What is known stays valid until the cell itself refuses the tenant."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._places: dict[str, Place] = {}
        self._cells: dict[int, str] = {}
        self._lock = Lock()

    def known(self, tenant: str) -> Place | None:
        """The place of a tenant, if it was looked up before."""
        return self._places.get(tenant)

    def find(self, tenant: str) -> Place:
        """The place of a tenant from the directory, which places a new one.

        Raises:
            DatabaseUnavailable: the directory cannot be reached.
            DatabaseError: no cell has room, or this role may not ask for the tenant.
        """
        place = self._directory.find(tenant) or self._directory.place(tenant)
        with self._lock:
            before = self._places.get(tenant)
            if before is None or before.version <= place.version:
                self._places[tenant] = place
            while len(self._places) > LARGEST_CACHE:
                del self._places[next(iter(self._places))]
        return self._places.get(tenant, place)

    def url_of(self, address: str) -> str:
        """The connection string of a cell for this client."""
        return self._directory.url_of(address)

    def cells(self) -> dict[int, str]:
        """The address of every cell by number; those known from before if the directory cannot be reached."""
        try:
            self._cells = self._directory.addresses()
        except DatabaseUnavailable:
            if not self._cells:
                raise
        return self._cells

    def overview(self) -> tuple[tuple[CellEntry, ...], tuple[MoveEntry, ...]]:
        """Every cell, and the moves under way, for a role that may act for any tenant."""
        return self._directory.cells(), self._directory.moves()

    def known_cells(self) -> dict[int, str]:
        """The address of every cell as last read; reads them if that was never."""
        return self._cells or self.cells()
