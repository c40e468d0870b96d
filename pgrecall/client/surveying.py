"""All memories of a tenant at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall import operations
from pgrecall.client.driver import Driver

if TYPE_CHECKING:
    from pgrecall.models.overview import Overview, OverviewList, ZoneShare

LISTS: Sequence[OverviewList] = ("alive", "leaving", "unused")
"""All there are."""


class Surveying(Driver):
    """What a tenant holds, without reading it all."""

    def overview(
        self,
        lists: Sequence[OverviewList] = LISTS,
        *,
        layer: str | None = None,
        limit: int = 10,
        offset: int = 0,
        bins: int = 20,
        now: datetime | None = None,
    ) -> Overview:
        """How lively the live memories are: zones and a histogram of each layer, and lists of a few of them.

        It takes one pass over all of them, some five microseconds each.

        Args:
            lists: which lists; none for the layers alone.
            layer: memories of this layer only.
            limit: memories in each list, 1 to 200.
            offset: how many of each list come before these, at most 100,000.
            bins: equal parts of 0 to 1 that the histogram counts in, 2 to 200.

        Raises:
            InvalidInput: a list or the layer is unknown, or a number is out of its bounds.
        """
        request = operations.overview.OverviewRequest(lists, layer, limit, offset, bins, now)
        return self._run(operations.overview.overview(request))

    def zones_over_time(self, instants: Sequence[datetime], *, sample: int = 1000) -> tuple[ZoneShare, ...]:
        """How many memories each layer held in each zone at these instants, from ``sample`` memories at most.

        Always the same ones, each counted for as many as it stands for: exact where there are no more, else
        nineteen times in twenty within a share of 1 / sqrt(sample) of all. :meth:`zones_as_of` looks at all.

        Raises:
            InvalidInput: there are more than 100 instants, or the sample is not one of 100 to 100,000.
        """
        return self._run(operations.overview.zones_over_time(instants, sample))
