"""The upkeep of a tenant's memory, its past and its state."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall import operations, workflows
from pgrecall.client.driver import Driver
from pgrecall.jobs.status import full_status

if TYPE_CHECKING:
    from pgrecall.models.maintenance import Check, GraphReport, LayerStatus, Status
    from pgrecall.models.memories import VitalityTerms


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
        return self._drive(workflows.refresh_graph())

    def pin(self, memory: int | str, pinned: bool = True, *, now: datetime | None = None) -> bool:
        """Keeps a memory out of every prune plan, or no longer; True when that is a change.

        Raises:
            MemoryNotFound: there is none in this tenant.
        """
        return self._run(operations.maintenance.pin(memory, pinned, now))

    def fold(self) -> int:
        """Folds what searches have logged into activations, as the worker does; returns how many searches."""
        return self._drive(workflows.fold())

    def rebuild(self, memories: Sequence[int | str] | None = None) -> int:
        """Computes what is kept of these memories, or of all, anew from the log.

        Returns how many were not what the log says: 0 for a database in order.

        Raises:
            MemoryNotFound: one of them is not in this tenant.
        """
        return self._run(operations.maintenance.rebuild(memories))

    def verify(self, *, now: datetime | None = None) -> tuple[Check, ...]:
        """What must hold of this tenant's data; each check counts what breaks it. Changes nothing."""
        return self._run(operations.maintenance.verify(now))

    def vitality_as_of(self, memory: int | str, at: datetime) -> VitalityTerms:
        """A memory's vitality at a past instant, from the log, by the rates and settings of today.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: it did not exist then.
        """
        return self._run(operations.maintenance.vitality_as_of(memory, at))

    def zones_as_of(self, at: datetime) -> tuple[LayerStatus, ...]:
        """How many memories each layer held in each zone at a past instant, those archived then left out."""
        return self._run(operations.maintenance.zones_as_of(at))

    def status(self, *, now: datetime | None = None) -> Status:
        """What this tenant holds and how it fares, where its jobs stand, and the database it lives in."""
        return self._drive(full_status(now, self._revision))
