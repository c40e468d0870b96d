"""``memory.feedback`` and ``memory.calibration``: reports of verdicts, and coefficients fitted to judged
queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.errors import InvalidInput
from pgrecall.models.feedback import Feedback, JudgedSearch
from pgrecall.operations import feedback
from pgrecall.search.model_loading import require_package

if TYPE_CHECKING:
    from pgrecall.models.calibration import Calibration, JudgedQuery, RelevanceModel, RerankModel


class AsyncFeedbackGroup(AsyncGroup):
    """Reports of the verdicts that ``memory.used`` and ``memory.rejected`` record."""

    async def report(
        self, *, limit: int = 50, unused: bool = False, since: datetime | None = None
    ) -> Feedback:
        """Reports how often each memory, and each rank, was shown, used and rejected.

        Args:
            limit: maximum number of memories, 1 to 10,000, the most shown first; all ranks are reported.
            unused: only memories that were shown and never used.
            since: only searches from this time on; at most the newest 100,000 of them.

        Returns:
            Counts by memory, and by rank with the propensity of each rank.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        memories = await self._connection.execute(feedback.feedback_by_memory(limit, unused, since))
        ranks = await self._connection.execute(feedback.feedback_by_rank(since))
        return Feedback(memories, ranks)

    async def qrels(
        self, *, since: datetime | None = None, skipped: bool = True, limit: int = 10_000
    ) -> tuple[JudgedSearch, ...]:
        """Lists the newest searches with a verdict, oldest first, for :meth:`AsyncCalibrationGroup.fit`.

        Each judgement has the propensity of its rank. Weighing it by ``1 / propensity`` (at most 10) corrects
        for the fact that readers look less at lower ranks.

        Args:
            since: only searches from this time on.
            skipped: include memories that were skipped above a used one, as not relevant.
            limit: maximum number of searches, 1 to 100,000.

        Returns:
            Each search with its judgements.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(feedback.feedback_qrels(since, skipped, limit))


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
        from pgrecall.client._async.calibration import fit
        from pgrecall.client.calibration_subject import FitRequest

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
            return await self._connection.execute(feedback.reset_relevance_model(profile))
        if self._connection.reranker is None:
            raise InvalidInput("No reranker is configured.", hint="Set PGRECALL_RERANKER.")
        return await self._connection.execute(feedback.reset_rerank_model(self._connection.reranker.name))

    async def relevance_models(self, profile: str | None = None) -> tuple[RelevanceModel, ...]:
        """Lists the coefficients of all profiles or of one, by profile, those in force first.

        Args:
            profile: only this profile; None for all.

        Returns:
            The rows of coefficients with their origin.
        """
        return await self._connection.execute(feedback.relevance_models(profile))

    async def rerank_models(self) -> tuple[RerankModel, ...]:
        """Lists the coefficients of rerankers, by reranker, those in force first.

        Returns:
            The rows of coefficients with their origin.
        """
        return await self._connection.execute(feedback.rerank_models())
