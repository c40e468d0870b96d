"""The databases that a client has opened: one, or with cells one for each cell that was used."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from pgrecall.client._async.replica import AsyncReplica
from pgrecall.client.concurrency import AsyncLock, async_run
from pgrecall.client.freshness import Freshness
from pgrecall.client.outages import Outages
from pgrecall.client.resources import Resources
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.errors import InvalidInput, RecallError

MAX_KEYS = 10_000
"""Keys of which a client remembers the cell."""


@dataclass(slots=True)
class AsyncDatabases:
    """The databases that a client has opened, shared with its views.

    ``single`` is the only one without cells. ``cells`` has one for each cell that was used, by address;
    ``holders`` the address where something was found that names no tenant, such as a key. ``replicas`` has
    each standby that was used, by its URL. ``outages`` knows which cells do not answer.
    ``unusable`` has the functions of each cell of another version that cannot be called, with the reasons;
    ``outdated`` the addresses of cells for which that may have changed.
    """

    outages: Outages
    single: AsyncDatabase | None = None
    cells: dict[str, AsyncDatabase] = field(default_factory=dict)
    holders: dict[object, str] = field(default_factory=dict)
    replicas: dict[str, AsyncReplica] = field(default_factory=dict)
    closed: bool = False
    lock: AsyncLock = field(default_factory=AsyncLock)
    opening: dict[str, AsyncLock] = field(default_factory=dict)
    unusable: dict[str, dict[str, str]] = field(default_factory=dict)
    outdated: set[str] = field(default_factory=set)

    async def at(
        self, cell: int, address: str, resources: Resources, *, even_if_down: bool = False
    ) -> AsyncDatabase:
        """The database of a cell, checked and opened at the first use.

        Args:
            even_if_down: also if it has just failed to answer.
        """
        if self.closed:
            raise InvalidInput("This client is closed.", hint="Open a new one.")
        if not even_if_down:
            self.outages.raise_if_resting(address)
        if address not in self.cells or address in self.outdated:
            # A lock for each, so that one that is down keeps no other waiting.
            async with self.opening.setdefault(address, AsyncLock()):
                if address not in self.cells or address in self.outdated:
                    await self._open(cell, address, resources)
        return self.cells[address]

    async def _open(self, cell: int, address: str, resources: Resources) -> None:
        url = resources.url_of_cell(address)
        try:
            unusable = await async_run(partial(resources.check_cell, url))
        except RecallError as error:
            raise self.outages.note_error(cell, address, error) from error
        self.outages.note_answer(address)
        self.outdated.discard(address)
        calls = self.unusable.setdefault(address, {})
        calls.clear()
        calls.update(unusable)
        if address not in self.cells:
            self.cells[address] = AsyncDatabase(url, unusable=calls, **resources.limits_of_cell())

    async def replica_at(self, url: str, resources: Resources) -> AsyncReplica:
        """The replica at a URL; it is asked nothing before its first search."""
        async with self.lock:
            if url not in self.replicas:
                self.replicas[url] = AsyncReplica(url, resources, Freshness(resources.settings.replica_lag))
            return self.replicas[url]

    def pool_stats(self) -> dict[str, int]:
        """Statistics of the connection pools together; empty before the first use."""
        databases = [*self.cells.values(), *([self.single] if self.single is not None else [])]
        stats: dict[str, int] = {}
        for database in databases:
            for name, number in database.stats().items():
                stats[name] = stats.get(name, 0) + number
        return stats

    def remember_holder(self, name: object, address: str) -> None:
        """Keeps in which cell something was found."""
        if name is not None:
            if len(self.holders) >= MAX_KEYS:
                self.holders.clear()
            self.holders[name] = address

    async def close(self) -> None:
        """Closes all of them."""
        for replica in self.replicas.values():
            await replica.close()
        if self.single is not None:
            await self.single.close()
        self.closed = True
        for database in self.cells.values():
            await database.close()
