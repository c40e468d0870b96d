"""What became of what a search showed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall import operations, workflows
from pgrecall.client.driver import Driver
from pgrecall.errors import InvalidInput

if TYPE_CHECKING:
    from pgrecall.models.feedback import Feedback, JudgedSearch


class Judging(Driver):
    """Verdicts on what was shown: they move vitality at once, and relevance when it is calibrated."""

    def used(
        self,
        search_id: int | None,
        memories: int | str | Sequence[int | str],
        *,
        now: datetime | None = None,
    ) -> int:
        """Says which of the memories that a search showed were used in an answer.

        Each is logged as a use in the search's session, which makes it livelier: once for each search,
        however often it is said. Returns for how many that is news.

        Args:
            search_id: ``search_id`` of the :class:`SearchResult` or :class:`ContextBlock`.
            memories: one or more, by id or key.

        Raises:
            InvalidInput: the search was not logged or is not there (any more), or it did not show one of
                them; nothing was said of any.
            MemoryNotFound: there is no memory with such a key.
        """
        return self._run(operations.feedback.used(search_id, _several(memories), now))

    def rejected(
        self,
        search_id: int | None,
        memories: int | str | Sequence[int | str],
        *,
        now: datetime | None = None,
    ) -> int:
        """Says which of them did not answer. It makes none less lively; it teaches calibration and reports.

        Of ``used`` and ``rejected`` the later one stands; a use that was logged stays logged. Returns for how
        many that is news, and raises as :meth:`used` does.
        """
        return self._run(operations.feedback.rejected(search_id, _several(memories), now))

    def feedback(self, *, limit: int = 50, unused: bool = False, since: datetime | None = None) -> Feedback:
        """How often each memory, and each rank, was shown, used and rejected.

        Args:
            limit: memories at most, 1 to 10,000, the most shown first; ranks are all there.
            unused: only memories that were shown and never used.
            since: only searches from this moment on; of these the newest 100,000.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return self._drive(workflows.feedback.feedback(limit=limit, unused=unused, since=since))

    def feedback_qrels(
        self, *, since: datetime | None = None, skipped: bool = True, limit: int = 10_000
    ) -> tuple[JudgedSearch, ...]:
        """The newest questions with a verdict, oldest first, with what is known of what they showed.

        What ``pgrecall calibration fit`` learns from. Each judgement has the propensity of its rank, so that
        weighing it by ``1 / propensity`` (at most 10) makes up for lower ranks being looked at less.

        Args:
            skipped: also what stood above a used memory and was passed over, as not relevant.
            limit: questions at most, 1 to 100,000.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return self._run(operations.feedback.feedback_qrels(since, skipped, limit))


def _several(memories: int | str | Sequence[int | str]) -> Sequence[int | str]:
    given: object = memories
    if isinstance(given, int | str):
        return [given]
    if not isinstance(given, Sequence) or not all(isinstance(one, int | str) for one in given):
        raise InvalidInput(
            f"{given!r:.100} names no memories.", hint="Give ids or keys: a hit's `id`, or a list of them."
        )
    return given
