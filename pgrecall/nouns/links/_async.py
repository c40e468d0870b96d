"""The methods of a client that link memories, and replace one by another."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pgrecall.client._async.client import AsyncClient
from pgrecall.encoding import MAX_ID
from pgrecall.nouns.declared import Bounds, Count, declared
from pgrecall.nouns.links.models import StaleSummary


class AsyncLinks(AsyncClient):
    """The part of :class:`AsyncMemory` that links and supersedes memories."""

    @declared("link", "POST /v1/links", repeatable=True)
    async def link(
        self,
        source: int | str,
        target: int | str,
        relation: str = "links_to",
        *,
        weight: float = 1.0,
        now: datetime | None = None,
    ) -> bool:
        """Links two memories.

        >>> await memory.link("contract", "harbour", "mentions")                   # doctest: +SKIP

        Args:
            source: id or key of the memory the link starts from.
            target: id or key of the memory it points to.
            relation: one of links_to, next, mentions, part_of, implies, supports, contradicts,
                derived_from.
            weight: strength, above 0 and at most 100.
            now: time to use instead of the database's clock.

        Returns:
            Whether the link is new.

        Raises:
            MemoryNotFound, InvalidInput: unknown memory or relation, a self link, a weight out of its bounds.
        """
        from pgrecall.nouns.links.operations import link

        return await self._connection.execute(link(source, target, relation, weight, now))

    @declared("unlink", "DELETE /v1/links", repeatable=True)
    async def unlink(
        self,
        source: int | str,
        target: int | str,
        relation: str | None = None,
        *,
        now: datetime | None = None,
    ) -> int:
        """Removes links from one memory to another; one that is no longer superseded is found again.

        Searches of past times still use them.

        Args:
            source: id or key of the memory the links start from.
            target: id or key of the memory they point to.
            relation: only links with this relation; by default all but ``co_access``.
            now: time to use instead of the database's clock.

        Returns:
            How many links were removed.

        Raises:
            MemoryNotFound, InvalidInput: unknown memory or relation.
        """
        from pgrecall.nouns.links.operations import unlink

        return await self._connection.execute(unlink(source, target, relation, now))

    @declared("supersede", "POST /v1/supersede", repeatable=True)
    async def supersede(self, old: int | str, new: int | str, *, now: datetime | None = None) -> bool:
        """Replaces a memory by another; searches then omit the old one by default.

        >>> await memory.supersede("contract", "contract-2")                       # doctest: +SKIP

        Args:
            old: id or key of the memory that is replaced.
            new: id or key of the one that replaces it.
            now: time to use instead of the database's clock.

        Returns:
            Whether that is new.

        Raises:
            MemoryNotFound, InvalidInput: no such memory, or the two would replace each other.
        """
        from pgrecall.nouns.links.operations import supersede

        return await self._connection.execute(supersede(old, new, now))

    @declared("stale_summaries", "GET /v1/summaries/stale")
    async def stale_summaries(
        self, limit: Count = 100, *, after: Annotated[int, Bounds(0, MAX_ID)] = 0
    ) -> tuple[StaleSummary, ...]:
        """Lists the summaries whose sources have changed or were forgotten since.

        A summary has ``derived_from`` links to its sources. Its author should write it again.

        Args:
            limit: maximum number of summaries.
            after: the id of a summary; lists those with larger ids.

        Returns:
            The summaries by id, each with how many of its sources changed after it or were forgotten.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        from pgrecall.nouns.links.operations import stale_summaries

        return await self._connection.execute(stale_summaries(limit, after))
