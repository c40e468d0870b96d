"""The state that all routes share: the client, the access policy, the queue, telemetry and readiness."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from starlette.requests import Request

from pgrecall.errors import RecallError
from pgrecall.faces.http.access_policy import AccessPolicy, KnownTenants
from pgrecall.faces.http.bodies_in_flight import BodiesInFlight
from pgrecall.faces.http.imports import Imports
from pgrecall.faces.http.logs import Log, error_location
from pgrecall.faces.http.metrics import HttpMetrics
from pgrecall.faces.http.request_queue import RequestQueue
from pgrecall.faces.telemetry.census import CensusCache
from pgrecall.faces.telemetry.telemetry import Telemetry
from pgrecall.faces.telemetry.tracing import Tracing
from pgrecall.schema import state as schema
from pgrecall.search.rerank.reranker import warm_up

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.settings import Settings

WARM_UP_TEXT = "a text"
"""Embedded at the start, so that no request waits for the model."""

OTHER_THREADS = 24
"""Threads beyond one for each request that runs: for imports, one of each tenant, and for the models."""

READINESS_TIMEOUT = 3.0
"""Seconds the database has to answer a readiness probe."""


class Service:
    """One service on one event loop.

    Args:
        memory: the open client; its owner closes it.
        policy: who may use the service.
        log: receives a line for each request.
        tracing: makes spans; by default with OpenTelemetry's global provider.
    """

    def __init__(
        self,
        memory: AsyncMemory,
        policy: AccessPolicy,
        log: Log,
        tracing: Tracing | None = None,
    ) -> None:
        self.memory = memory
        self.policy = policy
        self.log = log
        self.census = CensusCache(memory.service.census, self._report_census)
        self.tenants = KnownTenants()
        self._slots = self.settings.http_concurrency or self.settings.pool_size
        self.queue = RequestQueue(
            self._slots, self.settings.http_queue, self.settings.http_timeout, self._share()
        )
        self.bodies = BodiesInFlight(self.settings.http_tenant_bytes)
        self.importing: set[str] = set()
        self.imports = Imports(self.settings.http_body_bytes, self.importing)
        self.metrics = HttpMetrics(self.queue, self.bodies)
        self.metrics.register_pool(memory.pool_stats)
        self.telemetry = Telemetry(tracing, self.metrics)
        self._expected_schema = schema.head_revision(), schema.functions_fingerprint()
        self._loading: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def settings(self) -> Settings:
        return self.memory.configuration

    def _share(self) -> int | None:
        """Slots that one tenant may take; None: all."""
        if not self.policy.several_tenants:
            return None
        half = min(self._slots, self.settings.pool_size) // 2
        return self.settings.http_share or max(half, 1)

    def start(self) -> None:
        """Starts to load the models; requests are served meanwhile."""
        # Python's default has few threads on a small machine, so one tenant's slow calls would hold them all.
        threads = ThreadPoolExecutor(self._slots + OTHER_THREADS, "pgrecall")
        asyncio.get_running_loop().set_default_executor(threads)
        self._loading = asyncio.create_task(self._load_models())

    async def stop(self) -> None:
        """Ends imports. The threads of models and of embedders that hang go on: nobody can cancel them."""
        self._stopping = True
        await self.imports.stop()
        await self.census.stop()
        if self._loading is not None:
            self._loading.cancel()

    async def problems(self) -> list[str]:
        """The reasons why the service is not ready, a sentence each; empty when it is."""
        problems = ["The service is stopping."] if self._stopping else []
        problems += self._model_problems()
        try:
            async with asyncio.timeout(READINESS_TIMEOUT):
                state = await self.memory.service.schema()
        except RecallError as error:
            return [*problems, error.message]
        except TimeoutError:
            return [*problems, f"Postgres did not answer within {READINESS_TIMEOUT:g} seconds."]
        # Cells are upgraded one after the other while this service goes on; it checks each that it opens.
        alone = self.settings.cells is None
        if alone and (state.revision, state.functions) != self._expected_schema:
            problems.append("The database schema has changed since this service started.")
        return problems

    def _report_census(self, error: RecallError) -> None:
        self.log.warning("the census failed", error=type(error).__name__)

    def _model_problems(self) -> list[str]:
        if self._loading is None or not self._loading.done() or self._loading.cancelled():
            return ["The models are loading."]
        error = self._loading.exception()
        return [] if error is None else [f"The models cannot be loaded: {error}"]

    async def _load_models(self) -> None:
        embedder, reranker = self.memory.embedder, self.memory.reranker
        try:
            if embedder is not None:
                await asyncio.to_thread(embedder.embed, [WARM_UP_TEXT])
            if reranker is not None:
                await asyncio.to_thread(warm_up, reranker)
        except RecallError as error:
            self.log.error("a model cannot be loaded", problem=str(error), **error_location(error))
            raise
        self.log.info("models are loaded")


def get_service(request: Request) -> Service:
    """The service that received the request."""
    service: Service = request.app.state.service
    return service
