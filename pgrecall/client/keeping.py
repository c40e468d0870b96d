"""The upkeep of a tenant's memory, and its state."""

from __future__ import annotations

from datetime import datetime

from pgrecall import flows, operations
from pgrecall.client.driver import Driver
from pgrecall.models import GraphReport, Status


class Keeping(Driver):
    """What keeps the memory of a tenant in order."""

    def refresh_statistics(self, *, now: datetime | None = None) -> int:
        """Recounts how rare each word is and how lively each layer is by its median.

        Imports do it at their end. Returns how many memories were counted.
        """
        return self._run(operations.refresh_statistics(now))

    def refresh_graph(self) -> GraphReport:
        """Finds the memories that alone hold parts of the link graph together, and protects them.

        Imports do it at their end. Protection keeps a memory out of the archived zone; it never ranks.
        """
        return self._drive(flows.refresh_graph())

    def status(self, *, now: datetime | None = None) -> Status:
        """What this tenant holds, zone by zone, and the database it lives in."""
        return self._with_server(self._run(operations.status(now)))
