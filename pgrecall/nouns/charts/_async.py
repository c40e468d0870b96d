"""``memory.charts``: data of charts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.charts import operations

if TYPE_CHECKING:
    from pgrecall.nouns.charts.models import (
        AccessRecord,
        Neighbourhood,
        Overview,
        OverviewList,
        VitalityCounts,
        VitalityPoint,
        ZoneShare,
    )


class AsyncChartsGroup(AsyncGroup):
    """Data of charts. The cost and the result of each call are bounded."""

    async def accesses(self, memory: int | str, *, limit: int = 1000) -> tuple[AccessRecord, ...]:
        """Lists the newest logged accesses of a memory, newest first, including repeats and showings.

        Args:
            memory: its id or key.
            limit: maximum number of accesses, 1 to 10,000.

        Returns:
            Each access with its time, kind, weight (0.1 or 1) and session.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(operations.accesses_of(memory, limit))

    async def vitality_histogram(
        self, bins: int = 20, *, now: datetime | None = None
    ) -> tuple[VitalityCounts, ...]:
        """Counts live memories by vitality, for each layer.

        Args:
            bins: number of equal bins from 0 to 1, 2 to 200.
            now: time to use instead of the database's clock.

        Returns:
            For each layer the number of memories in each bin, from 0 to 1.

        Raises:
            InvalidInput: ``bins`` is out of its bounds.
        """
        return await self._connection.execute(operations.vitality_histogram(bins, now))

    async def vitality_curve(
        self, memory: int | str, instants: Sequence[datetime], *, now: datetime | None = None
    ) -> tuple[VitalityPoint, ...]:
        """Computes the vitality of a memory at past times, and at future times if it is not used again.

        The rates and settings of today apply, as in :meth:`AsyncHistoryGroup.vitality`.

        Args:
            memory: its id or key.
            instants: the times, at most 2,000; those before the memory existed are omitted.
            now: time to use instead of the database's clock.

        Returns:
            Vitality and retention (0 to 1) and the zone at each time, in order.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: there are too many instants.
        """
        return await self._connection.execute(operations.vitality_curve(memory, instants, now))

    async def neighbourhood(
        self, memory: int | str, *, hops: int = 2, limit: int = 60, now: datetime | None = None
    ) -> Neighbourhood:
        """Reads the live memories around one, and all links between them.

        Args:
            memory: its id or key.
            hops: maximum distance in links, in either direction, 1 to 3.
            limit: maximum number of memories, 2 to 500.
            now: time to use instead of the database's clock.

        Returns:
            The memories with their distance in links, and the links.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: a number is out of its bounds.
        """
        return await self._connection.execute(operations.neighbourhood(memory, hops, limit, now))

    async def overview(
        self,
        lists: Sequence[OverviewList] = operations.OVERVIEW_LISTS,
        *,
        layer: str | None = None,
        limit: int = 10,
        offset: int = 0,
        bins: int = 20,
        now: datetime | None = None,
    ) -> Overview:
        """Counts live memories by zone and vitality for each layer, and lists a few of them.

        Takes one pass over all memories, about five microseconds each.

        Args:
            lists: the lists to return; empty for the layers only.
            layer: only memories of this layer.
            limit: maximum number of memories in each list, 1 to 200.
            offset: number of memories to skip in each list, at most 100,000.
            bins: number of equal bins of the histogram from 0 to 1, 2 to 200.
            now: time to use instead of the database's clock.

        Returns:
            Zones and a histogram of vitality for each layer, and the lists.

        Raises:
            InvalidInput: a list or the layer is unknown, or a number is out of its bounds.
        """
        request = operations.OverviewRequest(lists, layer, limit, offset, bins, now)
        return await self._connection.execute(operations.overview(request))

    async def zones_over_time(
        self, instants: Sequence[datetime], *, sample: int = 1000
    ) -> tuple[ZoneShare, ...]:
        """Estimates how many memories each layer had in each zone at past times.

        Computes a sample of the memories, the same at each time. The result is exact if all memories fit into
        the sample; otherwise its error is at most 1 / sqrt(sample) of all memories in 95 % of cases.
        :meth:`AsyncHistoryGroup.zones` reads all memories.

        Args:
            instants: the times, at most 100.
            sample: number of memories in the sample, 100 to 100,000.

        Returns:
            For each time and layer, the number of memories in each zone.

        Raises:
            InvalidInput: there are too many instants, or the sample is out of its bounds.
        """
        return await self._connection.execute(operations.zones_over_time(instants, sample))
