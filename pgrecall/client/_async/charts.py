"""``memory.charts`` and ``memory.history``: numbers to draw, and the past of memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.operations import charts

if TYPE_CHECKING:
    from pgrecall.models.charts import (
        AccessRecord,
        Neighbourhood,
        Overview,
        OverviewList,
        VitalityCounts,
        VitalityPoint,
        ZoneShare,
    )
    from pgrecall.models.maintenance import LayerStatus
    from pgrecall.models.memories import VitalityTerms


class AsyncChartsGroup(AsyncGroup):
    """Numbers to draw. Each call is bounded, whatever is stored."""

    async def accesses(self, memory: int | str, *, limit: int = 1000) -> tuple[AccessRecord, ...]:
        """Lists the newest logged accesses of a memory, newest first, repeats and showings included.

        Args:
            memory: its id or key.
            limit: accesses at most, 1 to 10,000.

        Returns:
            Each access with its time, kind, weight (0.1 or 1) and session.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(charts.accesses_of(memory, limit))

    async def vitality_histogram(
        self, bins: int = 20, *, now: datetime | None = None
    ) -> tuple[VitalityCounts, ...]:
        """Counts live memories by vitality, for each layer.

        Args:
            bins: equal parts of 0 to 1, 2 to 200.
            now: time to use instead of the database's clock.

        Returns:
            For each layer the number of memories in each bin, from 0 to 1.

        Raises:
            InvalidInput: ``bins`` is out of its bounds.
        """
        return await self._connection.execute(charts.vitality_histogram(bins, now))

    async def vitality_curve(
        self, memory: int | str, instants: Sequence[datetime], *, now: datetime | None = None
    ) -> tuple[VitalityPoint, ...]:
        """Computes the vitality of a memory at past instants, and at future ones if it is not used again.

        The rates and settings of today apply, as in :meth:`AsyncHistoryGroup.vitality`.

        Args:
            memory: its id or key.
            instants: at most 2,000; those before the memory existed are left out of the result.
            now: time to use instead of the database's clock.

        Returns:
            Vitality and retention (0 to 1) and the zone at each instant, in order.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: there are too many instants.
        """
        return await self._connection.execute(charts.vitality_curve(memory, instants, now))

    async def neighbourhood(
        self, memory: int | str, *, hops: int = 2, limit: int = 60, now: datetime | None = None
    ) -> Neighbourhood:
        """Reads the live memories around one, and all links between them.

        Args:
            memory: its id or key.
            hops: links away at most, in either direction, 1 to 3.
            limit: memories at most, 2 to 500.
            now: time to use instead of the database's clock.

        Returns:
            The memories with their distance in links, and the links.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: a number is out of its bounds.
        """
        return await self._connection.execute(charts.neighbourhood(memory, hops, limit, now))

    async def overview(
        self,
        lists: Sequence[OverviewList] = charts.OVERVIEW_LISTS,
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
            lists: which lists; none for only the layers.
            layer: memories of this layer only.
            limit: memories in each list, 1 to 200.
            offset: how many of each list to skip, at most 100,000.
            bins: equal parts of 0 to 1 that the histogram counts in, 2 to 200.
            now: time to use instead of the database's clock.

        Returns:
            Zones and a histogram of vitality for each layer, and the lists.

        Raises:
            InvalidInput: a list or the layer is unknown, or a number is out of its bounds.
        """
        request = charts.OverviewRequest(lists, layer, limit, offset, bins, now)
        return await self._connection.execute(charts.overview(request))

    async def zones_over_time(
        self, instants: Sequence[datetime], *, sample: int = 1000
    ) -> tuple[ZoneShare, ...]:
        """Estimates how many memories each layer held in each zone at past instants.

        Looks at the same ``sample`` memories each time; exact where there are no more than that, else within
        a share of 1 / sqrt(sample) of all memories, nineteen times in twenty. :meth:`AsyncHistoryGroup.zones`
        looks at all.

        Args:
            instants: at most 100.
            sample: memories to look at, 100 to 100,000.

        Returns:
            For each instant and layer, the number of memories in each zone.

        Raises:
            InvalidInput: there are too many instants, or the sample is out of its bounds.
        """
        return await self._connection.execute(charts.zones_over_time(instants, sample))


class AsyncHistoryGroup(AsyncGroup):
    """The past, computed from the access log by the rates and settings of today."""

    async def vitality(self, memory: int | str, at: datetime) -> VitalityTerms:
        """Computes every term of a memory's vitality at a past instant.

        Args:
            memory: its id or key.
            at: the instant.

        Returns:
            The terms of its vitality, and its zone.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: it did not exist then.
        """
        return await self._connection.execute(charts.vitality_as_of(memory, at))

    async def zones(self, at: datetime) -> tuple[LayerStatus, ...]:
        """Counts how many live memories each layer held in each zone at a past instant.

        Args:
            at: the instant.

        Returns:
            Counts of all layers.
        """
        return await self._connection.execute(charts.zones_as_of(at))
