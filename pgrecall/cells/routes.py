"""Routes to the cells of tenants: a cache that the directory fills."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from time import monotonic

from pgrecall.cells.directory import CellEntry, Directory, MoveEntry, Place
from pgrecall.errors import DatabaseUnavailable, RecallError

MAX_CACHED = 100_000
"""Maximum number of places to remember; more displace the oldest. A place takes about 300 bytes."""

REPLICA_KNOWN = 30.0
"""Seconds after which the directory is asked again which replica a cell has."""

REPLICA_DOUBTED = 5.0
"""The same while the replica fails: it may have been removed or replaced."""


PLACE_KNOWN = 30.0
"""Seconds after which the directory is asked again where a tenant lives."""

CELLS_KNOWN = 1.0
"""Seconds for which nobody who found nothing in the cells asks the directory for new ones."""

DIRECTORY_DOUBTED = 30.0
"""Seconds for which known places are used without asking, after the directory did not answer."""


class Routes:
    """Places of tenants, as the directory said. A cell refuses the tenants that have moved away from it.

    A cell that was restored to an earlier time does not, so places are read again from time to time.
    No cell refuses an outdated replica either. A thread reads replicas, so that no call waits for the
    directory, which may be down.
    """

    def __init__(self, directory: Directory, clock: Callable[[], float] = monotonic) -> None:
        self._directory = directory
        self._clock = clock
        self._places: dict[str, Place] = {}
        self._places_read: dict[str, float] = {}
        self._doubted_until = float("-inf")
        self._cells: dict[int, str] = {}
        self._cells_read = float("-inf")
        self._replicas: dict[int, str | None] = {}
        self._replicas_read: dict[int, float] = {}
        self._lock = Lock()

    def known(self, tenant: str) -> Place | None:
        """The place of a tenant, if it was looked up before."""
        return self._places.get(tenant)

    def current(self, tenant: str) -> Place | None:
        """The place of a tenant, if it needs no look at the directory: it was read a moment ago, or the
        directory does not answer."""
        place, now = self._places.get(tenant), self._clock()
        recent = now - self._places_read.get(tenant, float("-inf")) < PLACE_KNOWN
        return place if recent or now < self._doubted_until else None

    def confirmed(self, tenant: str) -> Place:
        """The place of a tenant as the directory says, or as it said before if it does not answer.

        Raises:
            DatabaseUnavailable: the directory cannot be reached, and the place is not known.
            DatabaseError: no cell has room, or this role may not ask for the tenant.
        """
        try:
            return self.find(tenant)
        except DatabaseUnavailable:
            if (known := self.known(tenant)) is None:
                raise
            return known

    def find(self, tenant: str) -> Place:
        """The place of a tenant from the directory, which places a new one.

        Raises:
            DatabaseUnavailable: the directory cannot be reached.
            DatabaseError: no cell has room, or this role may not ask for the tenant.
        """
        return self.look(tenant) or self._keep(self._directory.place(tenant))

    def look(self, tenant: str) -> Place | None:
        """The place of a tenant from the directory; None if it has none.

        Raises:
            DatabaseUnavailable: the directory cannot be reached.
        """
        try:
            place = self._directory.find(tenant)
        except DatabaseUnavailable:
            self._doubted_until = self._clock() + DIRECTORY_DOUBTED
            raise
        return None if place is None else self._keep(place)

    def _keep(self, place: Place) -> Place:
        tenant, now = place.tenant, self._clock()
        with self._lock:
            before = self._places.get(tenant)
            if before is None or before.version <= place.version:
                self._places[tenant] = place
            self._places_read[tenant] = self._replicas_read[place.cell] = now
            self._replicas[place.cell] = place.replica
            while len(self._places) > MAX_CACHED:
                oldest = next(iter(self._places))
                del self._places[oldest]
                self._places_read.pop(oldest, None)
        return self._places.get(tenant, place)

    def replica(self, cell: int, *, failed: bool = False) -> str | None:
        """The address of a standby of a cell, as last read; None if it has none.

        Args:
            failed: it did not answer, so the directory is asked sooner.
        """
        age = self._clock() - self._replicas_read.get(cell, float("-inf"))
        if age > (REPLICA_DOUBTED if failed else REPLICA_KNOWN):
            self._replicas_read[cell] = self._clock()
            Thread(target=self._read_replica, args=[cell], daemon=True).start()
        return self._replicas.get(cell)

    def _read_replica(self, cell: int) -> None:
        with suppress(RecallError):  # what is known goes on, and it is asked again later
            self._replicas[cell] = self._directory.replica(cell)

    def url_of(self, address: str) -> str:
        """The connection string of a cell for this client."""
        return self._directory.url_of(address)

    def cells(self) -> dict[int, str]:
        """The address of every cell by number; those known from before if the directory cannot be reached."""
        self._cells_read = self._clock()
        try:
            self._cells = self._directory.addresses()
        except DatabaseUnavailable:
            if not self._cells:
                raise
        return self._cells

    def overview(self) -> tuple[tuple[CellEntry, ...], tuple[MoveEntry, ...]]:
        """Every cell, and the moves under way, for a role that may act for any tenant."""
        return self._directory.cells(), self._directory.moves()

    def known_cells(self, *, newest: bool = False) -> dict[int, str]:
        """The address of every cell as last read; reads them if that was never.

        Args:
            newest: reads them also if that was more than a moment ago: one may have been added.
        """
        old = newest and self._clock() - self._cells_read > CELLS_KNOWN
        return self.cells() if old or not self._cells else self._cells
