"""A calibration: searches judged queries, fits coefficients to them, and stores what predicts better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.importers.qrels import read_qrels
from pgrecall.nouns.calibration import operations
from pgrecall.nouns.calibration.fit_target import (
    RERANK_SECONDS,
    FitRequest,
    FitTarget,
    assess,
    describe,
    plain,
    relevance_target,
    rerank_target,
    reranked_rows,
)
from pgrecall.nouns.calibration.models import Calibration, JudgedQuery
from pgrecall.nouns.search._async import search
from pgrecall.nouns.search.models import Hit, SearchRequest, SearchResult
from pgrecall.nouns.settings.operations import settings
from pgrecall.nouns.status.operations import status
from pgrecall.search.calibration.examples import JudgedCandidates


async def fit(connection: AsyncConnection, request: FitRequest) -> Calibration:
    """Fits what the request asks for, and stores it as the request says."""
    if request.dry_run and request.force:
        raise InvalidInput("A dry run stores nothing, so force has no effect.", hint="Leave out one of them.")
    qrels = request.qrels
    judged = await connection.run(partial(read_qrels, qrels)) if isinstance(qrels, Path) else qrels
    space = await _vector_space(connection)
    target = await _target(connection, request)
    done = await _fitted(connection, target, judged, request)
    if done.stored and request.reranker:
        store = operations.store_rerank_model(done.name, done.coefficients, describe(done))
        await connection.execute(store)
    elif done.stored:
        store = operations.store_relevance_model(done.name, space, done.coefficients, describe(done))
        await connection.execute(store)
    return done


async def _vector_space(connection: AsyncConnection) -> str | None:
    """The embedder of this database, which must be the one that embeds the queries."""
    state = await connection.execute(status(None))
    known = state.embedder
    if known is not None and known != connection.embedder_name:
        raise InvalidInput(
            f"The memories are embedded with {known}, "
            f"and queries with {connection.embedder_name or 'nothing'}.",
            hint="Calibrate with the embedder that searches use.",
        )
    return known


async def _target(connection: AsyncConnection, request: FitRequest) -> FitTarget:
    """The target of the fit, with the coefficients in force."""
    if request.reranker:
        if connection.reranker is None:
            raise InvalidInput("No reranker is configured.", hint="Set PGRECALL_RERANKER.")
        readings = await connection.execute(operations.rerank_models())
        return rerank_target(connection.reranker.name, request.profile, readings)
    models = await connection.execute(operations.relevance_models(request.profile))
    tuned = {setting.name: setting.value for setting in await connection.execute(settings())}
    return relevance_target(request.profile, models, tuned["search.author_weight"])


async def _fitted(
    connection: AsyncConnection, target: FitTarget, judged: Sequence[JudgedQuery], request: FitRequest
) -> Calibration:
    """Coefficients fitted to the candidates of all queries that have words."""
    candidates, left_out = JudgedCandidates(), 0
    for entry in judged:
        if entry.question.asked:
            candidates.add(entry, await _rows(connection, target, entry.question))
        else:
            left_out += 1
        request.progress(1)
    done = await connection.run(lambda: assess(target, candidates.examples()))
    stored = request.force or (done.better and not request.dry_run)
    return replace(done, missed=candidates.missed, left_out=left_out, stored=stored)


async def _rows(
    connection: AsyncConnection, target: FitTarget, searched: SearchRequest
) -> list[tuple[Hit, list[float]]]:
    """The candidates of a query, each with its row of the design."""
    request = plain(searched, target.profile)
    result = await _answer(connection, request)
    if target.fitted == "relevance":
        return [(hit, target.row(hit.explanation["relevance"])) for hit in result.hits]
    reread = await _answer(connection, replace(request, rerank=True, deadline=RERANK_SECONDS))
    return reranked_rows(result, reread, searched.query)


async def _answer(connection: AsyncConnection, request: SearchRequest) -> SearchResult:
    """The result of a search that went by meaning, where there is an embedder."""
    result = await search(connection, request)
    for step in result.skipped:
        if connection.embedder is not None and step.startswith("meaning"):
            raise EmbedderError(
                f"The query {request.query[:100]!r} was not embedded ({step}).", hint="Nothing was stored."
            )
    return result
