"""The driver under :class:`Memory`: it opens what a client needs and performs operations and flows.

Here is all the I/O of a client. The classes that build on it only choose an operation or a flow and
hand it to ``_run`` or ``_drive``, so an asynchronous client is a second driver, which awaits the
same steps, with methods that choose the same operations and flows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from pgrecall import flows, operations
from pgrecall.database import Database
from pgrecall.embedded import EmbeddedServer
from pgrecall.encoding import Vector
from pgrecall.errors import DatabaseError, DatabaseUnavailable, EmbedderError, EmbedderMismatch
from pgrecall.models import Status
from pgrecall.operations import Operation
from pgrecall.schema import migrate
from pgrecall.search.embedding import Embedder, dimensions_of, make_embedder
from pgrecall.settings import Settings, load_settings

T = TypeVar("T")


class Driver:
    """An open database, an embedder, and the loop that performs what is asked of them."""

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

    def __enter__(self) -> Self:
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
        rows = self._database.fetch(
            operation.sql, operation.parameters, tenant=self.tenant, durable=operation.durable
        )
        return operation.read(rows)

    def _drive(self, flow: flows.Flow[T]) -> T:
        proceed: Callable[[], flows.Step] = partial(next, flow)
        while True:
            try:
                step = proceed()
            except StopIteration as done:
                result: T = done.value
                return result
            try:
                answer: Any = self._embedded(step.texts) if isinstance(step, flows.Embed) else self._run(step)
            except DatabaseError as error:  # the flow may know another way
                proceed = partial(flow.throw, error)
            else:
                proceed = partial(flow.send, answer)

    def _embedded(self, texts: tuple[str, ...]) -> list[Vector] | EmbedderError:
        assert self.embedder is not None
        try:
            return list(self.embedder.embed(texts))
        except EmbedderError as error:
            return error

    def _with_server(self, state: Status) -> Status:
        """A status completed by what only the connection knows."""
        return operations.with_server(state, self._revision, self._database.facts().version_text)


@runtime_checkable
class _Closable(Protocol):
    """An embedder that holds connections."""

    def close(self) -> None: ...
