"""From a question to its answers."""

from __future__ import annotations

from pgrecall import operations
from pgrecall.encoding import require_searchable
from pgrecall.errors import EmbedderError
from pgrecall.flows.base import Embed, Flow
from pgrecall.models import SearchRequest, SearchResult


def search(request: SearchRequest, *, embed: bool) -> Flow[SearchResult]:
    """Question without names, its vector, candidates and scores. Words answer when meaning cannot."""
    require_searchable(request)
    if not embed:
        hits = yield operations.search(request, None)
        return SearchResult(hits, skipped=("meaning: no embedder is configured",))
    question, names = yield operations.question_without_names(request.query)
    vectors = yield Embed((question,))
    if isinstance(vectors, EmbedderError):
        hits = yield operations.search(request, None)
        return SearchResult(hits, skipped=(f"meaning: {vectors}",))
    hits = yield operations.search(request, vectors[0])
    return SearchResult(hits, names=names)
