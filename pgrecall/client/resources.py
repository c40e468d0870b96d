"""Resources shared by a client and its tenant views: settings, models and the database."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pgrecall.errors import DatabaseError, EmbedderMismatch, InvalidInput
from pgrecall.schema import state as schema
from pgrecall.search.embed.embedder import Embedder, dimensions_of, make_embedder
from pgrecall.search.rerank.reranker import Reranker, make_reranker
from pgrecall.settings import Settings, load_settings

if TYPE_CHECKING:
    from pgrecall.embedded.shared_server import EmbeddedServer


class Resources:
    """Settings, models and the database of a client. Nothing is opened before ``prepare``.

    Models given by the caller are not closed.
    """

    def __init__(
        self,
        url: str | None,
        *,
        settings: Settings | None,
        embedder: Embedder | None,
        reranker: Reranker | None,
        timeout: float | None,
    ) -> None:
        self.settings = settings or load_settings()
        self.embedder = make_embedder(self.settings) if embedder is None else embedder
        self.reranker = make_reranker(self.settings) if reranker is None else reranker
        self.timeout = _require_timeout(self.settings.timeout if timeout is None else timeout)
        self.server: EmbeddedServer | None = None
        self.revision = ""
        made: list[object] = [
            model for model, given in ((self.embedder, embedder), (self.reranker, reranker)) if given is None
        ]
        self._own = [model for model in made if isinstance(model, _Closable)]
        self._url = url

    def prepare(self) -> str:
        """Finds or starts the database, checks it, and returns its URL. May take long.

        Raises:
            DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch, EmbedderMismatch: it cannot be used.
        """
        configured = self.settings.database_url
        address = self._url or (configured.get_secret_value() if configured else None)
        if address is not None:
            self._require_usable(schema.inspect(address, timeout=self.settings.connect_timeout))
            return address
        from pgrecall.embedded.shared_server import EmbeddedServer

        self.server = EmbeddedServer.start(self.settings.data_dir)
        try:
            self._require_usable(self._current(self.server))
        except BaseException:
            self.release_server()
            raise
        return self.server.serving_url

    def _current(self, server: EmbeddedServer) -> schema.SchemaState:
        """Upgrades an embedded server, and creates a role that can use memories and nothing else."""
        timeout = self.settings.connect_timeout
        with suppress(DatabaseError):  # the role does not exist before the first installation
            state = schema.inspect(server.serving_url, timeout=timeout)
            if schema.is_current(state):
                return state
        from pgrecall.embedded.shared_server import SERVING_ROLE
        from pgrecall.schema import roles

        dimensions = dimensions_of(self.embedder)
        state = schema.ensure_current(server.url, dimensions=dimensions, timeout=timeout)
        roles.create(server.url, SERVING_ROLE, may="worker", tenant="*", password=None, timeout=timeout)
        roles.keep_out_of_the_log(server.url, SERVING_ROLE, timeout=timeout)
        return state

    def _require_usable(self, state: schema.SchemaState) -> None:
        embedder = self.embedder
        schema.require_current(state)
        if embedder is not None and embedder.dimensions != state.dimensions:
            raise EmbedderMismatch(
                f"The embedder {embedder.name} gives {embedder.dimensions} dimensions, "
                f"this database keeps {state.dimensions}.",
                hint="Configure the embedder it was made for, or use another database.",
            )
        self.revision = state.revision or ""

    def limits(self) -> dict[str, Any]:
        """The arguments for opening a database."""
        return {
            "pool_size": self.settings.pool_size,
            "connect_timeout": self.settings.connect_timeout,
            "timeout": self.timeout,
        }

    def release(self) -> None:
        """Closes the models created here and releases the embedded server. May be called twice."""
        while self._own:
            self._own.pop().close()
        self.release_server()

    def release_server(self) -> None:
        """Ends this client's use of an embedded server."""
        if self.server is not None:
            self.server.release()
            self.server = None


@runtime_checkable
class _Closable(Protocol):
    """A model with connections to close."""

    def close(self) -> None: ...


def _require_timeout(timeout: float | None) -> float | None:
    if timeout is not None and not 0 < timeout <= 86400:
        raise InvalidInput(f"The timeout is {timeout} s; it must lie between 0 and 86400 (a day).")
    return timeout


def require_tenant(tenant: str) -> str:
    """The name, if it is valid for a tenant. An empty name never means the default.

    Raises:
        InvalidInput: no tenant can have this name.
    """
    if not 0 < len(tenant) <= 200 or "\0" in tenant or "*" in tenant:
        raise InvalidInput(
            f"There can be no tenant {tenant!r}.", hint="Its name has 1 to 200 characters, no * and no NUL."
        )
    return tenant
