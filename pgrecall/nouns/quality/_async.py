"""``memory.quality``: how often hits were used, why a memory was not found, replays, and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from pgrecall.arguments import RankingChange
from pgrecall.encoding import require_searchable
from pgrecall.errors import InvalidInput
from pgrecall.nouns.calibration._async import AsyncCalibrationGroup
from pgrecall.nouns.declared import Bounds, Count, declared
from pgrecall.nouns.feedback.models import Feedback, JudgedSearch, RankFeedback
from pgrecall.nouns.feedback.operations import feedback_by_memory, feedback_qrels
from pgrecall.nouns.operation import rows_of
from pgrecall.nouns.quality import operations
from pgrecall.nouns.quality.models import Experiment, LoggedSearch, Miss, Quality, Replay
from pgrecall.nouns.search.found import Found
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import find
from pgrecall.search.replays import Replayed, replay_report, require_change

if TYPE_CHECKING:
    from pgrecall.arguments import SearchOptions
    from pgrecall.client._async.connection import AsyncConnection
    from pgrecall.nouns.search._async_run import SearchRun

_BEFORE = timedelta(microseconds=1)
"""A search is replayed as of just before it was made, so that its own log entry does not count."""


class AsyncQualityGroup(AsyncCalibrationGroup):
    """Reports about the log of searches, which only read; and coefficients fitted to judged queries."""

    @declared("quality", "GET /v1/quality")
    async def report(
        self,
        *,
        since: datetime | None = None,
        limit: Annotated[int, Bounds(1, 100_000)] = 10_000,
        unanswered: Count = 20,
    ) -> Quality:
        """Reports how often hits of searches were used, by rank, and which queries had no answer.

        Uses are known from verdicts (``memory.used``), and for searches in a session from accesses of
        kind ``used`` or ``read`` in it, within the setting ``association.window_minutes``.

        Args:
            since: only searches from this time on.
            limit: maximum number of searches, newest first, 1 to 100,000.
            unanswered: maximum number of unanswered queries, 1 to 1,000.

        Returns:
            Shares by rank with intervals, and the unanswered queries.

        Raises:
            InvalidInput: a number is out of its bounds.
        """
        queries = await self._connection.execute(operations.unanswered_queries(unanswered, since))
        return await self._connection.execute(operations.quality(since, limit, queries))

    async def feedback(
        self, *, limit: int = 50, unused: bool = False, since: datetime | None = None
    ) -> Feedback:
        """Reports how often each memory, and each rank, was shown, used and rejected (see ``memory.used``).

        Args:
            limit: maximum number of memories, 1 to 10,000, the most shown first; all ranks are reported.
            unused: only memories that were shown and never used.
            since: only searches from this time on; at most the newest 100,000 of them.

        Returns:
            Counts by memory, and by rank with the propensity of each rank.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        memories = await self._connection.execute(feedback_by_memory(limit, unused, since))
        ranks = await self._connection.execute(rows_of("feedback_by_rank", RankFeedback, since=since))
        return Feedback(memories, ranks)

    async def qrels(
        self, *, since: datetime | None = None, skipped: bool = True, limit: int = 10_000
    ) -> tuple[JudgedSearch, ...]:
        """Lists the newest searches with a verdict, oldest first, for :meth:`calibrate`.

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
        return await self._connection.execute(feedback_qrels(since, skipped, limit))

    @declared("experiment", "GET /v1/quality/experiment")
    async def experiment(
        self,
        number: Annotated[int, Bounds(1, 1_000_000)] | None = None,
        *,
        difference: Annotated[float, Bounds(0.01, 0.5)] = 0.1,
    ) -> Experiment:
        """Reports how often hits were used in each arm of a randomised experiment, and the conclusion.

        The setting ``search.experiment`` begins it. Chance then gives each session one of three arms: without
        vitality, with its default weight, or with ``search.experiment_weight``. Every session counts,
        even one without a known use. Intervals are those of Wilson (1927) and, for differences, of Newcombe
        (1998, method 10).

        Args:
            number: number of the experiment; by default the running one, else the newest.
            difference: the smallest difference of shares to look for, 0.01 to 0.5. A smaller one needs more
                sessions.

        Returns:
            The arms with their intervals, and a conclusion, or the reason why there is none.

        Raises:
            InvalidInput: a number is out of its bounds.
        """
        return await self._connection.execute(operations.experiment(number, difference))

    async def miss(self, query: str, memory: int | str, **options: Unpack[SearchOptions]) -> Miss:
        """Explains why a search does not show a memory: its filters, its rank, and what each arm found.

        Nothing is logged.

        Args:
            query: the query.
            memory: the memory's id or key.
            options: those of :meth:`AsyncMemory.search`; reranking is left out.

        Returns:
            The outcome, the rank, and what each arm found.

        Raises:
            MemoryNotFound: there is no such memory.
            InvalidInput: the search is refused.
        """
        from pgrecall.nouns.search._async_vectors import query_vectors

        request = SearchRequest(query, **options)
        require_searchable(request)
        run = _run(self._connection)
        vectors = await query_vectors(self._connection, request, run)
        if request.rerank:
            run.skipped.append("reranking: the ranks are those before it")
        return await self._connection.execute(operations.explain_miss(memory, request, vectors, run.skipped))

    @declared("replay", "POST /v1/quality/replay", repeatable=True)
    async def replay(
        self,
        *,
        k: Annotated[int, Bounds(1, 100)] = 10,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: Count = 100,
        moved: Annotated[int, Bounds(0, 1000)] = 20,
        **change: Unpack[RankingChange],
    ) -> Replay:
        """Replays logged queries with other settings: which results would change. Nothing is changed.

        They are asked as of then, with today's settings and with changed ones. For searches with a known use,
        it says whether the used memory would rank higher. Filters are not in the log, so the queries are
        asked without. Nothing is logged.

        >>> report = await memory.quality.replay(vitality_weight=1.0)           # doctest: +SKIP
        >>> print(report.same, report.gain, report.conclusion)                  # doctest: +SKIP

        Args:
            k: number of hits of each search, 1 to 100.
            since, until: only searches of this period, excluding its end.
            limit: maximum number of searches, newest first, 1 to 1,000.
            moved: maximum number of changed searches in the report, most changed first, 0 to 1,000.
            change: what to change: ``weights`` of arms, ``vitality_mode``, ``vitality_weight``, ``profile``.

        Returns:
            What would change, and the mean change of the reciprocal rank of used memories.

        Raises:
            InvalidInput: nothing is changed; a weight, a mode, a profile or a number is out of its bounds.
        """
        given: dict[str, Any] = {name: value for name, value in change.items() if value is not None}
        require_change(given, k, moved)
        searches = await self._connection.execute(operations.logged_searches(since, until, limit))
        await self._check(replace(SearchRequest("a query"), **given))
        run = _run(self._connection)
        replayed: list[Replayed] = []
        refused = 0
        for search in searches:
            try:
                replayed.append(await self._asked_again(search, k, given, run))
            except InvalidInput:  # its profile was deleted, or its query is refused by this version
                refused += 1
        return replay_report(replayed, refused, moved, tuple(dict.fromkeys(run.skipped)))

    async def _check(self, request: SearchRequest) -> None:
        """Refuses what no search takes, even if the log is empty."""
        require_searchable(request)
        await self._connection.execute(find(replace(request, k=1, explain=False), None))

    async def _asked_again(
        self, search: LoggedSearch, k: int, change: Mapping[str, Any], run: SearchRun
    ) -> Replayed:
        from pgrecall.nouns.search._async_vectors import query_vectors

        today = SearchRequest(
            search.query,
            queries=search.queries,
            profile=search.profile,
            k=k,
            as_of=search.at - _BEFORE,
            log=False,
        )
        changed = replace(today, explain=False, **change)
        vectors = await query_vectors(self._connection, today, run)
        found: Sequence[Found] = [
            await self._connection.execute(find(request, vectors)) for request in (today, changed)
        ]
        run.skipped.extend(notice for notice in found[0].skipped if notice.startswith("meaning:"))
        return Replayed(search, found[0].hits, found[1].hits)


def _run(connection: AsyncConnection) -> SearchRun:
    """The state of a search that the primary answers."""
    from pgrecall.client._async.reads import AsyncSearchReads
    from pgrecall.nouns.search._async_run import SearchRun

    return SearchRun(AsyncSearchReads(connection, by_replica=False))
