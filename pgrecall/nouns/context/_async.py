"""Building a block of context for a prompt from the memories that answer a query."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.reads import AsyncSearchReads
from pgrecall.nouns.search._async import search
from pgrecall.nouns.search._async_log import log_hits
from pgrecall.nouns.search._async_progress import Progress
from pgrecall.nouns.search.models import SearchRequest, SearchResult
from pgrecall.nouns.search.operations import derivations, similarities, successors

if TYPE_CHECKING:
    from pgrecall.nouns.context.models import ContextBlock, ContextRequest


async def build_context(
    connection: AsyncConnection, searched: SearchRequest, request: ContextRequest
) -> ContextBlock:
    """Searches, selects memories, and logs those in the block as shown."""
    from pgrecall.nouns.context.models import MMR_LAMBDA, VARIED
    from pgrecall.nouns.layers.operations import layers
    from pgrecall.search.context.request_checks import require_layers, require_valid_request

    require_valid_request(request, searched.k)
    if request.per_layer:
        known = await connection.execute(layers())
        require_layers(request, frozenset(layer.name for layer in known))
    progress = Progress(AsyncSearchReads(connection))
    result = await search(connection, replace(searched, log=False), progress)
    least = request.min_confidence
    if least is not None and result.confidence is not None and result.confidence < least:
        result = replace(result, hits=())
    searched = replace(searched, query=result.completed_query or searched.query)
    if result.plan is not None and result.plan.wants == "list" and request.mmr_lambda == MMR_LAMBDA:
        request = replace(request, mmr_lambda=VARIED)
    block = await _chosen(connection, result, searched, request)
    if not searched.logged:
        return block
    progress.skipped = list(block.skipped)
    search_id = await log_hits(connection, searched, block.hits, progress)
    return replace(block, skipped=tuple(progress.skipped), search_id=search_id)


async def _chosen(
    connection: AsyncConnection, result: SearchResult, searched: SearchRequest, request: ContextRequest
) -> ContextBlock:
    """Selects hits for the block, by their similarities and successors."""
    from pgrecall.search.context.selection import select_memories
    from pgrecall.search.context.similarity import fill_missing_similarities

    ids = [hit.id for hit in result.hits]
    reading = AsyncSearchReads(connection, by_replica=result.staleness is not None)
    pairs = await reading.execute(similarities(ids)) if len(ids) > 1 else {}
    chains = await reading.execute(successors(ids)) if ids and searched.include_superseded else {}
    derived = await reading.execute(derivations(ids)) if ids else ()
    # Memories without a vector are compared by spelling.
    known, lettered = await connection.run(partial(fill_missing_similarities, pairs, result.hits))
    block = await connection.run(
        partial(select_memories, result.hits, request, similarities=known, successors=chains, derived=derived)
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
