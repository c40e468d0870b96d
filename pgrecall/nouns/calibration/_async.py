"""``memory.calibration``: coefficients fitted to judged queries: searches, fits, compares, and stores what
predicts better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.group import AsyncGroup
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
from pgrecall.search.model_loading import require_package

if TYPE_CHECKING:
    from pgrecall.nouns.calibration.models import Calibration, JudgedQuery, RelevanceModel, RerankModel


class AsyncCalibrationGroup(AsyncGroup):
    """Coefficients that turn the features of a candidate into a probability of relevance."""

    async def fit(
        self,
        qrels: Path | str | Iterable[JudgedQuery],
        profile: str = "balanced",
        *,
        reranker: bool = False,
        dry_run: bool = False,
        force: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Calibration:
        """Fits the coefficients of a profile to judged queries, and stores them if they predict better.

        Each query is searched; its candidates are the examples of a logistic fit in which no feature may
        count against a memory. Five-fold cross-validation over queries measures the fit on questions it has
        not seen. It is stored for this tenant if its log loss there is lower than that of the current
        coefficients. These searches are not logged.

        Args:
            qrels: judged queries, or a JSONL file of them (:func:`pgrecall.importers.qrels.read_qrels`).
            profile: the profile to fit; with ``reranker``, the profile of the searches.
            reranker: fit the conversion of the configured reranker's scores instead.
            dry_run: store nothing.
            force: store the result even if it does not predict better.
            progress: called with 1 for each query that was searched.

        Returns:
            Log loss, Brier score, calibration error and MRR before and after, and whether the fit was stored.

        Raises:
            InvalidInput: the file has a bad line; there are fewer than 30 queries or 30 relevant
                candidates, or candidates of one kind only; the profile is unknown or not fitted; the
                embedder is not that of the memories. Nothing was stored.
            MissingExtra: pgrecall[calibrate] is not installed.
            EmbedderError, RerankerError: a query could not be embedded, or its candidates not be reranked.
        """
        require_package("sklearn", "calibrate")
        from pgrecall.nouns.calibration.fit_target import FitRequest

        request = FitRequest(
            qrels=Path(qrels) if isinstance(qrels, Path | str) else tuple(qrels),
            profile=profile,
            reranker=reranker,
            dry_run=dry_run,
            force=force,
            progress=progress,
        )
        return await fit(self._connection, request)

    async def reset(self, profile: str = "balanced", *, reranker: bool = False) -> bool:
        """Removes this tenant's own coefficients, so that the shipped ones apply again.

        Args:
            profile: the profile to reset.
            reranker: reset the coefficients of the configured reranker instead.

        Returns:
            Whether there were any.

        Raises:
            InvalidInput: the profile is unknown or not fitted; no reranker is configured.
        """
        if not reranker:
            return await self._connection.execute(operations.reset_relevance_model(profile))
        if self._connection.reranker is None:
            raise InvalidInput("No reranker is configured.", hint="Set PGRECALL_RERANKER.")
        return await self._connection.execute(operations.reset_rerank_model(self._connection.reranker.name))

    async def relevance_models(self, profile: str | None = None) -> tuple[RelevanceModel, ...]:
        """Lists the coefficients of all profiles or of one, by profile, those in force first.

        Args:
            profile: only this profile; None for all.

        Returns:
            The rows of coefficients with their origin.
        """
        return await self._connection.execute(operations.relevance_models(profile))

    async def rerank_models(self) -> tuple[RerankModel, ...]:
        """Lists the coefficients of rerankers, by reranker, those in force first.

        Returns:
            The rows of coefficients with their origin.
        """
        return await self._connection.execute(operations.rerank_models())


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
