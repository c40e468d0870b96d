"""``memory.imports``: what imports did, archiving what a source no longer holds, and undo."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import Count, Id, declared
from pgrecall.nouns.imports import operations
from pgrecall.nouns.imports.models import ImportSummary, ImportUndone, KeysRenamed, UnusedImport
from pgrecall.nouns.operation import rows_of


class AsyncImportsGroup(AsyncGroup):
    """Lists and undoes imports that stored, changed or archived something.

    1,000 are kept, first the newest of each source.

    >>> [last, *_] = await memory.imports.list(source="notes")     # doctest: +SKIP
    >>> undone = await memory.imports.undo(last.id)                # doctest: +SKIP
    >>> print(undone.deleted, undone.given_back, undone.kept)      # doctest: +SKIP
    """

    @declared("list_imports", "GET /v1/imports")
    async def list(self, *, limit: Count = 20, source: str | None = None) -> tuple[ImportSummary, ...]:
        """Lists imports that changed something, newest first: what each stored, changed and archived.

        Args:
            limit: maximum number of imports, 1 to 1,000.
            source: only imports of this source.

        Returns:
            What each did when it ran.

        Raises:
            InvalidInput: the limit is out of its bounds.
        """
        return await self._connection.execute(operations.imports(limit, source))

    @declared("unused_imports", "GET /v1/imports/unused", nothing="Every imported memory was used.")
    async def unused(self, *, limit: Count = 50) -> tuple[UnusedImport, ...]:
        """Lists live memories that an import added and that were never used since, newest first.

        Args:
            limit: maximum number of memories, 1 to 1,000.

        Returns:
            The memories, each with the time of its import.
        """
        return await self._connection.execute(rows_of("unused_imports", UnusedImport, limit=limit))

    async def archive(
        self,
        source: str,
        keys: Collection[str],
        *,
        import_id: int | None = None,
        now: datetime | None = None,
    ) -> int:
        """Archives memories that a source no longer holds, in one step, as a part of an import.

        Undoing the import restores them. So does an import that finds them again.

        Args:
            source: the source, as given to ``import_drafts``.
            keys: keys of its memories, as in ``removed`` of the report. Others are passed over.
            import_id: the import that found it, as in its report; None begins one.
            now: time to use instead of the database's clock.

        Returns:
            How many were archived.
        """
        if not keys:
            return 0
        return await self._connection.execute(operations.archive_imported(source, import_id, list(keys), now))

    async def rename(
        self,
        source: str,
        keys: Mapping[str, str],
        *,
        import_id: int | None = None,
        now: datetime | None = None,
    ) -> KeysRenamed:
        """Gives memories of a source new keys, because their notes were renamed, as a part of an import.

        Undoing the import gives the old keys back. Otherwise as ``Memory.rename_keys``.

        Args:
            source: the source, as given to ``import_drafts``.
            keys: new keys by present ones.
            import_id: the import that found it; None begins one.
            now: time to use instead of the database's clock.

        Returns:
            How many have a new key, and the id of the import, for ``import_drafts``.

        Raises:
            InvalidInput: a new key cannot be stored, or two memories would have it. None was renamed.
        """
        if not keys:
            return KeysRenamed(0, import_id)
        return await self._connection.execute(operations.rename_imported(source, import_id, keys, now))

    @declared("undo_import", "POST /v1/imports/undo", in_query=True)
    async def undo(
        self, import_id: Id | None = None, *, source: str | None = None, now: datetime | None = None
    ) -> ImportUndone:
        """Undoes an import: what it changed or archived is restored, what it added deleted.

        Changed memories get back their earlier text, fields, links and key. Added ones are deleted for good;
        one that was used or linked since is archived instead. What was changed since stays, and is named.
        Restored texts have no vectors until the job ``embed`` makes them.

        Args:
            import_id: the id of the import; by default the last one not undone.
            source: only an import of this source.
            now: time to use instead of the database's clock.

        Returns:
            What was undone, and what was kept and why.

        Raises:
            InvalidInput: there is no such import, or it was already undone. Nothing was changed.
        """
        return await self._connection.execute(operations.undo_import(import_id, source, now))
