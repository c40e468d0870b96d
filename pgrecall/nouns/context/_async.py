"""Building a block of context for a prompt from the memories that answer a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.reads import AsyncSearchReads
from pgrecall.errors import SchemaMismatch
from pgrecall.nouns.links.models import Derivation
from pgrecall.nouns.memories.operations import list_memories
from pgrecall.nouns.search._async import search
from pgrecall.nouns.search._async_log import log_hits
from pgrecall.nouns.search._async_run import SearchRun
from pgrecall.nouns.search._async_shared import search_together
from pgrecall.nouns.search.models import Hit, SearchRequest, SearchResult
from pgrecall.nouns.search.operations import derivations, similarities, successors

if TYPE_CHECKING:
    from pgrecall.nouns.context.models import ContextBlock, ContextRequest


async def build_context(
    connection: AsyncConnection, searched: SearchRequest, request: ContextRequest
) -> ContextBlock:
    """Searches, selects memories, and logs those in the block as shown."""
    from pgrecall.nouns.layers.operations import layers
    from pgrecall.search.context.request_checks import require_layers, require_valid_request, with_shares

    require_valid_request(request, searched.k)
    if request.per_layer:
        known = await connection.execute(layers())
        require_layers(request, frozenset(layer.name for layer in known))
    run = SearchRun(AsyncSearchReads(connection))
    find = search_together if connection.also_reads else search
    result = await find(connection, replace(searched, log=False), run)
    least = request.min_confidence
    if least is not None and result.confidence is not None and result.confidence < least:
        result = replace(result, hits=())
    searched = replace(searched, query=result.completed_query or searched.query)
    if result.plan is not None:
        from pgrecall.search.needs import context_with_plan

        request = context_with_plan(request, result.plan)
    request = with_shares(request, connection.resources.settings)
    block = await _chosen(connection, result, searched, request)
    if not searched.logged:
        return block
    run.skipped = list(block.skipped)
    own = [hit for hit in block.hits if hit.tenant is None]
    search_id = await log_hits(connection, searched, own, run)
    return replace(block, skipped=tuple(run.skipped), search_id=search_id)


async def _chosen(
    connection: AsyncConnection, result: SearchResult, searched: SearchRequest, request: ContextRequest
) -> ContextBlock:
    """Selects hits, by their similarities, successors and sources, and adds what changed lately."""
    from pgrecall.search.context.request_checks import MAX_CANDIDATES
    from pgrecall.search.context.selection import select_memories
    from pgrecall.search.context.similarity import fill_missing_similarities
    from pgrecall.search.context.state import READ, filter_of, lately_changed

    reading = AsyncSearchReads(connection, by_replica=result.staleness is not None)
    lately: tuple[Hit, ...] = ()
    if request.state_share:
        newest = await reading.execute(
            list_memories(filter_of(searched), order="newest", after=None, limit=READ, now=searched.now)
        )
        lately = lately_changed(newest, searched, result.hits)
    hits = tuple({hit.id: hit for hit in (*result.hits, *lately)}.values())
    ids = [hit.id for hit in hits if hit.tenant is None][:MAX_CANDIDATES]
    pairs = await reading.execute(similarities(ids)) if len(ids) > 1 else {}
    chained = searched.include_superseded or request.both_sides
    chains = await reading.execute(successors(ids)) if ids and chained else {}
    derived = await _derived(reading, ids) if ids else ()
    # Memories without a vector are compared by spelling, and so are those of different tenants.
    known, lettered = await connection.run(partial(fill_missing_similarities, pairs, hits))
    block = await connection.run(
        partial(
            select_memories,
            result.hits,
            request,
            similarities=known,
            successors=chains,
            derived=derived,
            lately=lately,
        )
    )
    skipped = [*result.skipped, *block.skipped]
    if lettered:
        skipped.append(
            f"similarity in meaning: {lettered} of {len(ids)} memories have no vector to compare, so their "
            "near-duplicates were found by spelling"
        )
    return replace(
        block,
        skipped=tuple(skipped),
        confidence=result.confidence,
        plan=result.plan,
        model_use=result.model_use,
    )


async def _derived(reading: AsyncSearchReads, ids: Sequence[int]) -> tuple[Derivation, ...]:
    """The sources of those that are summaries; a cell of an earlier version has none."""
    try:
        return await reading.execute(derivations(ids))
    except SchemaMismatch:
        return ()
