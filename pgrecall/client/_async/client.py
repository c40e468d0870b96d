"""The part common to all clients: opening, closing, views for a tenant or a session, and groups of
methods."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pgrecall.client._async.group import GroupProperty
from pgrecall.client.warming import first_search
from pgrecall.errors import InvalidInput

if TYPE_CHECKING:
    from pgrecall.client._async.connection import AsyncConnection
    from pgrecall.embedded.shared_server import EmbeddedServer
    from pgrecall.nouns.charts._async import AsyncChartsGroup
    from pgrecall.nouns.erasure._async import AsyncErasureGroup
    from pgrecall.nouns.export._async import AsyncExportGroup
    from pgrecall.nouns.history._async import AsyncHistoryGroup
    from pgrecall.nouns.imports._async import AsyncImportsGroup
    from pgrecall.nouns.jobs._async import AsyncJobsGroup
    from pgrecall.nouns.keys._async import AsyncKeysGroup
    from pgrecall.nouns.layers._async import AsyncLayersGroup
    from pgrecall.nouns.maintenance._async import AsyncMaintenanceGroup
    from pgrecall.nouns.plans._async import AsyncPlansGroup
    from pgrecall.nouns.quality._async import AsyncQualityGroup
    from pgrecall.nouns.readers._async import AsyncReadersGroup
    from pgrecall.nouns.service._async import AsyncServiceGroup
    from pgrecall.nouns.settings._async import AsyncSettingsGroup
    from pgrecall.search.embed.embedder import Embedder
    from pgrecall.search.rerank.reranker import Reranker
    from pgrecall.settings import Settings


class AsyncClient:
    """The part of :class:`AsyncMemory` that opens and closes, and leads to its groups of methods."""

    charts: GroupProperty[AsyncChartsGroup] = GroupProperty("charts", "AsyncChartsGroup")
    erasure: GroupProperty[AsyncErasureGroup] = GroupProperty("erasure", "AsyncErasureGroup")
    export: GroupProperty[AsyncExportGroup] = GroupProperty("export", "AsyncExportGroup")
    history: GroupProperty[AsyncHistoryGroup] = GroupProperty("history", "AsyncHistoryGroup")
    imports: GroupProperty[AsyncImportsGroup] = GroupProperty("imports", "AsyncImportsGroup")
    jobs: GroupProperty[AsyncJobsGroup] = GroupProperty("jobs", "AsyncJobsGroup")
    keys: GroupProperty[AsyncKeysGroup] = GroupProperty("keys", "AsyncKeysGroup")
    layers: GroupProperty[AsyncLayersGroup] = GroupProperty("layers", "AsyncLayersGroup")
    maintenance: GroupProperty[AsyncMaintenanceGroup] = GroupProperty("maintenance", "AsyncMaintenanceGroup")
    plans: GroupProperty[AsyncPlansGroup] = GroupProperty("plans", "AsyncPlansGroup")
    quality: GroupProperty[AsyncQualityGroup] = GroupProperty("quality", "AsyncQualityGroup")
    readers: GroupProperty[AsyncReadersGroup] = GroupProperty("readers", "AsyncReadersGroup")
    service: GroupProperty[AsyncServiceGroup] = GroupProperty("service", "AsyncServiceGroup")
    settings: GroupProperty[AsyncSettingsGroup] = GroupProperty("settings", "AsyncSettingsGroup")

    def __init__(
        self,
        url: str | None = None,
        *,
        tenant: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        timeout: float | None = None,
        cells: str | None = None,
        replica: str | None = None,
    ) -> None:
        from pgrecall.client._async.connection import AsyncConnection  # help texts need no connection
        from pgrecall.client.resources import Resources

        resources = Resources(
            url,
            settings=settings,
            embedder=embedder,
            reranker=reranker,
            timeout=timeout,
            cells=cells,
            replica=replica,
        )
        self._connection = AsyncConnection(resources, resources.settings.tenant if tenant is None else tenant)
        # sync: self.__enter__()  # a Memory is open once it is made

    async def open(self) -> Self:
        """Finds or starts the database and checks that it can be used. Repeating it is harmless. Entering the
        client as a context manager calls it. A view has nothing to open.

        Returns:
            This client.

        Raises:
            DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch, EmbedderMismatch: it cannot be used.
        """
        await self._connection.open()
        return self

    async def keep_warm(self, connections: int = 1) -> None:
        """Keeps connections open, and prepares each before it is used, in the background. It is for processes
        that live long, right after they have opened the client: the first search of a connection that is not
        prepared takes some 75 ms. Clients of cells, and connections by way of a pooler, stay as they are.

        Args:
            connections: how many are kept open, each with some 30 MB of the server's memory. Others are
                prepared too, and closed when they are idle for ten minutes.

        Raises:
            InvalidInput: the number is not positive, or the client is closed.
        """
        if connections < 1:
            raise InvalidInput(f"{connections} connections cannot be kept warm.", hint="Give at least 1.")
        if self._connection.resources.routes is None:
            search = first_search(self._connection.resources)
            await self._connection.database.keep_warm(search, self.tenant, connections)

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
        """The tenant that owns the memories."""
        return self._connection.tenant

    @property
    def session_id(self) -> str | None:
        """The session of an agent that searches and accesses belong to; None outside of one."""
        return self._connection.session_id

    @property
    def configuration(self) -> Settings:
        """The settings this client was created with. Those that a tenant can change are in ``settings``."""
        return self._connection.resources.settings

    @property
    def embedder(self) -> Embedder | None:
        """The model that turns texts into vectors; None if searches use only words and names."""
        return self._connection.resources.embedder

    @property
    def reranker(self) -> Reranker | None:
        """The model that reads candidates together with the query; None without one."""
        return self._connection.resources.reranker

    @property
    def can_plan(self) -> bool:
        """Whether a language model is configured, which plans a search with ``plan=True``."""
        return self._connection.resources.planner is not None

    @property
    def server(self) -> EmbeddedServer | None:
        """The embedded server that this client uses; None for another server."""
        return self._connection.resources.server

    def for_tenant(self, tenant: str, *, also_reads: Sequence[str] = ()) -> Self:
        """Returns a view of this client for another tenant.

        It shares connections and models. Closing it closes nothing.

        Args:
            tenant: the name of the tenant, 1 to 200 characters.
            also_reads: other tenants that its searches also rank, while these let it read them.

        Raises:
            InvalidInput: no tenant can have this name.
        """
        return self._with(self._connection.view(tenant=tenant, also_reads=also_reads))

    def session(self, session_id: str) -> Self:
        """Returns a view of this client within a session of an agent.

        Its searches and the accesses it records belong to the session. Memories that were just used in a
        session are cues for its searches: their associates rank higher. Closing it closes nothing, so it may
        be used as a context manager or without.

        >>> async with memory.session("chat-42") as session:                       # doctest: +SKIP
        ...     result = await session.search("when is the contract signed?")
        ...     await session.record_access(result.hits[0].id, "used")

        Args:
            session_id: the name of the session.

        Raises:
            InvalidInput: the name is empty.
        """
        if not session_id:
            raise InvalidInput("The session has no name.", hint="Give a name, as in session('chat-42').")
        return self._with(self._connection.view(session_id=session_id))

    def for_project(self, project: str, *, only: bool = False) -> Self:
        """Returns a view of this client whose searches are asked in a project, which new memories get.

        >>> memory = memory.for_project("github.com/mira/clock")                   # doctest: +SKIP

        Memories of other projects, by ``project`` in their metadata, are found only where they are clearly
        better. ``remember`` stores new memories with the project unless their metadata names one. Closing
        the view closes nothing.

        Args:
            project: the name of the project.
            only: whether only its memories are searched.

        Raises:
            InvalidInput: the name is empty.
        """
        if not project:
            raise InvalidInput(
                "The project has no name.", hint="Give a name, as in for_project('github.com/mira/clock')."
            )
        return self._with(self._connection.view(project=(project, only)))

    def unlogged(self) -> Self:
        """Returns a view of this client whose searches are not logged as shown, unless they say so."""
        return self._with(self._connection.view(logs=False))

    def _with(self, connection: AsyncConnection) -> Self:
        view = copy(self)
        view._connection = connection
        return view

    def pool_stats(self) -> dict[str, int]:
        """Returns figures of the connection pool: its size, how many connections are free, how many wait."""
        return self._connection.pool_stats()
