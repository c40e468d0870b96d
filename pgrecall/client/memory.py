"""``Memory``: everything pgrecall does, in one class."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING

from pgrecall.client.calibrating import Calibrating
from pgrecall.client.composing import Composing
from pgrecall.client.feedback import Judging
from pgrecall.client.jobs import Working
from pgrecall.client.keeping import Keeping
from pgrecall.client.moving import Moving
from pgrecall.client.picturing import Picturing
from pgrecall.client.pruning import Pruning
from pgrecall.client.remembering import Remembering
from pgrecall.client.searching import Searching
from pgrecall.client.serving import Serving
from pgrecall.client.surveying import Surveying
from pgrecall.client.sync_driver import SyncDriver
from pgrecall.client.tuning import Tuning
from pgrecall.client.using import Using
from pgrecall.search.embed.embedder import Embedder

if TYPE_CHECKING:
    from pgrecall.jobs.runner import Runner


class Capabilities(
    Remembering,
    Using,
    Searching,
    Composing,
    Judging,
    Calibrating,
    Keeping,
    Working,
    Pruning,
    Tuning,
    Picturing,
    Surveying,
    Serving,
    Moving,
):
    """What every client can do, whichever driver performs it."""


class Memory(Capabilities, SyncDriver):
    """One tenant's memory.

    >>> with Memory() as memory:                                   # doctest: +SKIP
    ...     memory.remember("Mira signs the harbour contract on Friday", layer="episodic")
    ...     for hit in memory.search("when is the contract signed?").hits:
    ...         print(f"{hit.score:.2f}  {hit.body}")

    Without a database URL (argument or ``PGRECALL_DATABASE_URL``) an embedded Postgres is started
    and its schema kept current; another server is used as it is, once ``pgrecall init`` has run.
    Threads may share one; a forked child gets connections of its own. Calls that do no harm twice are
    tried again when their connection breaks, others never.

    Args:
        url: libpq connection string of the database.
        tenant: whose memories these are; transactions of this client see no others.
        settings: everything else; read from the environment when absent.
        embedder: replaces the one that ``settings`` describe.
        reranker: replaces the one that ``settings`` describe.
        timeout: seconds that one call may take in Postgres, then it is broken off there; None: those of
            ``settings``, and without them any.

    Raises:
        DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch: the database cannot be used.
    """

    def runner(
        self,
        *,
        embedder: Embedder | None = None,
        stop: Event | None = None,
        progress: Callable[[str, int], None] = lambda *_: None,
    ) -> Runner:
        """What runs jobs of all tenants of this database, with this embedder or the client's own.

        It works with threads and blocks, so there is none in :class:`pgrecall.AsyncMemory`.
        """
        from pgrecall.jobs.runner import Runner

        return Runner(self._database, embedder=embedder or self.embedder, stop=stop, progress=progress)
