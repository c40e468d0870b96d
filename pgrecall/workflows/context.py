"""From a question to a block of text for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pgrecall.models.context import ContextBlock, ContextRequest
from pgrecall.models.search import Hit, SearchRequest, SearchResult
from pgrecall.operations import context as composing
from pgrecall.operations.layers import layers
from pgrecall.search.context.selection import (
    Successors,
    require_layers,
    require_valid_request,
    select_memories,
)
from pgrecall.search.context.similarity import Pairs, fill_missing_similarities
from pgrecall.workflows.base import Aside, Flow
from pgrecall.workflows.search import Abilities, logged, search


def context(question: SearchRequest, request: ContextRequest, abilities: Abilities) -> Flow[ContextBlock]:
    """Searches, chooses, and logs what is in the block: what was only weighed was not shown."""
    require_valid_request(request, question.k)
    if request.per_layer:
        require_layers(request, frozenset(layer.name for layer in (yield layers())))
    result = yield from search(replace(question, log=False), abilities)
    block = yield from _composed(result, question, request)
    if not question.logged:
        return block
    skipped = list(block.skipped)
    search_id = yield from logged(question, block.hits, skipped.append)
    return replace(block, skipped=tuple(skipped), search_id=search_id)


def _composed(result: SearchResult, question: SearchRequest, request: ContextRequest) -> Flow[ContextBlock]:
    """The block these hits make, once it is known how alike they are and which replace which."""
    ids = [hit.id for hit in result.hits]
    known = (yield composing.similarities(ids)) if len(ids) > 1 else {}
    chains = (yield composing.successors(ids)) if ids and question.include_superseded else {}
    chosen: tuple[ContextBlock, int] = yield Aside(partial(_chosen, result.hits, request, known, chains))
    block, lettered = chosen
    skipped = [*result.skipped, *block.skipped]
    if lettered:
        skipped.append(
            f"likeness in meaning: {lettered} of {len(ids)} memories have no vector to compare, so their "
            "near-duplicates are told by their letters"
        )
    return replace(block, skipped=tuple(skipped))


def _chosen(
    hits: Sequence[Hit],
    request: ContextRequest,
    known: Pairs,
    chains: Successors,
) -> tuple[ContextBlock, int]:
    """The block, and of how many memories the likeness had to be told by their letters."""
    similarities, lettered = fill_missing_similarities(known, hits)
    return select_memories(hits, request, similarities=similarities, successors=chains), lettered
