"""What the routes share: the client, who is let in, what is counted, and whether all is ready."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request

from pgrecall.errors import RecallError
from pgrecall.faces.http.admission import Admission
from pgrecall.faces.http.logs import Log, whereabouts
from pgrecall.faces.http.metrics import Metrics
from pgrecall.faces.http.tracing import Tracing
from pgrecall.schema import state as schema
from pgrecall.search.rerank.reranker import warm_up

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.settings import Settings

WARMING = "a text"
"""What the embedder is asked for at the start, so that no request waits for its model."""

READY_SECONDS = 3.0
"""How long the database may take to say that it is there."""


@dataclass(frozen=True, slots=True)
class Door:
    """Who is let in.

    Attributes:
        needs_key: no request without a key; else those without one act for the service's own tenant.
        hosts: what requests may call this machine; None lets them call it anything. Without keys it keeps
            pages of a browser out that reach this machine by a name of their own.
    """

    needs_key: bool
    hosts: frozenset[str] | None = None


class Service:
    """One service, of one event loop. The memory it is given is open, and closed by whoever opened it.

    ``token`` lets in whoever knows it, to the models alone.
    """

    def __init__(
        self,
        memory: AsyncMemory,
        door: Door,
        log: Log,
        tracing: Tracing | None = None,
        *,
        token: str | None = None,
    ) -> None:
        self.memory = memory
        self.door = door
        self.token = token
        self.log = log
        self.tracing = tracing or Tracing()
        self.metrics = Metrics()
        self.admission = Admission(
            self.settings.http_concurrency or self.settings.pool_size,
            self.settings.http_queue,
            self.settings.http_timeout,
        )
        self.metrics.watch(self.admission, memory.pool_figures)
        self._expected = schema.head_revision(), schema.functions_fingerprint()
        self._warming: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def settings(self) -> Settings:
        return self.memory.configuration

    @property
    def warm(self) -> bool:
        """Whether the models are loaded."""
        return not self._cold()

    def start(self) -> None:
        """Loads the models, while requests are answered already."""
        self._warming = asyncio.create_task(self._warm())

    async def stop(self) -> None:
        """Waits for a model that is being loaded: its thread cannot be called off."""
        self._stopping = True
        if self._warming is not None:
            await asyncio.wait({self._warming})

    async def unready(self) -> list[str]:
        """Why requests should go elsewhere, a sentence each; empty when all is ready."""
        found = ["The service is stopping."] if self._stopping else []
        found += self._cold()
        try:
            async with asyncio.timeout(READY_SECONDS):
                state = await self.memory.service.schema()
        except RecallError as error:
            return [*found, error.message]
        except TimeoutError:
            return [*found, f"Postgres has not answered within {READY_SECONDS:g} seconds."]
        if (state.revision, state.functions) != self._expected:
            found.append("The schema of the database has changed since this service was started.")
        return found

    def _cold(self) -> list[str]:
        warming = self._warming
        if warming is None or not warming.done():
            return ["The models are being loaded."]
        error = warming.exception()
        return [] if error is None else [f"The models cannot be loaded: {error}"]

    async def _warm(self) -> None:
        embedder, reranker = self.memory.embedder, self.memory.reranker
        try:
            if embedder is not None:
                await asyncio.to_thread(embedder.embed, [WARMING])
            if reranker is not None:
                await asyncio.to_thread(warm_up, reranker)
        except RecallError as error:
            self.log.error("a model cannot be loaded", problem=str(error), **whereabouts(error))
            raise
        self.log.info("models are loaded")


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service
