"""The methods of a client that store, read and list memories."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from pgrecall.nouns.declared import declared
from pgrecall.nouns.memories._async_forgetting import AsyncForgetting
from pgrecall.nouns.memories.models import StoredMemory
from pgrecall.nouns.readers.models import Shared

if TYPE_CHECKING:
    from pgrecall.arguments import DraftFields, EditFields, FilterOptions
    from pgrecall.nouns.imports.report import ImportReport, Problem, Skipped
    from pgrecall.nouns.memories.models import Draft, ListedMemory, ListOrder, Remembered


class AsyncStore(AsyncForgetting):
    """The part of :class:`AsyncMemory` that stores, reads and lists memories."""

    async def remember(self, body: str, *, compare: bool = True, **fields: Unpack[DraftFields]) -> Remembered:
        """Stores one memory, or changes the one with the same key.

        That one keeps the fields that are not given; an empty value clears one. Without a key, a text that is
        already stored is not stored again.

        >>> await memory.remember(                                                 # doctest: +SKIP
        ...     "Mira signs the harbour contract on Friday", key="contract", tags=("harbour",)
        ... )

        Args:
            body: the text to remember.
            compare: look for a memory with the same or nearly the same text; False stores it in any case.
            fields: those of :class:`Draft`.

        Returns:
            Its id and key, and whether it was created, updated, revived or unchanged; ``changed`` names the
            fields of an existing memory that changed, ``similar`` a memory that it nearly repeats.

        Raises:
            InvalidInput: a field cannot be stored. Nothing was.
            EmbedderError: the text could not be embedded. Nothing was stored.
        """
        from pgrecall.nouns.memories._async_drafts import remember
        from pgrecall.nouns.memories.models import Draft

        [stored] = await remember(self._connection, [Draft(body, **fields)], compare=compare)
        return stored

    async def remember_many(
        self,
        drafts: Iterable[Draft],
        *,
        compare: bool = False,
        keep: bool = True,
        now: datetime | None = None,
    ) -> builtins.list[Remembered]:
        """Stores drafts in one transaction: all or none. Existing memories change as :meth:`remember` says.

        >>> await memory.remember_many([Draft("The yard opens at six", key="yard")])   # doctest: +SKIP

        Args:
            drafts: the memories to store.
            compare: look for memories that they repeat, as :meth:`remember` does; for up to 100 drafts.
            keep: False replaces existing memories as a whole; they keep only their accesses and a pin.
            now: time to use instead of the database's clock.

        Returns:
            The result of each draft, in their order.

        Raises:
            InvalidInput: one of them cannot be stored. None was.
            EmbedderError: a text could not be embedded. None was stored.
        """
        from pgrecall.nouns.memories._async_drafts import remember

        return await remember(self._connection, drafts, compare=compare, keep=keep, now=now)

    async def edit(
        self, memory: int | str, *, now: datetime | None = None, **changes: Unpack[EditFields]
    ) -> Remembered:
        """Changes fields of a memory and leaves the others, its links and its accesses as they are.

        >>> await memory.edit("contract", body="Mira signed the harbour contract", tags=())  # doctest: +SKIP

        Args:
            memory: its id or key.
            now: time to use instead of the database's clock.
            changes: the new values; None empties a field.

        Returns:
            Its id and key, whether it was updated or unchanged, and which fields changed.

        Raises:
            MemoryNotFound, InvalidInput: no such memory, or a value cannot be stored. Nothing was changed.
            EmbedderError: the new text could not be embedded. Nothing was changed.
        """
        from pgrecall.nouns.memories._async_drafts import edit

        return await edit(self._connection, memory, dict(changes), now)

    async def import_drafts(
        self,
        items: Iterable[Draft | Problem | Skipped],
        *,
        source: str,
        by_session: bool = False,
        strict: bool = False,
        progress: Callable[[int], None] = lambda _: None,
        import_id: int | None = None,
        now: datetime | None = None,
    ) -> ImportReport:
        """Stores the items that an importer yields, batch by batch, each in its own transaction.

        Args:
            items: drafts, problems, and counts of what was left out.
            source: source of the drafts; its keys that are missing from ``items`` are reported as removed.
            by_session: report only missing keys of the sessions of these drafts, because ``items`` are only
                a part of the source.
            strict: stop at the first problem instead of collecting problems.
            progress: called with the number of items read since the last call.
            import_id: the import that this continues, as ``imports.rename`` returns it.
            now: time to use instead of the database's clock: that of items without one, and the one as of
                which vitality is compared.

        Returns:
            How many were created, updated and unchanged, keys that are gone, problems, and what was left out.

        Raises:
            InvalidInput: with ``strict``, the first problem. Earlier batches stay stored.
        """
        from pgrecall.nouns.memories._async_drafts import import_drafts

        return await import_drafts(
            self._connection,
            items,
            source=source,
            by_session=by_session,
            strict=strict,
            progress=progress,
            import_id=import_id,
            now=now,
        )

    @declared("get", "GET /v1/memories/{memory}")
    async def get(self, memory: int | str, *, now: datetime | None = None) -> StoredMemory:
        """Reads a memory with its vitality and its links. It does not count as an access.

        >>> stored = await memory.get("contract")                                  # doctest: +SKIP
        >>> print(stored.body, stored.vitality.zone)                               # doctest: +SKIP

        Args:
            memory: its id or key.
            now: time to use instead of the database's clock.

        Returns:
            All its fields, with every term of its vitality.

        Raises:
            MemoryNotFound: there is none in this tenant.
        """
        from pgrecall.nouns.memories.operations import get

        return await self._connection.execute(get(memory, now))

    @declared("share", "POST /v1/share/{memory}", repeatable=True)
    async def share(self, memory: int | str, to: str, *, now: datetime | None = None) -> Shared:
        """Copies a memory into another tenant, which has allowed it with ``readers add --may-share``.

        The copy has the text, tags, role, author, layer and time of the event; ``origin`` in its metadata
        names the memory it was copied from. Passwords, keys and tokens are replaced by placeholders, and a
        directive becomes a statement. Sharing a memory again updates its copy.

        >>> await memory.share("contract", "team")                                 # doctest: +SKIP

        Args:
            memory: its id or key.
            to: the name of the other tenant.
            now: time to use instead of the database's clock.

        Returns:
            The id and the key of the copy, and whether it was created, updated or unchanged.

        Raises:
            MemoryNotFound: there is none in this tenant.
            InvalidInput: the other tenant does not allow it, has forgotten its copy, or has a memory of its
                own with the key of the copy. Nothing was copied.
        """
        from pgrecall.importers.secrets import without_secrets
        from pgrecall.nouns.readers.operations import share

        stored = await self.get(memory, now=now)
        texts = [stored.title, stored.body, stored.key or "", stored.author or "", *stored.tags]
        cleaned = [without_secrets(text) for text in texts]
        title, body, key, author, *tags = (text for text, _ in cleaned)
        copy = replace(
            stored, title=title, body=body, key=key or None, author=author or None, tags=tuple(tags)
        )
        there = await self._connection.at_shared(to, copying=True)
        copied = await there.execute(share(copy, to, now))
        return replace(copied, secrets=tuple(sum((found for _, found in cleaned), Counter())))

    async def list(
        self,
        *,
        order: ListOrder = "newest",
        after: str | None = None,
        limit: int = 50,
        session_id: str | None = None,
        now: datetime | None = None,
        **filters: Unpack[FilterOptions],
    ) -> tuple[ListedMemory, ...]:
        """Lists memories page by page, without a query. It does not count as an access.

        >>> page = await memory.list(tags=("harbour",), limit=20)                  # doctest: +SKIP
        >>> page = await memory.list(tags=("harbour",), limit=20, after=page[-1].cursor)  # doctest: +SKIP

        Args:
            order: ``newest`` first, or highest ``vitality`` first.
            after: the ``cursor`` of the last memory of the previous page, with the same order and filters.
            limit: memories on a page, 1 to 1000. A page ends earlier where its texts and metadata would
                exceed 16 MB.
            session_id: only memories of this session.
            now: time to use instead of the database's clock.
            filters: those of :class:`SearchFilter`, such as ``layers``, ``tags``, ``since``; not ``as_of``.

        Returns:
            One page; it is empty after the last memory.

        Raises:
            InvalidInput: a filter, the order, the cursor or the limit is invalid.
        """
        from pgrecall.nouns.memories.operations import list_memories
        from pgrecall.nouns.search.models import SearchFilter

        chosen = SearchFilter(**filters)
        return await self._connection.execute(
            list_memories(chosen, order=order, after=after, limit=limit, now=now, session_id=session_id)
        )

    async def keys_of(self, source: str) -> builtins.list[str]:
        """Lists the keys of the live memories of a source, in order.

        Args:
            source: the source, as given to :meth:`remember` or an import.

        Returns:
            The keys; empty if the source has no memories.
        """
        from pgrecall.nouns.memories.operations import keys_of_source

        return await self._connection.execute(keys_of_source(source))

    async def rename_keys(self, source: str, keys: Mapping[str, str], *, now: datetime | None = None) -> int:
        """Gives live memories of a source other keys. Their links, accesses and versions stay.

        >>> await memory.rename_keys("notes", {"inbox/winch": "harbour/winch"})    # doctest: +SKIP

        Args:
            source: the source, as given to :meth:`remember` or an import.
            keys: the new keys by the present ones. A new key that another memory has is passed over, and so
                is a present key without a live memory of this source.
            now: time to use instead of the database's clock.

        Returns:
            How many memories have a new key.

        Raises:
            InvalidInput: a new key cannot be stored, or two memories would have it. None was renamed.
        """
        from pgrecall.nouns.memories.operations import rename_keys

        return await self._connection.execute(rename_keys(source, keys, now))
