"""A client's connection: SQL operations of one tenant, and the models, which work in threads."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from pgrecall.client._async.databases import AsyncDatabases
from pgrecall.client._async.replica import AsyncReplica
from pgrecall.client._async.tenant_finder import AsyncTenantFinder
from pgrecall.client.concurrency import async_run, async_sleep
from pgrecall.client.outages import Outages
from pgrecall.client.resources import Resources, require_tenant
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.errors import DatabaseError, DatabaseUnavailable, InvalidInput, RecallError
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.operation import Operation, in_doubt, may_repeat, was_lost
from pgrecall.nouns.search.models import ConversationTurn
from pgrecall.nouns.search.plan import Need
from pgrecall.search.embed.embedder import QUESTION_TOKENS, Embedder, embed_with_tokens, for_queries
from pgrecall.search.embed.passages import embed_memories
from pgrecall.search.rerank.reranker import Reranker, SupportsConversation, try_rerank
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome

if TYPE_CHECKING:
    from pgrecall.arguments import SearchOptions

T = TypeVar("T")

PAUSES = (0.0, 0.1)
"""Maximum seconds before each retry of an operation; shortened at random."""


class AsyncConnection:
    """The state shared by a client and its groups: tenant, session, database and models."""

    def __init__(self, resources: Resources, tenant: str) -> None:
        self.resources = resources
        self.tenant = require_tenant(tenant)
        self.session_id: str | None = None
        self._project: tuple[str | None, bool] = (None, False)
        self._logs = True
        self._opened = AsyncDatabases(Outages(resources.settings.connect_timeout))
        routes = resources.routes
        self._finder = None if routes is None else AsyncTenantFinder(routes, self._opened, resources)
        self._is_view = False
        self.also_reads = resources.settings.also_reads or ()
        self._reader: str | None = None
        self._sharer: str | None = None

    def view(
        self,
        *,
        tenant: str | None = None,
        also_reads: Sequence[str] = (),
        session_id: str | None = None,
        project: tuple[str, bool] | None = None,
        logs: bool = True,
    ) -> Self:
        """The same connection for another tenant and those that share with it, within a session, in a
        project, perhaps in it only, or without logging searches."""
        view = copy(self)
        view._is_view = True
        if tenant is not None:
            view.tenant, view.also_reads = require_tenant(tenant), tuple(map(require_tenant, also_reads))
        view.session_id = self.session_id if session_id is None else session_id
        view._project = self._project if project is None else project
        view._logs = self._logs and logs
        return view

    async def at_shared(self, shared: str, *, copying: bool = False) -> Self:
        """The same connection for reading a tenant that is shared with this one, outside of sessions; or for
        ``copying`` a memory into it.

        Raises:
            DatabaseUnavailable: its cell is not known, and the directory does not answer.
            InvalidInput: no cell has such a tenant.
        """
        view = self.view(tenant=shared)
        view.session_id = None
        view._reader, view._sharer = (None, self.tenant) if copying else (self.tenant, None)
        if self._finder is not None:
            await self._finder.require_placed(view.tenant)
        return view

    @property
    def asked_here(self) -> SearchOptions:
        """The options of a search that names neither its session nor its project."""
        project, only = self._project
        options: SearchOptions = {"session_id": self.session_id, "project": project, "project_only": only}
        return options if self._logs else {**options, "log": False}

    @property
    def embedder(self) -> Embedder | None:
        return self.resources.embedder

    @property
    def embedder_name(self) -> str | None:
        return self.resources.embedder.name if self.resources.embedder else None

    @property
    def reranker(self) -> Reranker | None:
        return self.resources.reranker

    @property
    def database(self) -> AsyncDatabase:
        """The open database, for what needs one whatever the tenant.

        Raises:
            DatabaseUnavailable: the client was not opened.
            InvalidInput: there are several: the client has cells.
        """
        if self.resources.routes is not None:
            raise InvalidInput(
                "This works on one database, but the client has cells.",
                hint="Use the URL of each cell instead of cells (PGRECALL_CELLS).",
            )
        if self._opened.single is None:
            raise DatabaseUnavailable(
                "This client is not open.", hint="Use `async with AsyncMemory(...)`, or await its open()."
            )
        return self._opened.single

    async def tenant_database(self, *, even_if_down: bool = False) -> AsyncDatabase:
        """The database in which the tenant lives.

        Args:
            even_if_down: also if its cell has just failed to answer.
        """
        if self._finder is None:
            return self.database
        return await self._finder.database(self.tenant, even_if_down=even_if_down)

    @property
    def has_replicas(self) -> bool:
        """Whether there may be a replica of the tenant's database. For a reader the primary answers."""
        if self._reader is not None:
            return False
        if self._finder is None:
            return self.resources.replica_url is not None
        return self._finder.may_have_replica(self.tenant)

    async def replica(self) -> AsyncReplica | None:
        """The replica of the tenant's database, if there is one."""
        url = self.resources.replica_url
        if self._finder is not None:
            url = await self._finder.replica_url(self.tenant)
        return None if url is None else await self._opened.replica_at(url, self.resources)

    def note_write(self) -> None:
        """Notes that something may have been written for the tenant until now: its searches will know it."""
        for replica in self._opened.replicas.values():
            replica.freshness.note_write(self.tenant)

    def pool_stats(self) -> dict[str, int]:
        """Statistics of the connection pools together; empty before the first use."""
        return self._opened.pool_stats()

    async def open(self) -> None:
        """Finds or starts the database, once; a view opens nothing. With cells each is opened when used."""
        async with self._opened.lock:
            if self.resources.routes is not None:
                await async_run(self.resources.prepare_routes)
            elif not self._is_view and self._opened.single is None:
                url = await self._prepare_url()
                self._opened.single = AsyncDatabase(url, **self.resources.limits())

    async def _prepare_url(self) -> str:
        """Finds or starts the database; returns its URL. A cancelled task leaves no server half started."""
        try:
            return await async_run(self.resources.prepare, lambda: None)
        except BaseException:
            await async_run(self.resources.release_server)
            raise

    async def close(self) -> None:
        """Closes connections and models; a view closes nothing."""
        if not self._is_view:
            await self._opened.close()
            await async_run(self.resources.release)

    async def execute(self, operation: Operation[T], *, of_memories: bool = True) -> T:
        """Executes an operation for the tenant in a transaction of its own.

        An operation that a lost connection, a deadlock or an upgrade interrupted is repeated if that does no
        harm; with cells also one that the cell refused because the tenant lives elsewhere or is about to.

        Args:
            of_memories: whether it may change memories, which the next search of this client must know.
        """
        finder, pauses, failed_at, lost = self._finder, iter(PAUSES), 0.0, False
        try:
            while True:
                unsent = False
                place = None if finder is None else finder.known(self.tenant)
                try:
                    database = await self.tenant_database()
                    acts_for = self._sharer or self.tenant
                    rows = await database.fetch(operation, tenant=acts_for, reader=self._reader)
                except RecallError as failure:
                    error = failure if finder is None else finder.note_error(self.tenant, failure)
                    if not isinstance(error, DatabaseError):
                        raise
                    failed_at, lost = failed_at or time.monotonic(), lost or was_lost(error)
                    unsent = isinstance(error, DatabaseUnavailable) and not lost
                    if finder and await finder.should_retry(self.tenant, error, operation, failed_at, place):
                        continue
                    await self._before_repeat(error, operation, pauses)
                else:
                    if finder is not None:
                        finder.note_answer(self.tenant)
                    return operation.read(rows)
        finally:
            if of_memories and operation.durable and not (operation.reads or unsent):
                self.note_write()

    async def _before_repeat(
        self, error: DatabaseError, operation: Operation[T], pauses: Iterator[float]
    ) -> None:
        """Waits before an operation is repeated; raises the error where it may not be, or not any more."""
        pause = next(pauses, None) if may_repeat(error, operation) else None
        if pause is None and was_lost(error) and not operation.repeatable:
            raise in_doubt(error) from error
        if pause is None:
            raise error
        await async_sleep(random.uniform(0, pause))

    @property
    def finder(self) -> AsyncTenantFinder | None:
        """The ways to the cells; None without cells."""
        return self._finder

    async def execute_anywhere(
        self, operation: Operation[T], name: object = None, tenant_of: Callable[[T], str] | None = None
    ) -> T:
        """Executes an operation that needs no tenant: in the cell that has an answer.

        Args:
            name: what is looked for, such as the digest of a key; its cell is asked first the next time.
            tenant_of: the tenant that an answer names, which must live in the cell that gave it.

        Raises:
            DatabaseUnavailable: no cell has it, and one of them does not answer.
        """
        if self._finder is None:
            return await self.execute(operation, of_memories=False)
        return await self._finder.ask_all(operation, self.tenant, name, tenant_of)

    async def run(self, work: Callable[[], T], give_up: Callable[[], None] | None = None) -> T:
        """Runs blocking work that needs no Postgres; the event loop goes on meanwhile."""
        return await async_run(work, give_up)

    async def embed_queries(self, texts: Sequence[str]) -> list[Embedded]:
        """Returns the vector of each query, with token signs.

        Raises:
            EmbedderError: the embedder failed, or returned something else.
            EmbedderMismatch: its vectors have other dimensions than those of the database.
        """
        assert self.embedder is not None  # callers check
        embedder = for_queries(self.embedder)
        made = await async_run(partial(embed_with_tokens, embedder, texts, QUESTION_TOKENS))
        return await self._fitting([query._replace(embedder=self.embedder.name) for query in made])

    async def embed_memories(self, texts: Sequence[tuple[str, str]]) -> list[Embedded]:
        """Returns the vector of each memory, given as title and body, with token signs and passages.

        Raises:
            EmbedderError: the embedder failed, or returned something else.
            EmbedderMismatch: its vectors have other dimensions than those of the database.
        """
        assert self.embedder is not None  # callers check
        return await self._fitting(await async_run(partial(embed_memories, self.embedder, texts)))

    async def _fitting(self, made: list[Embedded]) -> list[Embedded]:
        if made:
            # All cells have the dimensions of the first, and its replica can answer too.
            await self.tenant_database(even_if_down=True)
            self.resources.require_dimensions(len(made[0].vector))
        return made

    async def rerank(
        self,
        query: str,
        candidates: Sequence[RerankCandidate],
        deadline: float | None,
        turns: Sequence[ConversationTurn] = (),
        needs: Sequence[Need] = (),
    ) -> RerankOutcome:
        """Scores all candidates within ``deadline`` seconds; a failure is part of the outcome."""
        reranker, top = self.reranker, len(candidates)
        assert reranker is not None  # callers check
        if (turns or needs) and isinstance(reranker, SupportsConversation):
            reranker = reranker.in_conversation(turns, needs)
        return await async_run(partial(try_rerank, reranker, query, candidates, top_n=top, deadline=deadline))
