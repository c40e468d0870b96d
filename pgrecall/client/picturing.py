"""What pictures are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall import operations
from pgrecall.client.driver import Driver

if TYPE_CHECKING:
    from pgrecall.models.charts import AccessRecord, Neighbourhood, VitalityCounts, VitalityPoint


class Picturing(Driver):
    """Numbers to be drawn; each call is bounded, whatever is stored."""

    def accesses_of(self, memory: int | str, *, limit: int = 1000) -> tuple[AccessRecord, ...]:
        """The newest logged accesses of a memory, newest first, repeats and showings included.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: the limit is not one of 1 to 10,000.
        """
        return self._run(operations.charts.accesses_of(memory, limit))

    def vitality_histogram(
        self, bins: int = 20, *, now: datetime | None = None
    ) -> tuple[VitalityCounts, ...]:
        """How the vitality of live memories is distributed over 0 to 1 in each layer, by layer.

        Raises:
            InvalidInput: there are fewer than 2 or more than 200 bins.
        """
        return self._run(operations.charts.vitality_histogram(bins, now))

    def vitality_curve(
        self, memory: int | str, instants: Sequence[datetime], *, now: datetime | None = None
    ) -> tuple[VitalityPoint, ...]:
        """How alive a memory was at instants up to ``now``, and will be at later ones if it is not used.

        By the rates and settings of today, as in :meth:`vitality_as_of`; by instant, without those at which
        it did not exist yet.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: there are more than 2,000 instants.
        """
        return self._run(operations.charts.vitality_curve(memory, instants, now))

    def neighbourhood(
        self, memory: int | str, *, hops: int = 2, limit: int = 60, now: datetime | None = None
    ) -> Neighbourhood:
        """The live memories up to so many references away, whichever way they point, and all their links.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: ``hops`` is not one of 1 to 3, or ``limit`` not one of 2 to 500.
        """
        return self._run(operations.charts.neighbourhood(memory, hops, limit, now))
