"""``memory.export``: in threads over its own connections."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.export.file import Transfer, read_export, write_export

if TYPE_CHECKING:
    from pgrecall.nouns.export.models import Export


class AsyncExportGroup(AsyncGroup):
    """Moves a tenant as a whole from one database to another."""

    async def write(
        self,
        target: str | Path | BinaryIO,
        *,
        embeddings: bool = True,
        progress: Callable[[int, int], None] = lambda *_: None,
        now: datetime | None = None,
    ) -> Export:
        """Writes all data of this tenant as JSON Lines, from one snapshot, while others continue to write.

        That is all memories with their vectors, links, accesses and histories, settings, layers and models,
        plans and feedback; not keys of the HTTP service and runs of jobs.

        Args:
            target: a file, compressed where its name ends in ``.gz``, which appears once it is complete; or
                a binary stream.
            embeddings: False omits the vectors; a worker computes them again.
            progress: called with the number of lines written and of all lines, in the thread that does the
                work.
            now: time to use instead of the database's clock.

        Returns:
            The tenant, and how many rows of each kind were written.

        Raises:
            InvalidInput: the file cannot be written.
        """
        path = Path(target) if isinstance(target, str) else target
        transfer = Transfer(self._connection.tenant, embeddings, progress)
        database = (await self._connection.tenant_database()).blocking
        work = partial(write_export, database, path, transfer, now)
        return await self._connection.run(work, transfer.stop.set)

    async def read(
        self,
        source: str | Path | BinaryIO,
        *,
        embeddings: bool = True,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> Export:
        """Reads what :meth:`write` wrote into this tenant, which must be empty: all of it or nothing.

        Ids stay the same, so that the log of searches, past vitality, plans and external references to ids
        stay valid. Nothing else can be stored for this tenant meanwhile.

        Args:
            source: the file, decompressed where its name ends in ``.gz``, or a binary stream.
            embeddings: False omits the vectors; a worker computes them again.
            progress: called with the number of lines stored and of all lines, in the thread that does the
                work.

        Returns:
            The tenant of the export, and how many rows of each kind were stored.

        Raises:
            InvalidInput: the tenant is not empty, the export is damaged or incomplete, or it does not fit
                this database. Nothing was stored.
            EmbedderMismatch: its vectors are of another embedder than this database's.
        """
        path = Path(source) if isinstance(source, str) else source
        transfer = Transfer(self._connection.tenant, embeddings, progress)
        database = (await self._connection.tenant_database()).blocking
        try:
            return await self._connection.run(
                partial(read_export, database, path, transfer), transfer.stop.set
            )
        finally:
            self._connection.note_write()
