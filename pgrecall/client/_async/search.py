"""Search: from a question to its hits, and to a block of context for a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.replica import AsyncReading
from pgrecall.encoding import require_searchable
from pgrecall.errors import DatabaseError, DatabaseUnavailable, EmbedderError
from pgrecall.models.embedding import Embedded
from pgrecall.models.search import Found, Hit, SearchRequest, SearchResult
from pgrecall.operations.context import log_shown, similarities, successors
from pgrecall.operations.search import find, questions_without_names, search_and_log
from pgrecall.search.observation import search_ended
from pgrecall.search.rerank.blending import best, confidence, most_relevant, reread, text_to_read
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome

if TYPE_CHECKING:
    from pgrecall.models.context import ContextBlock, ContextRequest

UNLOGGED = {
    "25006": "log: the database is read-only, so it is not counted what was shown",
    "53100": "log: the disk of Postgres is full, so it is not counted what was shown",
}
"""Reasons for answering without a log entry, by the SQLSTATE of the failed write."""

NO_PRIMARY = "log: the primary does not answer, so it is not counted what was shown"
"""The reason where a replica answers for it."""


@dataclass(slots=True)
class Progress:
    """What a search collects: names, skipped steps, timings, the arm of an experiment, and who answers it."""

    reading: AsyncReading
    names: tuple[str, ...] = ()
    skipped: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)
    experiment: Mapping[str, Any] | None = None

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Adds the milliseconds inside to a phase."""
        began = perf_counter()
        yield
        self.timings[phase] = self.timings.get(phase, 0.0) + 1000 * (perf_counter() - began)

    def result(self, found: Found, hits: tuple[Hit, ...], *, reranked: bool = False) -> SearchResult:
        """Returns the result of the search and ends its timing."""
        self.experiment = found.experiment
        self.timings["total"] = 1000 * (perf_counter() - self.started)
        notice = (self.reading.notice,) if self.reading.notice else ()
        return SearchResult(
            hits,
            self.names,
            (*self.skipped, *found.skipped, *notice),
            found.search_id,
            found.arms,
            reranked,
            self.timings,
            found.confidence,
            bool(hits) and found.confident,
            self.reading.staleness,
        )


async def search(
    connection: AsyncConnection, request: SearchRequest, progress: Progress | None = None
) -> SearchResult:
    """Embeds the questions without the names in them, finds and scores candidates, and reranks on request.

    Words answer when meaning cannot, and the fused order stands when the reranker fails.
    """
    require_searchable(request)
    progress = progress or Progress(AsyncReading(connection))
    vectors = await question_vectors(connection, request, progress)
    if request.rerank and connection.reranker is not None:
        result = await _reranked(connection, request, vectors, progress)
    else:
        if request.rerank:
            progress.skipped.append("reranking: no reranker is configured")
        with progress.timed("database"):
            found = await _found(connection, request, vectors, progress)
        result = progress.result(found, found.hits)
    search_ended(result, rerank=request.rerank)
    return result


async def question_vectors(
    connection: AsyncConnection, request: SearchRequest, progress: Progress
) -> list[Embedded] | None:
    """The vector and token signs of each question without the names in it; None where words have to do."""
    if not request.asked:
        return None
    if connection.embedder is None:
        progress.skipped.append("meaning: no embedder is configured")
        return None
    with progress.timed("names"):
        execute = progress.reading.execute if progress.reading.may_lag else connection.execute
        questions = await execute(questions_without_names(request.asked))
    progress.names = tuple(dict.fromkeys(name for _, names in questions for name in names))
    try:
        with progress.timed("embedding"):
            return await connection.embed_queries([question for question, _ in questions])
    except EmbedderError as error:
        progress.skipped.append(f"meaning: {error}")
        return None


async def _found(
    connection: AsyncConnection,
    request: SearchRequest,
    vectors: Sequence[Embedded] | None,
    progress: Progress,
) -> Found:
    """What was found, logged as shown where the request asks for it and the database can be written to."""
    reading = progress.reading
    if reading.may_lag:
        found = await reading.execute(find(request, vectors))
        return await _logged(connection, request, found, found.hits, progress)
    if not request.logged:
        return await connection.execute(find(request, vectors))
    try:
        return await connection.execute(search_and_log(request, vectors))
    except DatabaseError as error:
        if error.sqlstate not in UNLOGGED:
            raise
        progress.skipped.append(UNLOGGED[error.sqlstate])
    return await connection.execute(find(request, vectors))


async def _reranked(
    connection: AsyncConnection,
    request: SearchRequest,
    vectors: Sequence[Embedded] | None,
    progress: Progress,
) -> SearchResult:
    """The best candidates reread, blended, weighed, cut to k and only then logged as shown."""
    assert connection.reranker is not None
    reranker, pairs = connection.reranker.name, connection.resources.settings.reranker_pairs
    with progress.timed("database"):
        gathered = replace(request, min_relevance=0.0, require_answer=False)
        found = await progress.reading.execute(find(gathered, vectors, pool=pairs, reranker=reranker))
    with progress.timed("reranking"):
        outcome = await _reread_candidates(connection, request, found, pairs)
    if outcome.reason:
        progress.skipped.append(f"reranking: {outcome.reason}")
    assert found.weighing is not None, "find always tells how it weighs"
    rescored = reread(found.candidates, outcome, found.weighing, reranker)
    if found.confidence_terms is not None:
        found = replace(found, confidence=confidence(rescored, found.confidence_terms))
    hits = best(rescored, k=request.k, min_relevance=request.min_relevance)
    if request.require_answer and not found.confident:
        hits = ()
    found = await _logged(connection, request, found, hits, progress)
    return progress.result(found, hits, reranked=bool(outcome.scores))


async def _logged(
    connection: AsyncConnection,
    request: SearchRequest,
    found: Found,
    hits: Sequence[Hit],
    progress: Progress,
) -> Found:
    """What was found, with the id of the search once it is logged, if it is to be."""
    if not request.logged:
        return found
    asked = replace(request, profile=found.profile)
    progress.experiment = found.experiment
    return replace(found, search_id=await _log(connection, asked, hits, progress))


async def _reread_candidates(
    connection: AsyncConnection, request: SearchRequest, found: Found, pairs: int
) -> RerankOutcome:
    """What the reranker makes of the most relevant candidates."""
    question = request.query if request.query.strip() else "; ".join(request.queries or ())
    read = most_relevant(found.candidates, pairs)
    if not question or not read:
        return RerankOutcome()
    candidates = tuple(RerankCandidate(one.hit.id, text_to_read(one.hit)) for one in read)
    usual = connection.resources.settings.reranker_deadline
    return await connection.rerank(
        question, candidates, usual if request.deadline is None else request.deadline
    )


async def _log(
    connection: AsyncConnection, request: SearchRequest, hits: Sequence[Hit], progress: Progress
) -> int | None:
    """The id of the search, logged with what it showed; None where nothing can be written.

    While the primary is down, the answer of a replica is enough.
    """
    by_replica = progress.reading.staleness is not None
    if by_replica and (replica := await connection.replica()) is not None and not replica.logs():
        progress.skipped.append(NO_PRIMARY)
        return None
    shown = log_shown(
        [hit.id for hit in hits],
        request.session_id,
        request.query,
        queries=request.queries,
        profile=request.profile,
        experiment=progress.experiment,
    )
    try:
        return await connection.execute(shown)
    except DatabaseUnavailable:
        if not by_replica:
            raise
        progress.skipped.append(NO_PRIMARY)
        return None
    except DatabaseError as error:
        if error.sqlstate not in UNLOGGED:
            raise
        progress.skipped.append(UNLOGGED[error.sqlstate])
        return None


async def build_context(
    connection: AsyncConnection, question: SearchRequest, request: ContextRequest
) -> ContextBlock:
    """Searches, chooses, and logs what is in the block: what was only weighed was not shown."""
    from pgrecall.operations.layers import layers
    from pgrecall.search.context.request_checks import require_layers, require_valid_request

    require_valid_request(request, question.k)
    if request.per_layer:
        known = await connection.execute(layers())
        require_layers(request, frozenset(layer.name for layer in known))
    progress = Progress(AsyncReading(connection))
    result = await search(connection, replace(question, log=False), progress)
    block = await _chosen(connection, result, question, request)
    if not question.logged:
        return block
    progress.skipped = list(block.skipped)
    search_id = await _log(connection, question, block.hits, progress)
    return replace(block, skipped=tuple(progress.skipped), search_id=search_id)


async def _chosen(
    connection: AsyncConnection, result: SearchResult, question: SearchRequest, request: ContextRequest
) -> ContextBlock:
    """The block these hits make, once it is known how alike they are and which replace which."""
    from pgrecall.search.context.selection import select_memories
    from pgrecall.search.context.similarity import fill_missing_similarities

    ids = [hit.id for hit in result.hits]
    reading = AsyncReading(connection, by_replica=result.staleness is not None)
    pairs = await reading.execute(similarities(ids)) if len(ids) > 1 else {}
    chains = await reading.execute(successors(ids)) if ids and question.include_superseded else {}
    # Of some memories the likeness has to be judged by their letters.
    known, lettered = await connection.run(partial(fill_missing_similarities, pairs, result.hits))
    block = await connection.run(
        partial(select_memories, result.hits, request, similarities=known, successors=chains)
    )
    skipped = [*result.skipped, *block.skipped]
    if lettered:
        skipped.append(
            f"likeness in meaning: {lettered} of {len(ids)} memories have no vector to compare, so their "
            "near-duplicates are found by their letters"
        )
    return replace(block, skipped=tuple(skipped), confidence=result.confidence)
