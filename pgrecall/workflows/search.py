"""From a question to its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TypeVar

from pgrecall import operations
from pgrecall.encoding import Vector, require_searchable
from pgrecall.errors import DatabaseError, EmbedderError
from pgrecall.models.search import Found, Hit, SearchRequest, SearchResult
from pgrecall.operations import context
from pgrecall.search.rerank.blending import blended, most_relevant, text_to_read
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome
from pgrecall.workflows.base import Embed, Flow, Rerank

UNLOGGED = {
    "25006": "log: the database is read-only, so it is not counted what was shown",
    "53100": "log: the disk of Postgres is full, so it is not counted what was shown",
}
"""Why a search answers without being logged, by the SQLSTATE of the write: a standby, a full disk."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the driver can do for a search: embed, and rerank so many pairs with the model of this name,
    within so many seconds (None: without a limit) where a request sets no deadline."""

    embeds: bool
    reranker: str | None = None
    pairs: int = 50
    deadline: float | None = None


@dataclass(slots=True)
class _Progress:
    """What a search has learnt on its way beside its hits."""

    names: tuple[str, ...] = ()
    skipped: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)

    def timed(self, phase: str, began: float) -> None:
        self.timings[phase] = self.timings.get(phase, 0.0) + 1000 * (perf_counter() - began)

    def result(self, found: Found, hits: tuple[Hit, ...], *, reranked: bool = False) -> SearchResult:
        self.timed("total", self.started)
        return SearchResult(
            hits,
            self.names,
            (*self.skipped, *found.skipped),
            found.search_id,
            found.arms,
            reranked,
            self.timings,
        )


def search(request: SearchRequest, abilities: Abilities) -> Flow[SearchResult]:
    """Questions without names, their vectors, candidates and scores; then what the reranker says of them.

    Words answer when meaning cannot, and the fused order stands when the reranker fails.
    """
    require_searchable(request)
    progress = _Progress()
    vectors = yield from _vectors(request, abilities, progress)
    if not request.rerank:
        found = yield from _answered(request, vectors, progress)
        return progress.result(found, found.hits)
    if abilities.reranker is None:
        progress.skipped.append("reranking: no reranker is configured")
        found = yield from _answered(request, vectors, progress)
        return progress.result(found, found.hits)
    return (yield from _reranked(request, vectors, abilities, progress))


def _vectors(request: SearchRequest, abilities: Abilities, progress: _Progress) -> Flow[list[Vector] | None]:
    """One vector for each question, of what it asks without the names in it; None where words have to do."""
    if not request.asked:
        return None
    if not abilities.embeds:
        progress.skipped.append("meaning: no embedder is configured")
        return None
    began = perf_counter()
    questions = yield operations.questions_without_names(request.asked)
    progress.timed("names", began)
    progress.names = tuple(dict.fromkeys(name for _, names in questions for name in names))
    began = perf_counter()
    vectors: list[Vector] | EmbedderError = yield Embed(tuple(question for question, _ in questions))
    progress.timed("embedding", began)
    if isinstance(vectors, EmbedderError):
        progress.skipped.append(f"meaning: {vectors}")
        return None
    return vectors


def _answered(request: SearchRequest, vectors: Sequence[Vector] | None, progress: _Progress) -> Flow[Found]:
    """What was found, logged as shown where the request asks for it and the database can be written to."""
    began = perf_counter()
    if not request.logged:
        found: Found = yield operations.find(request, vectors)
    else:
        try:
            found = yield operations.search_and_log(request, vectors)
        except DatabaseError as error:
            if error.sqlstate not in UNLOGGED:
                raise
            progress.skipped.append(UNLOGGED[error.sqlstate])
            found = yield operations.find(request, vectors)
    progress.timed("database", began)
    return found


def _reranked(
    request: SearchRequest,
    vectors: Sequence[Vector] | None,
    abilities: Abilities,
    progress: _Progress,
) -> Flow[SearchResult]:
    """The best candidates reread, blended, weighed, cut to k and only then logged as shown."""
    began = perf_counter()
    gathered = replace(request, min_relevance=0.0)
    found: Found = yield operations.find(gathered, vectors, pool=abilities.pairs, reranker=abilities.reranker)
    progress.timed("database", began)
    began = perf_counter()
    outcome = yield from _outcome(request, found, abilities)
    progress.timed("reranking", began)
    if outcome.reason:
        progress.skipped.append(f"reranking: {outcome.reason}")
    assert found.weighing is not None, "find always tells how it weighs"
    hits = blended(
        found.candidates,
        outcome,
        found.weighing,
        k=request.k,
        min_relevance=request.min_relevance,
        reranker=abilities.reranker or "",
    )
    if request.logged:
        found = replace(found, search_id=(yield from logged(request, hits, progress.skipped.append)))
    return progress.result(found, hits, reranked=bool(outcome.scores))


def _outcome(request: SearchRequest, found: Found, abilities: Abilities) -> Flow[RerankOutcome]:
    question = request.query if request.query.strip() else "; ".join(request.queries or ())
    read = most_relevant(found.candidates, abilities.pairs)
    if not question or not read:
        return RerankOutcome()
    candidates = tuple(RerankCandidate(one.hit.id, text_to_read(one.hit)) for one in read)
    deadline = abilities.deadline if request.deadline is None else request.deadline
    outcome: RerankOutcome = yield Rerank(question, candidates, len(candidates), deadline)
    return outcome


def logged(request: SearchRequest, hits: Sequence[Hit], skip: Callable[[str], None]) -> Flow[int | None]:
    """The id of the search, logged with what it showed; None where nothing can be written."""
    try:
        search_id: int | None = yield context.log_shown(
            [hit.id for hit in hits],
            request.session_id,
            request.query,
            queries=request.queries,
            profile=request.profile,
        )
    except DatabaseError as error:
        if error.sqlstate not in UNLOGGED:
            raise
        skip(UNLOGGED[error.sqlstate])
        return None
    return search_id
