"""``memory.history``: versions of memories, changes since a cursor, and vitality in the past."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import Bounds, Count, Number, declared
from pgrecall.nouns.history import operations
from pgrecall.nouns.history.models import Change, ChangeKind, FieldDifference, Version
from pgrecall.nouns.history.word_differences import fields_by_word
from pgrecall.nouns.memories.models import Remembered
from pgrecall.nouns.status.models import LayerStatus

if TYPE_CHECKING:
    from pgrecall.nouns.memories.models import VitalityTerms


class AsyncHistoryGroup(AsyncGroup):
    """The past: the text and fields of memories before each change, all changes in their order, and vitality.

    >>> for version in await memory.history.versions("contract"):        # doctest: +SKIP
    ...     print(version.number, version.written_at, version.body)
    >>> await memory.history.restore("contract", 1)                      # doctest: +SKIP
    >>> cursor = None                                                    # doctest: +SKIP
    >>> while page := await memory.history.changes(cursor):              # doctest: +SKIP
    ...     cursor = page[-1].cursor  # keep it: it holds across restarts
    """

    @declared("versions", "GET /v1/versions/{memory}")
    async def versions(
        self,
        memory: int | str,
        *,
        limit: Annotated[int, Bounds(1, 1001)] = 50,
        before: Number | None = None,
    ) -> tuple[Version, ...]:
        """Lists the versions of a memory, newest first, beginning with the current one.

        A page has at most 16 MB of texts and metadata, so it may end before its limit. For the next one, give
        the number of the last version as ``before``.

        Args:
            memory: its id or key.
            limit: maximum number of versions, 1 to 1,001.
            before: only versions with lower numbers.

        Returns:
            The versions, each with its time, role and interface.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: the limit is out of its bounds, or ``before`` is no number of a version.
        """
        return await self._connection.execute(operations.versions(memory, limit, before))

    @declared("diff_versions", "GET /v1/differences/{memory}")
    async def diff(
        self, memory: int | str, earlier: Number, later: Number | None = None
    ) -> tuple[FieldDifference, ...]:
        """Compares two versions of a memory, or one with the current one; texts also word by word.

        What differs between very long texts is shown as a whole.

        Args:
            memory: its id or key.
            earlier: the number of a version.
            later: the number of another version; by default the current one.

        Returns:
            The fields that differ, with both values.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: it has no such version, or the version is no longer kept.
        """
        found = await self._connection.execute(operations.diff_versions(memory, earlier, later))
        return await self._connection.run(partial(fields_by_word, found))

    @declared("restore_version", "PUT /v1/versions/{memory}")
    async def restore(self, memory: int | str, version: Number, *, now: datetime | None = None) -> Remembered:
        """Restores the text and fields of a version; what they replace becomes a version.

        Its layer, links, pin and accesses stay, and an archived memory stays archived.

        Args:
            memory: its id or key.
            version: the number of the version.
            now: time to use instead of the database's clock.

        Returns:
            Its id and key, and whether it was updated, or unchanged because it already has this text.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: it has no such version, or the version is no longer kept.
            EmbedderError: the text could not be embedded. Nothing was changed.
        """
        from pgrecall.nouns.memories._async_drafts import restore_version

        return await restore_version(self._connection, memory, version, now)

    @declared("changes", "GET /v1/changes")
    async def changes(
        self, since: str | None = None, *, limit: Count = 100, kinds: Sequence[ChangeKind] | None = None
    ) -> tuple[Change, ...]:
        """Reads the next changes since a cursor, in order; none is lost or repeated.

        The list is empty while nothing has changed. A change appears once all transactions
        of the server that began before it have ended.

        Args:
            since: the ``cursor`` of the last change that was read; by default it begins with the first that
                is kept.
            limit: maximum number of changes, 1 to 1,000.
            kinds: only changes of these kinds.

        Returns:
            The changes, each with the cursor after it.

        Raises:
            InvalidInput: the cursor is invalid, lies ahead of the database, or is older than what is kept; a
                kind is unknown; the limit is out of its bounds.
        """
        return await self._connection.execute(operations.changes(since, limit, kinds))

    async def cursor(self) -> str:
        """Returns the cursor after the last change.

        To copy a tenant, take it first, then read the memories, then the changes since.
        """
        return await self._connection.execute(operations.change_cursor())

    async def vitality(self, memory: int | str, at: datetime) -> VitalityTerms:
        """Computes every term of a memory's vitality at a past time, by the rates and settings of today.

        Args:
            memory: its id or key.
            at: the time.

        Returns:
            The terms of its vitality, and its zone.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: it did not exist then.
        """
        return await self._connection.execute(operations.vitality_as_of(memory, at))

    @declared("zones", "GET /v1/history/zones")
    async def zones(self, at: datetime) -> tuple[LayerStatus, ...]:
        """Counts the live memories of each layer in each zone at a time in the past.

        Args:
            at: a time in the past.

        Returns:
            Counts of all layers.
        """
        return await self._connection.execute(operations.zones_as_of(at))
