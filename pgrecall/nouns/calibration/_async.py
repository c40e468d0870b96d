"""Calibration, a part of ``memory.quality``: coefficients of relevance and of rerankers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.errors import InvalidInput
from pgrecall.nouns.calibration import operations
from pgrecall.search.model_loading import require_package

if TYPE_CHECKING:
    from pgrecall.nouns.calibration.models import Calibration, JudgedQuery, RelevanceModel, RerankModel


class AsyncCalibrationGroup(AsyncGroup):
    """Coefficients that turn the features of a candidate into a probability of relevance."""

    async def calibrate(
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
        from pgrecall.nouns.calibration._async_fit import fit
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

    async def reset_calibration(self, profile: str = "balanced", *, reranker: bool = False) -> bool:
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
