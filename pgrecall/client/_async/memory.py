"""``AsyncMemory``: searching a tenant's memory, and recording accesses and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Unpack, cast

from pgrecall.nouns.context._async import build_context
from pgrecall.nouns.declared import declared
from pgrecall.nouns.memories._async import AsyncStore
from pgrecall.nouns.search._async import search
from pgrecall.nouns.search._async_shared import search_together
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.status.models import Status

if TYPE_CHECKING:
    from pgrecall.arguments import ContextOptions, SearchOptions
    from pgrecall.nouns.context.models import ContextBlock, Order
    from pgrecall.nouns.memories.models import Access, AccessKind
    from pgrecall.nouns.search.models import SearchResult

CONTEXT_CANDIDATES = 50
"""Default number of candidates for a block of context."""


class AsyncMemory(AsyncStore):
    """One tenant's memory.

    >>> async with AsyncMemory() as memory:                                        # doctest: +SKIP
    ...     await memory.remember("Mira signs the harbour contract on Friday", layer="episodic")
    ...     result = await memory.search("when is the contract signed?")
    ...     for hit in result.hits:
    ...         print(f"{hit.score:.2f}  {hit.body}")

    Daily operations are methods; everything else is in groups such as ``plans``, ``layers`` and ``imports``.

    Nothing is opened before ``async with`` or ``await memory.open()``. Models, files and the link graph are
    processed in threads, and callbacks such as a token counter may be called there. Cancelling a task also
    cancels its statement in Postgres, and its transaction is rolled back. A client belongs to the event loop
    it was opened in.

    Without a database URL (argument or ``PGRECALL_DATABASE_URL``) an embedded Postgres is started and its
    schema kept current; another server is used as it is, once ``pgrecall init`` has run. Calls that can
    safely be repeated are retried when their connection breaks, others are not.

    Args:
        url: libpq connection string of the database.
        tenant: the tenant that owns the memories; no transaction of this client sees others.
        settings: everything else; read from the environment when None. ``configuration`` returns it.
        embedder: embedder to use instead of the one in ``settings``.
        reranker: reranker to use instead of the one in ``settings``.
        timeout: seconds that one call may take in Postgres before it is cancelled there; None: those of
            ``settings``, and without them no limit.
        cells: libpq connection string of the directory of cells, instead of ``url``: each tenant is found in
            its cell, and a new one is placed in the cell with the most room.
        replica: libpq connection string of a standby of ``url``, which answers searches while it lags at most
            ``PGRECALL_REPLICA_LAG`` seconds and has what this client wrote.

    Raises:
        InvalidInput: the tenant or the timeout is invalid.
        DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch, EmbedderMismatch: on opening, the database
            cannot be used.
    """

    async def search(self, query: str = "", **options: Unpack[SearchOptions]) -> SearchResult:
        """Finds the memories that answer a question, best first.

        >>> result = await memory.search("when is the contract signed?", k=5)      # doctest: +SKIP
        >>> [(hit.score, hit.body) for hit in result.hits]                         # doctest: +SKIP

        Hits are logged as shown, a tenth of an access each, unless ``log=False`` or a ``now`` is given.

        Args:
            query: a question, or words of the memory.
            options: those of :class:`SearchRequest`, such as ``k``, ``layers``, ``tags``, ``since``.

        Returns:
            Hits with their scores. ``skipped`` has a sentence for what did not run or answer: meaning,
            reranking, the log, a replica, a shared tenant. ``staleness`` is that of a replica's answer.

        Raises:
            InvalidInput: the query is empty or too long, or only stop words or symbols without an embedder; a
                filter, a profile or an arm is unknown; a number is out of its bounds.
            MemoryNotFound: a cue does not exist.
        """
        options = {**self._connection.asked_here, **options}
        find = search_together if self._connection.also_reads else search
        return await find(self._connection, SearchRequest(query, **options))

    async def context(
        self,
        query: str = "",
        *,
        budget_tokens: int = 2000,
        per_layer: Mapping[str, int] | None = None,
        order: Order = "score",
        mmr_lambda: float = 0.8,
        duplicate_at: float = 0.92,
        count_tokens: Callable[[str], int] | None = None,
        **options: Unpack[ContextOptions],
    ) -> ContextBlock:
        """Builds one text for an agent's prompt from the memories that answer a question.

        The text is empty if probably no memory answers. A memory is shown whole or left out, with the reason;
        only the best one is cut if it is longer than the budget. Near-duplicates, and what a newer memory
        replaces, are shown once. Only memories in the text are logged as shown.

        >>> block = await memory.context("when is the contract signed?")  # doctest: +SKIP
        >>> prompt = f"{block.text}\\n\\nUser: when?"                  # doctest: +SKIP

        Args:
            query: a question, or words of the memory.
            budget_tokens: maximum number of tokens of the whole text, 1 to 10,000,000.
            per_layer: maximum number of memories by layer.
            order: ``score`` shows the best first, ``time`` the oldest.
            mmr_lambda: weight of the score against difference from memories already chosen, 0 to 1.
            duplicate_at: cosine from which a memory counts as a near-duplicate, in (0, 1].
            count_tokens: returns the number of tokens of a text; None uses an estimate.
            options: those of :meth:`search`; ``k`` (50, at most 200) is how many memories to choose from,
                ``min_relevance`` (0.05) leaves out filler but never the best memory, and ``require_answer``
                (True) leaves the text empty if probably nothing answers, or if the confidence is below
                ``min_confidence``. ``exclude`` says of a hit whether to leave it out, as one that the
                conversation has seen. ``directive_share`` (0.2) and ``state_share`` (0) are the most of the
                budget for directives and for what changed lately; ``both_sides`` shows what a newer memory
                replaces beside it.

        Returns:
            The text with its tokens, the memories in it as numbered sources, and what was left out with the
            reason.

        Raises:
            InvalidInput: the budget, a quota, a weight or the order is invalid, a layer is unknown, the token
                counter returned no count, or the search was refused.
        """
        from pgrecall.nouns.context.models import MIN_RELEVANCE, ContextRequest

        options = {**self._connection.asked_here, **options}
        options.setdefault("k", CONTEXT_CANDIDATES)
        options.setdefault("explain", False)
        options.setdefault("require_answer", True)
        least = options.pop("min_relevance", MIN_RELEVANCE)
        request = ContextRequest(
            budget_tokens,
            dict(per_layer or {}),
            order,
            mmr_lambda,
            duplicate_at,
            least,
            count_tokens,
            options.pop("min_confidence", None),
            options.pop("exclude", None),
            options.pop("both_sides", False),
            options.pop("directive_share", None),
            options.pop("state_share", None),
        )
        searched = SearchRequest(query, **cast("SearchOptions", options))
        return await build_context(self._connection, searched, request)

    async def record_access(
        self,
        memory: int | str,
        kind: AccessKind = "read",
        *,
        at: datetime | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
        now: datetime | None = None,
    ) -> bool:
        """Records one access to a memory, which raises its vitality.

        >>> await memory.record_access("contract", "used")                         # doctest: +SKIP

        Args:
            memory: its id or key.
            kind: how it was used.
            at: when; None for now.
            session_id: the session it belongs to, if not that of this client.
            idempotency_key: an access with a key that was seen before is ignored.
            now: time to use instead of the database's clock.

        Returns:
            False when its idempotency key was seen before.

        Raises:
            MemoryNotFound, InvalidInput: no such memory or kind, or a time in the future.
        """
        from pgrecall.nouns.memories.models import Access
        from pgrecall.nouns.memories.operations import record_access

        session = self.session_id if session_id is None else session_id
        access = Access(memory, kind, at, session, idempotency_key)
        return await self._connection.execute(record_access(access, now))

    async def record_accesses(self, accesses: Iterable[Access], *, now: datetime | None = None) -> int:
        """Records accesses in one transaction.

        Args:
            accesses: each belongs to the session of this client where it names none.
            now: time to use instead of the database's clock.

        Returns:
            How many were not seen before, by idempotency key.

        Raises:
            MemoryNotFound, InvalidInput: no such memory or kind, or a time in the future. None was recorded.
        """
        from pgrecall.nouns.memories.operations import record_accesses

        ours = (
            replace(one, session_id=self.session_id) if one.session_id is None else one for one in accesses
        )
        return await self._connection.execute(record_accesses(ours, now))

    async def used(
        self,
        search_id: int | None,
        memories: int | str | Sequence[int | str],
        *,
        now: datetime | None = None,
    ) -> int:
        """Records which memories that a search showed were used in an answer.

        Each counts as an access in the search's session, which raises its vitality: once for each search,
        however often it is repeated.

        >>> result = await memory.search("when is the contract signed?")           # doctest: +SKIP
        >>> await memory.used(result.search_id, result.hits[0].id)                 # doctest: +SKIP

        Args:
            search_id: ``search_id`` of the :class:`SearchResult` or :class:`ContextBlock`.
            memories: one or more, by id or key.
            now: time to use instead of the database's clock.

        Returns:
            The number of memories for which this is new.

        Raises:
            InvalidInput: the search was not logged or does not exist (any more), or it did not show one of
                them. Nothing was recorded.
            MemoryNotFound: there is no memory with this key.
        """
        from pgrecall.nouns.feedback.operations import used

        return await self._connection.execute(used(search_id, memories, now))

    async def rejected(
        self,
        search_id: int | None,
        memories: int | str | Sequence[int | str],
        *,
        now: datetime | None = None,
    ) -> int:
        """Records which memories that a search showed did not answer the question.

        It lowers no vitality; calibration and reports use it. The later of ``used`` and ``rejected`` counts;
        a recorded access stays recorded.

        Args:
            search_id: ``search_id`` of the :class:`SearchResult` or :class:`ContextBlock`.
            memories: one or more, by id or key.
            now: time to use instead of the database's clock.

        Returns:
            The number of memories for which this is new.

        Raises:
            InvalidInput: as for :meth:`used`. Nothing was recorded.
            MemoryNotFound: there is no memory with this key.
        """
        from pgrecall.nouns.feedback.operations import rejected

        return await self._connection.execute(rejected(search_id, memories, now))

    @declared("status", "GET /v1/status", tag="status")
    async def status(self, *, now: datetime | None = None) -> Status:
        """Reads the state of this tenant: counts, vitality, jobs, and alarms that need attention.

        >>> (await memory.status()).memories                                       # doctest: +SKIP

        Args:
            now: time to use instead of the database's clock.

        Returns:
            Counts by layer and zone, jobs, alarms, versions, and the lag of a replica if there is one.
        """
        from pgrecall.jobs.catalogue import job_statuses, states_of_jobs
        from pgrecall.nouns.service.operations import server_version
        from pgrecall.nouns.status.operations import status

        held = await self._connection.execute(status(now))
        version = await self._connection.execute(server_version())
        jobs = job_statuses(await self._connection.execute(states_of_jobs(now)))
        revision = self._connection.resources.revision
        replica = await self._connection.replica()
        if replica is not None:
            behind = await replica.status(self.tenant, await self._connection.tenant_database())
            held = replace(held, replica=behind)
        return replace(held, revision=revision, server_version=version, jobs=jobs)
