"""``AsyncMemory``: what is done with a tenant's memory every day, and the groups of everything else."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.search import build_context, search
from pgrecall.client.groups import GroupProperty
from pgrecall.client.resources import Resources
from pgrecall.errors import InvalidInput
from pgrecall.models.search import SearchRequest
from pgrecall.search.embed.embedder import Embedder
from pgrecall.search.rerank.reranker import Reranker
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall.arguments import DraftFields, SearchOptions
    from pgrecall.client._async.charts import AsyncChartsGroup, AsyncHistoryGroup
    from pgrecall.client._async.feedback import AsyncCalibrationGroup, AsyncFeedbackGroup
    from pgrecall.client._async.jobs import AsyncExportGroup, AsyncJobsGroup
    from pgrecall.client._async.layers import AsyncLayersGroup, AsyncSettingsGroup
    from pgrecall.client._async.maintenance import AsyncMaintenanceGroup
    from pgrecall.client._async.prune import AsyncPruneGroup
    from pgrecall.client._async.service import AsyncKeysGroup, AsyncServiceGroup
    from pgrecall.embedded.shared_server import EmbeddedServer
    from pgrecall.models.access import Access, AccessKind
    from pgrecall.models.context import ContextBlock, Order
    from pgrecall.models.imports import ImportReport, Problem
    from pgrecall.models.maintenance import Status
    from pgrecall.models.memories import Draft, Remembered, StoredMemory
    from pgrecall.models.search import SearchResult

CONTEXT_CANDIDATES = 50
"""From how many memories a block of context is chosen where k is not given."""


class AsyncMemory:
    """One tenant's memory.

    >>> async with AsyncMemory() as memory:                                        # doctest: +SKIP
    ...     await memory.remember("Mira signs the harbour contract on Friday", layer="episodic")
    ...     result = await memory.search("when is the contract signed?")
    ...     for hit in result.hits:
    ...         print(f"{hit.score:.2f}  {hit.body}")

    What is done every day are methods; everything else is in groups: ``prune``, ``layers``, ``settings``,
    ``jobs``, ``keys``, ``feedback``, ``calibration``, ``export``, ``charts``, ``history``, ``maintenance``
    and ``service``.

    Nothing is opened before ``async with`` or ``await memory.open()``. Models, files and the link graph are
    worked on in threads, and callbacks such as a token counter may be called there. A task that is cancelled
    has its statement cancelled in Postgres too, and its transaction leaves nothing behind. A client belongs
    to the event loop it was opened in.

    Without a database URL (argument or ``PGRECALL_DATABASE_URL``) an embedded Postgres is started and its
    schema kept current; another server is used as it is, once ``pgrecall init`` has run. Calls that do no
    harm twice are tried again when their connection breaks, others never.

    Args:
        url: libpq connection string of the database.
        tenant: the tenant whose memories these are; no transaction of this client sees others.
        settings: everything else; read from the environment when None. ``configuration`` returns it.
        embedder: use this one instead of the one that ``settings`` describe.
        reranker: use this one instead of the one that ``settings`` describe.
        timeout: seconds that one call may take in Postgres before it is cancelled there; None: those of
            ``settings``, and without them no limit.

    Raises:
        InvalidInput: the tenant or the timeout is invalid.
        DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch, EmbedderMismatch: on opening, the database
            cannot be used.
    """

    calibration: GroupProperty[AsyncCalibrationGroup] = GroupProperty("feedback", "AsyncCalibrationGroup")
    charts: GroupProperty[AsyncChartsGroup] = GroupProperty("charts", "AsyncChartsGroup")
    export: GroupProperty[AsyncExportGroup] = GroupProperty("jobs", "AsyncExportGroup")
    feedback: GroupProperty[AsyncFeedbackGroup] = GroupProperty("feedback", "AsyncFeedbackGroup")
    history: GroupProperty[AsyncHistoryGroup] = GroupProperty("charts", "AsyncHistoryGroup")
    jobs: GroupProperty[AsyncJobsGroup] = GroupProperty("jobs", "AsyncJobsGroup")
    keys: GroupProperty[AsyncKeysGroup] = GroupProperty("service", "AsyncKeysGroup")
    layers: GroupProperty[AsyncLayersGroup] = GroupProperty("layers", "AsyncLayersGroup")
    maintenance: GroupProperty[AsyncMaintenanceGroup] = GroupProperty("maintenance", "AsyncMaintenanceGroup")
    prune: GroupProperty[AsyncPruneGroup] = GroupProperty("prune", "AsyncPruneGroup")
    service: GroupProperty[AsyncServiceGroup] = GroupProperty("service", "AsyncServiceGroup")
    settings: GroupProperty[AsyncSettingsGroup] = GroupProperty("layers", "AsyncSettingsGroup")

    def __init__(
        self,
        url: str | None = None,
        *,
        tenant: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        timeout: float | None = None,
    ) -> None:
        resources = Resources(url, settings=settings, embedder=embedder, reranker=reranker, timeout=timeout)
        self._connection = AsyncConnection(resources, resources.settings.tenant if tenant is None else tenant)
        # sync: self.__enter__()  # a Memory is open once it is made

    async def open(self) -> Self:
        """Finds or starts the database and checks that it can be used. Harmless when repeated.

        Entering the client as a context manager does it. A view has nothing to open.

        Raises:
            DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch, EmbedderMismatch: it cannot be used.
        """
        await self._connection.open()
        return self

    async def close(self) -> None:
        """Closes connections and models; the last user of an embedded server stops it.

        Closing a view closes nothing.
        """
        await self._connection.close()

    async def __aenter__(self) -> Self:
        try:
            return await self.open()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def tenant(self) -> str:
        """The tenant whose memories these are."""
        return self._connection.tenant

    @property
    def session_id(self) -> str | None:
        """The session of an agent that searches and accesses belong to; None outside of one."""
        return self._connection.session_id

    @property
    def configuration(self) -> Settings:
        """The settings this client was made with. Those a tenant can tune are in ``settings``."""
        return self._connection.resources.settings

    @property
    def embedder(self) -> Embedder | None:
        """The model that turns texts into vectors; None: searches go by words and names only."""
        return self._connection.resources.embedder

    @property
    def reranker(self) -> Reranker | None:
        """The model that reads candidates together with the question; None without one."""
        return self._connection.resources.reranker

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server that this client uses; None for another server."""
        return self._connection.resources.server

    def for_tenant(self, tenant: str) -> Self:
        """Returns a view of this client for another tenant.

        It shares connections and models. Closing it closes nothing.

        Raises:
            InvalidInput: no tenant can have this name.
        """
        return self._with(self._connection.view(tenant=tenant))

    def session(self, session_id: str) -> Self:
        """Returns a view of this client within a session of an agent.

        Its searches and the accesses it records belong to the session. Memories that were just used in a
        session are cues for its searches: their associates rank higher. Closing it closes nothing, so it may
        be used as a context manager or without.

        >>> async with memory.session("chat-42") as session:                       # doctest: +SKIP
        ...     result = await session.search("when is the contract signed?")
        ...     await session.record_access(result.hits[0].id, "used")

        Raises:
            InvalidInput: the name is empty.
        """
        if not session_id:
            raise InvalidInput("The session has no name.", hint="Name it, as in session('chat-42').")
        return self._with(self._connection.view(session_id=session_id))

    def _with(self, connection: AsyncConnection) -> Self:
        view = copy(self)
        view._connection = connection
        return view

    def pool_figures(self) -> dict[str, int]:
        """Returns figures of the connection pool: its size, how many connections are free, how many wait."""
        return self._connection.pool_figures()

    async def remember(self, body: str, **fields: Unpack[DraftFields]) -> Remembered:
        """Stores one memory; a memory with the same key is updated.

        >>> await memory.remember(                                                 # doctest: +SKIP
        ...     "Mira signs the harbour contract on Friday", key="contract", tags=("harbour",)
        ... )

        Args:
            body: the text to remember.
            fields: those of :class:`Draft`.

        Returns:
            Its id and key, and whether it was created, updated, revived or unchanged.

        Raises:
            InvalidInput: a field cannot be stored. Nothing was.
            EmbedderError: the text could not be embedded. Nothing was stored.
        """
        from pgrecall.client._async.memories import remember
        from pgrecall.models.memories import Draft

        [stored] = await remember(self._connection, [Draft(body, **fields)])
        return stored

    async def remember_many(
        self, drafts: Iterable[Draft], *, now: datetime | None = None
    ) -> builtins.list[Remembered]:
        """Stores drafts in one transaction: all or none.

        Args:
            drafts: the memories to store.
            now: time to use instead of the database's clock.

        Returns:
            What became of each draft, in their order.

        Raises:
            InvalidInput: one of them cannot be stored. None was.
            EmbedderError: a text could not be embedded. None was stored.
        """
        from pgrecall.client._async.memories import remember

        return await remember(self._connection, drafts, now=now)

    async def import_drafts(
        self,
        items: Iterable[Draft | Problem],
        *,
        source: str,
        strict: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> ImportReport:
        """Stores what an importer reads, batch by batch, each in a transaction of its own.

        Args:
            items: drafts, and problems of what could not be read.
            source: where the drafts come from; keys of it that are gone are reported as removed.
            strict: stop at the first problem instead of collecting problems.
            progress: called with the number of items read since the last call.

        Raises:
            InvalidInput: with ``strict``, the first problem. Earlier batches stay stored.
        """
        from pgrecall.client._async.memories import import_drafts

        return await import_drafts(self._connection, items, source=source, strict=strict, progress=progress)

    async def get(self, memory: int | str, *, now: datetime | None = None) -> StoredMemory:
        """Reads one memory with its vitality and links. It does not count as an access.

        >>> stored = await memory.get("contract")                                  # doctest: +SKIP
        >>> print(stored.body, stored.vitality.zone)                               # doctest: +SKIP

        Args:
            memory: its id or key.
            now: time to use instead of the database's clock.

        Raises:
            MemoryNotFound: there is none in this tenant.
        """
        from pgrecall.operations.memories import get

        return await self._connection.execute(get(memory, now))

    async def keys_of(self, source: str) -> builtins.list[str]:
        """Lists the keys of the live memories that came from a source, in order."""
        from pgrecall.operations.memories import keys_of_source

        return await self._connection.execute(keys_of_source(source))

    async def search(self, query: str = "", **options: Unpack[SearchOptions]) -> SearchResult:
        """Finds the memories that answer a question, best first.

        >>> result = await memory.search("when is the contract signed?", k=5)      # doctest: +SKIP
        >>> [(hit.score, hit.body) for hit in result.hits]                         # doctest: +SKIP

        What is returned is logged as shown, which counts a tenth of an access each, unless ``log=False`` or a
        ``now`` is given.

        Args:
            query: the question.
            options: those of :class:`SearchRequest`, such as ``k``, ``layers``, ``tags``, ``since``.

        Returns:
            Hits with their scores. ``skipped`` names what did not run: meaning, when the embedder failed;
            reranking, when it failed or ran out of time; the log, when the database can only be read.

        Raises:
            InvalidInput: the query is empty, too long or holds only stop words; a filter, a profile or an arm
                is unknown; a number is out of its bounds.
            MemoryNotFound: a cue does not exist.
        """
        options.setdefault("session_id", self.session_id)
        return await search(self._connection, SearchRequest(query, **options))

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
        **options: Unpack[SearchOptions],
    ) -> ContextBlock:
        """Builds one text for an agent's prompt from the memories that answer a question.

        A memory is shown whole or left out, with the reason. Near-duplicates, and what a newer memory
        replaces, are shown once. What is in the text, and nothing else, is logged as shown.

        >>> block = await memory.context("when is the contract signed?")  # doctest: +SKIP
        >>> prompt = f"{block.text}\\n\\nUser: when?"                  # doctest: +SKIP

        Args:
            query: the question.
            budget_tokens: tokens the whole text may take, 1 to 10,000,000.
            per_layer: layer to how many memories of it at most.
            order: ``score`` shows the best first, ``time`` the oldest.
            mmr_lambda: weight of the score against being unlike what is chosen already, 0 to 1.
            duplicate_at: cosine from which a memory counts as a near-duplicate, in (0, 1].
            count_tokens: how many tokens a text has; an estimate when None.
            options: those of :meth:`search`; ``k`` (50, at most 200) is how many memories to choose from.

        Raises:
            InvalidInput: the budget, a quota, a weight or the order is invalid, a layer is unknown, the token
                counter returned no count, or the search was refused.
        """
        from pgrecall.models.context import ContextRequest

        options.setdefault("k", CONTEXT_CANDIDATES)
        options.setdefault("explain", False)
        options.setdefault("session_id", self.session_id)
        request = ContextRequest(
            budget_tokens, dict(per_layer or {}), order, mmr_lambda, duplicate_at, count_tokens
        )
        return await build_context(self._connection, SearchRequest(query, **options), request)

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
        """Records one access to a memory, which makes it livelier.

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
        from pgrecall.models.access import Access
        from pgrecall.operations.access import record_access

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
        from pgrecall.operations.access import record_accesses

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

        Each counts as an access in the search's session, which makes it livelier: once for each search,
        however often it is repeated.

        >>> result = await memory.search("when is the contract signed?")           # doctest: +SKIP
        >>> await memory.used(result.search_id, result.hits[0].id)                 # doctest: +SKIP

        Args:
            search_id: ``search_id`` of the :class:`SearchResult` or :class:`ContextBlock`.
            memories: one or more, by id or key.
            now: time to use instead of the database's clock.

        Returns:
            For how many that is new.

        Raises:
            InvalidInput: the search was not logged or does not exist (any more), or it did not show one of
                them. Nothing was recorded.
            MemoryNotFound: there is no memory with such a key.
        """
        from pgrecall.operations.feedback import used

        return await self._connection.execute(used(search_id, memories, now))

    async def rejected(
        self,
        search_id: int | None,
        memories: int | str | Sequence[int | str],
        *,
        now: datetime | None = None,
    ) -> int:
        """Records which memories that a search showed did not answer the question.

        It makes none less lively; calibration and reports learn from it. Of ``used`` and ``rejected`` the
        later one stands; an access that was recorded stays recorded. Arguments, result and errors are those
        of :meth:`used`.
        """
        from pgrecall.operations.feedback import rejected

        return await self._connection.execute(rejected(search_id, memories, now))

    async def link(
        self,
        source: int | str,
        target: int | str,
        relation: str = "links_to",
        *,
        weight: float = 1.0,
        now: datetime | None = None,
    ) -> bool:
        """Links two memories.

        >>> await memory.link("contract", "harbour", "mentions")                   # doctest: +SKIP

        Args:
            source: id or key of the memory the link starts from.
            target: id or key of the memory it points to.
            relation: one of :data:`pgrecall.models.memories.RELATIONS`.
            weight: strength, in (0, 100].
            now: time to use instead of the database's clock.

        Returns:
            Whether the link is new.

        Raises:
            MemoryNotFound, InvalidInput: unknown memory or relation, a self link, a weight out of its bounds.
        """
        from pgrecall.operations.memories import link

        return await self._connection.execute(link(source, target, relation, weight, now))

    async def supersede(self, old: int | str, new: int | str, *, now: datetime | None = None) -> bool:
        """Records that a memory replaces another, which default search then leaves out.

        Args:
            old: id or key of the memory that is replaced.
            new: id or key of the one that replaces it.
            now: time to use instead of the database's clock.

        Returns:
            Whether that is new.

        Raises:
            MemoryNotFound, InvalidInput: no such memory, or the two would replace each other.
        """
        from pgrecall.operations.memories import supersede

        return await self._connection.execute(supersede(old, new, now))

    async def pin(self, memory: int | str, pinned: bool = True, *, now: datetime | None = None) -> bool:
        """Pins a memory, so that no prune plan takes it, or unpins it.

        Args:
            memory: its id or key.
            pinned: False to unpin.
            now: time to use instead of the database's clock.

        Returns:
            Whether that is a change.

        Raises:
            MemoryNotFound: there is none in this tenant.
        """
        from pgrecall.operations.memories import pin

        return await self._connection.execute(pin(memory, pinned, now))

    async def forget(self, memory: int | str, *, hard: bool = False, now: datetime | None = None) -> bool:
        """Archives a memory, or deletes it with everything about it.

        >>> await memory.forget("contract", hard=True)                             # doctest: +SKIP

        Args:
            memory: its id or key.
            hard: delete it for good.
            now: time to use instead of the database's clock.

        Returns:
            Whether anything changed.
        """
        from pgrecall.operations.memories import forget

        return await self._connection.execute(forget(memory, hard, now))

    async def status(self, *, now: datetime | None = None) -> Status:
        """Reads what this tenant holds, the state of its jobs, and the versions of schema and server.

        Args:
            now: time to use instead of the database's clock.
        """
        from pgrecall.jobs.catalogue import job_statuses, states_of_jobs
        from pgrecall.operations.service import server_version, status

        held = await self._connection.execute(status(now))
        version = await self._connection.execute(server_version())
        jobs = job_statuses(await self._connection.execute(states_of_jobs(now)))
        revision = self._connection.resources.revision
        return replace(held, revision=revision, server_version=version, jobs=jobs)
