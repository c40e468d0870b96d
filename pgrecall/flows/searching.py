"""From a question to its answers."""

from __future__ import annotations

from pgrecall import operations
from pgrecall.encoding import Vector, require_searchable
from pgrecall.errors import DatabaseError, EmbedderError
from pgrecall.flows.base import Embed, Flow
from pgrecall.models import SearchRequest, SearchResult

READ_ONLY = "25006"
"""SQLSTATE of a write where none is allowed, as on a standby."""


def search(request: SearchRequest, *, embed: bool) -> Flow[SearchResult]:
    """Question without names, its vector, candidates and scores. Words answer when meaning cannot."""
    require_searchable(request)
    if not embed:
        return (yield from _answered(request, None, skipped="meaning: no embedder is configured"))
    question, names = yield operations.question_without_names(request.query)
    vectors = yield Embed((question,))
    if isinstance(vectors, EmbedderError):
        return (yield from _answered(request, None, skipped=f"meaning: {vectors}"))
    return (yield from _answered(request, vectors[0], names=names))


def _answered(
    request: SearchRequest, vector: Vector | None, *, names: tuple[str, ...] = (), skipped: str | None = None
) -> Flow[SearchResult]:
    """The hits, logged as shown where the request asks for it and the database can be written to."""
    steps = () if skipped is None else (skipped,)
    if not request.logged:
        hits = yield operations.search(request, vector)
        return SearchResult(hits, names, steps)
    try:
        hits = yield operations.search_and_log(request, vector)
    except DatabaseError as error:
        if error.sqlstate != READ_ONLY:
            raise
        hits = yield operations.search(request, vector)
        steps = (*steps, "log: the database is read-only, so it is not counted what was shown")
    return SearchResult(hits, names, steps)
