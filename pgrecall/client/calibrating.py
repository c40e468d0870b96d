"""Probabilities fitted to what a tenant's own users found relevant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pgrecall import operations
from pgrecall.client.driver import Driver
from pgrecall.errors import InvalidInput

if TYPE_CHECKING:
    from pgrecall.models.calibration import Calibration, JudgedQuery, RelevanceModel, RerankModel


class Calibrating(Driver):
    """What turns features into probabilities, and how to fit it."""

    def calibrate(
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
        count against a memory. Five-fold cross-validation over queries says how the fit does on questions
        it has not seen; it is stored, for this tenant, when its log loss there is below today's. Nothing
        searched here is logged.

        Args:
            qrels: judged queries, or a JSONL file of them (:func:`pgrecall.importers.qrels.read_qrels`).
            profile: whose coefficients; with ``reranker`` only what its scores are read beside.
            reranker: fit how the configured reranker's score is read instead.
            dry_run: store nothing.
            force: store even what does not predict better.
            progress: called with 1 for each query that was searched.

        Raises:
            InvalidInput: the file has a bad line; there are fewer than 30 queries or 30 relevant
                candidates, or candidates of one kind only; the profile is unknown or not fitted; the
                embedder is not that of the memories. Nothing was stored.
            MissingExtra: pgrecall[calibrate] is not installed.
            EmbedderError, RerankerError: a query could not be embedded, or its candidates not be read.
        """
        from pgrecall.workflows.calibration import CalibrationRequest, calibrate

        request = CalibrationRequest(
            qrels=Path(qrels) if isinstance(qrels, Path | str) else tuple(qrels),
            profile=profile,
            reranker=reranker,
            dry_run=dry_run,
            force=force,
            progress=progress,
        )
        return self._drive(calibrate(request, self._embedder_name, self._abilities))

    def reset_calibration(self, profile: str = "balanced", *, reranker: bool = False) -> bool:
        """Takes this tenant's own coefficients of a profile away, or those of the configured reranker.

        Those that ship apply again. Returns whether there were any.

        Raises:
            InvalidInput: the profile is unknown or not fitted; no reranker is configured.
        """
        if not reranker:
            return self._run(operations.calibration.reset_relevance_model(profile))
        if self.reranker is None:
            raise InvalidInput("No reranker is configured.", hint="Set PGRECALL_RERANKER.")
        return self._run(operations.calibration.reset_rerank_model(self.reranker.name))

    def relevance_models(self, profile: str | None = None) -> tuple[RelevanceModel, ...]:
        """The coefficients searches can use, or those of a profile; by profile, the ones in force first."""
        return self._run(operations.calibration.relevance_models(profile))

    def rerank_models(self) -> tuple[RerankModel, ...]:
        """How the scores of rerankers are read, by reranker, the ones in force first."""
        return self._run(operations.calibration.rerank_models())
