"""``memory.feedback``: reports of verdicts."""

from __future__ import annotations

from datetime import datetime

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.feedback import operations
from pgrecall.nouns.feedback.models import Feedback, JudgedSearch, RankFeedback
from pgrecall.nouns.operation import rows_of


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
        memories = await self._connection.execute(operations.feedback_by_memory(limit, unused, since))
        ranks = await self._connection.execute(rows_of("feedback_by_rank", RankFeedback, since=since))
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
        return await self._connection.execute(operations.feedback_qrels(since, skipped, limit))
