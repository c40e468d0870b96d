"""The driver under a client: how operations and flows are performed, written once for both colours.

The classes that build on it only choose an operation or a flow and return what ``_run`` or ``_drive``
makes of it. :class:`pgrecall.client.sync_driver.SyncDriver` makes a result of it,
:class:`pgrecall.client.async_driver.AsyncDriver` something to be awaited; so the same methods are
those of both clients. The coroutines here are the one text of what happens: the synchronous driver runs
them through without ever waiting.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pgrecall import workflows
from pgrecall.client.ground import Ground
from pgrecall.database.pool import Database
from pgrecall.errors import DatabaseError, DatabaseUnavailable, InvalidInput, SchemaMismatch
from pgrecall.operations import Operation
from pgrecall.search.embed.embedder import Embedder
from pgrecall.search.rerank.reranker import Reranker
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall.embedded.shared_server import EmbeddedServer

T = TypeVar("T")

REPEATS = 2
"""How often an operation is tried again where its connection was lost and repeating it does no harm."""

ROLLED_BACK = ("40P01", "40001")
"""SQLSTATEs of a deadlock and of a failed serialization: nothing was done, and the next attempt may do it."""


class Driver(ABC):
    """A tenant, a session, and the ground that a client shares with its views."""

    tenant: str
    session_id: str | None

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
        self._ground = Ground(url, settings=settings, embedder=embedder, reranker=reranker, timeout=timeout)
        self._is_view = False
        self.tenant = _known(self.settings.tenant if tenant is None else tenant)
        self.session_id = None
        self._begin()

    @property
    def settings(self) -> Settings:
        """What this client was made with."""
        return self._ground.settings

    @property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors; None: words and names only."""
        return self._ground.tools.embedder

    @property
    def reranker(self) -> Reranker | None:
        """What reads candidates beside the question, if anything does."""
        return self._ground.tools.reranker

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server this client uses, if it does."""
        return self._ground.server

    def for_tenant(self, tenant: str) -> Self:
        """The same client for another tenant: it shares connections and models; closing it closes nothing.

        Raises:
            InvalidInput: no tenant can have this name.
        """
        return self._view(tenant=_known(tenant))

    def session(self, session_id: str) -> Self:
        """The same client within a session of an agent, which its searches and the uses it records belong to.

        What was used in a session just now are cues for its searches: their associates rank higher.
        Closing it closes nothing, so that it may be used in a ``with`` or without.

        >>> with memory.session("chat-42") as session:                             # doctest: +SKIP
        ...     hits = session.search("when is the contract signed?").hits
        ...     session.record_access(hits[0].id, "used")

        Raises:
            InvalidInput: the name is empty.
        """
        if not session_id:
            raise InvalidInput("The session has no name.", hint="Name it, as in session('chat-42').")
        return self._view(session_id=session_id)

    def _view(self, **differing: str) -> Self:
        view = copy(self)
        vars(view).update(differing, _is_view=True)
        return view

    def pool_figures(self) -> dict[str, int]:
        """What the pool of connections tells of itself: its size, how many are free, how many wait."""
        return self._pool_figures()

    @abstractmethod
    def _pool_figures(self) -> dict[str, int]: ...

    @property
    def _embedder_name(self) -> str | None:
        return self.embedder.name if self.embedder else None

    @property
    def _abilities(self) -> workflows.Abilities:
        return workflows.Abilities(
            self.embedder is not None,
            self.reranker.name if self.reranker else None,
            self.settings.reranker_pairs,
            self.settings.reranker_deadline,
        )

    @property
    def _revision(self) -> str:
        return self._ground.revision

    @abstractmethod
    def _begin(self) -> None:
        """What is done at once when a client is made."""

    @abstractmethod
    def _run(self, operation: Operation[T]) -> T:
        """What an operation results in, or how to await it."""

    @abstractmethod
    def _drive(self, flow: workflows.Flow[T]) -> T:
        """What a flow results in, or how to await it."""

    @abstractmethod
    def _job_database(self) -> AbstractContextManager[Database]:
        """An open database for the threads of jobs."""

    @abstractmethod
    async def _fetched(self, operation: Operation[T]) -> T:
        """One attempt at an operation."""

    @abstractmethod
    async def _aside(self, step: workflows.LocalStep) -> Any:
        """The answer to a step that needs no Postgres and may take long."""

    @abstractmethod
    async def _pause(self, seconds: float) -> None:
        """Time between two attempts."""

    async def _performed(self, operation: Operation[T]) -> T:
        """An operation, once more where the connection, a deadlock or an upgrade broke it off harmlessly."""
        try:
            return await self._fetched(operation)
        except DatabaseError as error:
            if not _may_be_repeated(error, operation):
                if _was_lost(error):
                    raise _unsure(error) from error
                raise
        return await self._repeated(operation)

    async def _repeated(self, operation: Operation[T]) -> T:
        """Further attempts at an operation that may succeed now."""
        import tenacity  # takes its time, and hardly ever is anything broken off

        repeating = tenacity.AsyncRetrying(
            sleep=self._pause,
            retry=tenacity.retry_if_exception(lambda error: _may_be_repeated(error, operation)),
            stop=tenacity.stop_after_attempt(REPEATS),
            wait=tenacity.wait_random_exponential(multiplier=0.1, max=1.0),
            reraise=True,
        )
        return await repeating(self._fetched, operation)

    async def _driven(self, flow: workflows.Flow[T]) -> T:
        """A flow from its first step to its result."""
        with closing(flow):
            proceed: Callable[[], workflows.Step] = partial(next, flow)
            while True:
                try:
                    step = proceed()
                except StopIteration as done:
                    result: T = done.value
                    return result
                try:
                    answer = await self._answered(step)
                except DatabaseError as error:  # the flow may know another way
                    proceed = partial(flow.throw, error)
                else:
                    proceed = partial(flow.send, answer)

    async def _answered(self, step: workflows.Step) -> Any:
        return await (self._performed(step) if isinstance(step, Operation) else self._aside(step))


def _may_be_repeated(error: BaseException, operation: Operation[T]) -> bool:
    """Whether another attempt may succeed and cannot do anything a second time."""
    if isinstance(error, DatabaseError) and error.sqlstate in ROLLED_BACK:
        return True
    if isinstance(error, SchemaMismatch) and error.replaced:  # by an upgrade: the new functions are there now
        return True
    return operation.repeatable and _was_lost(error)


def _was_lost(error: BaseException) -> bool:
    return isinstance(error, DatabaseUnavailable) and error.lost


def _unsure(error: DatabaseError) -> DatabaseUnavailable:
    """The same for what may have been done before the connection broke."""
    return DatabaseUnavailable(
        error.message,
        hint="It may have been done or not: look, or repeat it, which does no harm where it has a key or an "
        "idempotency key.",
        sqlstate=error.sqlstate,
        lost=True,
    )


def _known(tenant: str) -> str:
    """The tenant, refused where none can have this name: an empty one must never mean the default."""
    if not 0 < len(tenant) <= 200 or "\0" in tenant or "*" in tenant:
        raise InvalidInput(
            f"There can be no tenant {tenant!r}.", hint="Its name has 1 to 200 characters, no * and no NUL."
        )
    return tenant
