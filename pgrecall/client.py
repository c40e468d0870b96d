"""``Memory``: pgrecall from Python. A thin driver of operations and flows; it holds no SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, TypeVar, Unpack, runtime_checkable

from pgrecall import flows, operations
from pgrecall.arguments import DraftFields, SearchOptions
from pgrecall.database import Database
from pgrecall.embedded import EmbeddedServer
from pgrecall.encoding import Vector
from pgrecall.errors import DatabaseUnavailable, EmbedderError, EmbedderMismatch
from pgrecall.models import (
    Access,
    AccessKind,
    Draft,
    GraphReport,
    ImportReport,
    Problem,
    Remembered,
    SearchRequest,
    SearchResult,
    Status,
    StoredMemory,
)
from pgrecall.operations import Operation
from pgrecall.schema import migrate
from pgrecall.search.embedding import Embedder, dimensions_of, make_embedder
from pgrecall.settings import Settings, load_settings

T = TypeVar("T")


class Memory:
    """One tenant's memory.

    >>> with Memory() as memory:                                   # doctest: +SKIP
    ...     memory.remember("Mira signs the harbour contract on Friday", layer="episodic")
    ...     for hit in memory.search("when is the contract signed?").hits:
    ...         print(f"{hit.score:.2f}  {hit.body}")

    Without a database URL (argument or ``PGRECALL_DATABASE_URL``) an embedded Postgres is started
    and its schema kept current; another server is used as it is, once ``pgrecall init`` has run.

    Args:
        url: libpq connection string of the database.
        tenant: whose memories these are; transactions of this client see no others.
        settings: everything else; read from the environment when absent.
        embedder: replaces the one that ``settings`` describe.

    Raises:
        DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch: the database cannot be used.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        tenant: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.settings = settings or load_settings()
        self.tenant = tenant or self.settings.tenant
        self.embedder = embedder or make_embedder(self.settings)
        self._owns_embedder = embedder is None
        self._server: EmbeddedServer | None = None
        configured = self.settings.database_url
        address = url or (configured.get_secret_value() if configured else None)
        if address is None:
            self._server = EmbeddedServer.start(self.settings.data_dir)
            address = self._server.url
        try:
            self._database = self._opened(address)
        except BaseException:
            self._release_server()
            raise

    def _opened(self, url: str) -> Database:
        timeout = self.settings.connect_timeout
        if self._server is not None:
            state = migrate.ensure_current(url, dimensions=dimensions_of(self.embedder), timeout=timeout)
        else:
            state = migrate.inspect(url, timeout=timeout)
        migrate.require_current(state)
        if self.embedder is not None and self.embedder.dimensions != state.dimensions:
            raise EmbedderMismatch(
                f"The embedder {self.embedder.name} gives {self.embedder.dimensions} dimensions, "
                f"this database keeps {state.dimensions}.",
                hint="Configure the embedder it was made for, or use another database.",
            )
        self._revision = state.revision or ""
        database = Database(url, pool_size=self.settings.pool_size, connect_timeout=timeout)
        database.open()
        return database

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server this client uses, if it does."""
        return self._server

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives back connections; the last user of an embedded server stops it."""
        self._database.close()
        owned: object = self.embedder if self._owns_embedder else None
        if isinstance(owned, _Closable):
            owned.close()
        self._release_server()

    def _release_server(self) -> None:
        if self._server is not None:
            self._server.release()
            self._server = None

    def remember(self, body: str, **fields: Unpack[DraftFields]) -> Remembered:
        """Stores one memory; a memory with the same key is updated.

        Raises:
            InvalidInput: a field cannot be stored; nothing was.
            EmbedderError: the text could not be embedded; nothing was stored.
        """
        return self.remember_many([Draft(body, **fields)])[0]

    def remember_many(self, drafts: Iterable[Draft], *, now: datetime | None = None) -> list[Remembered]:
        """Stores drafts in one transaction: all or, with InvalidInput, none."""
        batch = list(drafts)
        if not batch:
            return []
        return list(self._drive(flows.remember(batch, self._embedder_name, now=now)).remembered)

    def link(
        self,
        source: int | str,
        target: int | str,
        relation: str = "links_to",
        *,
        weight: float = 1.0,
        now: datetime | None = None,
    ) -> bool:
        """Links two memories, by id or key; True when the link is new.

        Raises:
            MemoryNotFound, InvalidInput: unknown memory or relation, a self link, a weight out of (0, 100].
        """
        return self._run(operations.link(source, target, relation, weight, now))

    def supersede(self, old: int | str, new: int | str, *, now: datetime | None = None) -> bool:
        """Says that a memory replaces another, which default search then leaves out; True when that is news.

        Raises:
            MemoryNotFound, InvalidInput: no such memory, or the two would replace each other.
        """
        return self._run(operations.supersede(old, new, now))

    def record_access(
        self,
        memory: int | str,
        kind: AccessKind = "read",
        *,
        at: datetime | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
        now: datetime | None = None,
    ) -> bool:
        """Logs one use of a memory, which makes it livelier; False when its idempotency key was seen.

        Raises:
            MemoryNotFound, InvalidInput: no such memory or kind, or a time in the future.
        """
        access = Access(memory, kind, at, session_id, idempotency_key)
        return self.record_accesses([access], now=now) == 1

    def record_accesses(self, accesses: Iterable[Access], *, now: datetime | None = None) -> int:
        """Logs uses in one transaction; returns how many were not seen before."""
        return self._run(operations.record_accesses(accesses, now))

    def search(self, query: str, **options: Unpack[SearchOptions]) -> SearchResult:
        """The memories that answer a question, best first.

        When the embedder fails, words and names answer alone and ``skipped`` says so.

        Raises:
            InvalidInput: the query is empty, too long or holds only stop words; a filter is unknown.
        """
        request = SearchRequest(query, **options)
        return self._drive(flows.search(request, embed=self.embedder is not None))

    def get(self, memory: int | str, *, now: datetime | None = None) -> StoredMemory:
        """One memory by id or key, with its vitality and links; it does not count as an access.

        Raises:
            MemoryNotFound: there is none in this tenant.
        """
        return self._run(operations.get(memory, now))

    def forget(self, memory: int | str, *, hard: bool = False, now: datetime | None = None) -> bool:
        """Archives a memory; ``hard`` deletes it and everything about it, for good."""
        return self._run(operations.forget(memory, hard, now))

    def import_drafts(
        self,
        items: Iterable[Draft | Problem],
        *,
        source: str,
        strict: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> ImportReport:
        """Stores what an importer reads, batch by batch, each batch committed on its own.

        Args:
            source: where the drafts come from; keys of it that are gone are reported as removed.
            strict: stop at the first problem instead of collecting problems.
            progress: called with the number of items read since the last call.

        Raises:
            InvalidInput: with ``strict``, the first problem; earlier batches stay.
        """
        flow = flows.import_drafts(
            items, self._embedder_name, source=source, strict=strict, progress=progress
        )
        return self._drive(flow)

    def refresh_statistics(self, *, now: datetime | None = None) -> int:
        """Recounts how rare each word is and how lively each layer is by its median.

        Imports do it at their end. Returns how many memories were counted.
        """
        return self._run(operations.refresh_statistics(now))

    def refresh_graph(self) -> GraphReport:
        """Finds the memories that alone hold parts of the link graph together, and protects them.

        Imports do it at their end. Protection keeps a memory out of the archived zone; it never ranks.
        """
        return self._drive(flows.refresh_graph())

    def status(self, *, now: datetime | None = None) -> Status:
        """What this tenant holds, zone by zone, and the database it lives in."""
        state = self._run(operations.status(now))
        return operations.with_server(state, self._revision, self._database.facts().version_text)

    @property
    def _embedder_name(self) -> str | None:
        return self.embedder.name if self.embedder else None

    def _run(self, operation: Operation[T]) -> T:
        try:
            return self._once(operation)
        except DatabaseUnavailable:
            if not operation.repeatable:
                raise
            # A restarted server leaves broken connections behind; the pool makes new ones.
            return self._once(operation)

    def _once(self, operation: Operation[T]) -> T:
        return operation.read(self._database.fetch(operation.sql, operation.parameters, tenant=self.tenant))

    def _drive(self, flow: flows.Flow[T]) -> T:
        answer: Any = None
        while True:
            try:
                step = flow.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result
            answer = self._embedded(step.texts) if isinstance(step, flows.Embed) else self._run(step)

    def _embedded(self, texts: tuple[str, ...]) -> list[Vector] | EmbedderError:
        assert self.embedder is not None
        try:
            return list(self.embedder.embed(texts))
        except EmbedderError as error:
            return error


@runtime_checkable
class _Closable(Protocol):
    """An embedder that holds connections."""

    def close(self) -> None: ...
