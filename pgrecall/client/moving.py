"""A tenant moved: everything of it out to a file, and in again elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pgrecall import __version__, workflows
from pgrecall.client.driver import Driver
from pgrecall.database.pool import Database
from pgrecall.workflows import Aside, Flow

if TYPE_CHECKING:
    from pgrecall.models.export import Export


class Moving(Driver):
    """What takes a tenant from one database to another."""

    def export_to(
        self,
        target: str | Path | BinaryIO,
        *,
        embeddings: bool = True,
        progress: Callable[[int, int], None] = lambda *_: None,
        now: datetime | None = None,
    ) -> Export:
        """Writes everything of this tenant as lines of JSON, as of one instant, while others go on writing.

        That is all memories with their vectors, links, accesses and histories, settings, layers and models,
        plans and feedback; keys of the HTTP service and runs of jobs stay behind.

        Args:
            target: a file, packed where its name ends in ``.gz``, there once it is whole; or a binary stream.
            embeddings: with False vectors are left out; a worker makes them anew.
            progress: called with the lines that are written and those there are, in the thread that works.

        Raises:
            InvalidInput: the file cannot be written.
        """
        path = Path(target) if isinstance(target, str) else target
        transfer = workflows.Transfer(self.tenant, embeddings, progress)
        return self._drive(
            _Moved(
                self._job_database,
                transfer,
                lambda database: workflows.write_export(
                    database, path, transfer, f"pgrecall {__version__}", now
                ),
            ).flow()
        )

    def import_from(
        self,
        source: str | Path | BinaryIO,
        *,
        embeddings: bool = True,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> Export:
        """Makes what ``export_to`` wrote this tenant, which has to hold nothing yet: all of it or nothing.

        Ids stay what they were, so that searches, vitality now and in the past, plans and whatever speaks of
        a memory by its id go on. Nothing else can be stored for this tenant meanwhile.

        Args:
            source: the file, unpacked where its name ends in ``.gz``, or a binary stream.
            embeddings: with False vectors are left out; a worker makes them anew.
            progress: called with the lines that are stored and those there are, in the thread that works.

        Raises:
            InvalidInput: the tenant is not empty, the export is damaged or not whole, or it does not fit this
                database; nothing was stored.
            EmbedderMismatch: its vectors are of another embedder than this database's.
        """
        path = Path(source) if isinstance(source, str) else source
        transfer = workflows.Transfer(self.tenant, embeddings, progress)
        return self._drive(
            _Moved(
                self._job_database, transfer, lambda database: workflows.read_export(database, path, transfer)
            ).flow()
        )


@dataclass(frozen=True, slots=True)
class _Moved:
    """A transfer in a thread, over connections of its own, whatever the client's colour."""

    database: Callable[[], AbstractContextManager[Database]]
    transfer: workflows.Transfer
    move: Callable[[Database], Export]

    def flow(self) -> Flow[Export]:
        moved: Export = yield Aside(self._work, self.transfer.stop.set)
        return moved

    def _work(self) -> Export | None:
        try:
            with self.database() as database:
                return self.move(database)
        except workflows.BrokenOff:  # and so nobody waits for what became of it
            return None
