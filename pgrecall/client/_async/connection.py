"""A client's connection: SQL operations of one tenant, and the models, which work in threads."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Generic, Protocol, Self, TypeVar, overload

from pgrecall.client.concurrency import AsyncLock, async_run, async_sleep
from pgrecall.client.resources import Resources, require_tenant
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.errors import DatabaseError, DatabaseUnavailable
from pgrecall.models.embedding import Embedded
from pgrecall.operations.operation import Operation, in_doubt, may_repeat, was_lost
from pgrecall.search.embed.embedder import QUESTION_TOKENS, Embedder, embed_with_tokens, for_queries
from pgrecall.search.embed.passages import embed_memories
from pgrecall.search.rerank.reranker import Reranker, try_rerank
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome

T = TypeVar("T")

PAUSES = (0.0, 0.1)
"""Seconds at most before an operation is tried again, once for each; shortened at random."""


@dataclass(slots=True)
class _Opened:
    """What a client has opened; its views see it too."""

    database: AsyncDatabase | None = None
    lock: AsyncLock = field(default_factory=AsyncLock)


class AsyncConnection:
    """What a client and its groups share: a tenant, at most one session, the database and the models."""

    def __init__(self, resources: Resources, tenant: str) -> None:
        self.resources = resources
        self.tenant = require_tenant(tenant)
        self.session_id: str | None = None
        self._opened = _Opened()
        self._is_view = False

    def view(self, *, tenant: str | None = None, session_id: str | None = None) -> Self:
        """The same connection for another tenant, or within a session."""
        view = copy(self)
        view._is_view = True
        view.tenant = self.tenant if tenant is None else require_tenant(tenant)
        view.session_id = self.session_id if session_id is None else session_id
        return view

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
        """The open database.

        Raises:
            DatabaseUnavailable: the client was not opened.
        """
        if self._opened.database is None:
            raise DatabaseUnavailable(
                "This client is not open.", hint="Use `async with AsyncMemory(...)`, or await its open()."
            )
        return self._opened.database

    def pool_figures(self) -> dict[str, int]:
        """Statistics of the connection pool; empty before its first use."""
        return {} if self._opened.database is None else self._opened.database.figures()

    async def open(self) -> None:
        """Finds or starts the database, once; a view opens nothing."""
        async with self._opened.lock:
            if not self._is_view and self._opened.database is None:
                url = await self._prepare_url()
                self._opened.database = AsyncDatabase(url, **self.resources.limits())

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
            if self._opened.database is not None:
                await self._opened.database.close()
            await async_run(self.resources.release)

    async def execute(self, operation: Operation[T]) -> T:
        """Executes an operation for the tenant in a transaction of its own.

        An operation that a lost connection, a deadlock or an upgrade interrupted is repeated if that does no
        harm.
        """
        pauses = iter(PAUSES)
        while True:
            try:
                return operation.read(await self.database.fetch(operation, tenant=self.tenant))
            except DatabaseError as error:
                pause = next(pauses, None) if may_repeat(error, operation) else None
                if pause is None and was_lost(error) and not operation.repeatable:
                    raise in_doubt(error) from error
                if pause is None:
                    raise
                await async_sleep(random.uniform(0, pause))

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
        return self._fitting(await async_run(partial(embed_with_tokens, embedder, texts, QUESTION_TOKENS)))

    async def embed_memories(self, texts: Sequence[tuple[str, str]]) -> list[Embedded]:
        """Returns the vector of each memory, given as title and body, with token signs and passages.

        Raises:
            EmbedderError: the embedder failed, or returned something else.
            EmbedderMismatch: its vectors have other dimensions than those of the database.
        """
        assert self.embedder is not None  # callers check
        return self._fitting(await async_run(partial(embed_memories, self.embedder, texts)))

    def _fitting(self, made: list[Embedded]) -> list[Embedded]:
        if made:
            self.resources.require_dimensions(len(made[0].vector))
        return made

    async def rerank(
        self, query: str, candidates: Sequence[RerankCandidate], deadline: float | None
    ) -> RerankOutcome:
        """Scores all candidates within ``deadline`` seconds; a failure is part of the outcome."""
        assert self.reranker is not None  # callers check
        top = len(candidates)
        return await async_run(
            partial(try_rerank, self.reranker, query, candidates, top_n=top, deadline=deadline)
        )


class AsyncGroup:
    """A group of methods that share the connection of a client."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection


G = TypeVar("G", bound=AsyncGroup)


class _Client(Protocol):
    _connection: AsyncConnection


class GroupProperty(Generic[G]):
    """An attribute such as ``memory.prune``: the group for the tenant and session of that client.

    On the class, as in ``Memory.prune``, it is the class of the group, so that ``help`` and
    ``create_autospec`` find the methods. The module is imported on first use: most programs need few groups.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._package = owner.__module__.rpartition(".")[0]

    @overload
    def __get__(self, client: None, owner: type) -> type[G]: ...
    @overload
    def __get__(self, client: _Client, owner: type) -> G: ...
    def __get__(self, client: _Client | None, owner: type) -> type[G] | G:
        group: type[G] = getattr(import_module(f"{self._package}.{self._module}"), self._name)
        return group if client is None else group(client._connection)
