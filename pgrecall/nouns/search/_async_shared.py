"""One search of a tenant and of those that share with it, ranked together."""

from __future__ import annotations

from dataclasses import replace

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.reads import AsyncSearchReads
from pgrecall.errors import RecallError
from pgrecall.nouns.search._async import search
from pgrecall.nouns.search._async_log import log_hits
from pgrecall.nouns.search._async_run import SearchRun
from pgrecall.nouns.search.models import SearchRequest, SearchResult
from pgrecall.search.sharing import asked_of_others, merged


async def search_together(
    connection: AsyncConnection, request: SearchRequest, run: SearchRun | None = None
) -> SearchResult:
    """Searches the own tenant, then each that shares with it, and ranks their hits by their scores.

    Only hits of the own tenant are logged as shown. What a shared tenant cannot answer is skipped.
    """
    run = run or SearchRun(AsyncSearchReads(connection))
    result = await search(connection, replace(request, log=False), run)
    asked = asked_of_others(request, result)
    shared: dict[str, SearchResult | RecallError] = {}
    with run.timed("shared"):
        for tenant in connection.also_reads:
            try:
                there = await connection.at_shared(tenant)
                known = SearchRun(AsyncSearchReads(there), vectors=run.vectors)
                shared[tenant] = await search(there, asked, known)
            except RecallError as error:
                shared[tenant] = error
    run.timings["total"] += run.timings["shared"]
    result = merged(result, shared, request.k)
    if not request.logged:
        return result
    run.skipped = list(result.skipped)
    own = [hit for hit in result.hits if hit.tenant is None]
    search_id = await log_hits(connection, request, own, run)
    return replace(result, search_id=search_id, skipped=tuple(run.skipped))
