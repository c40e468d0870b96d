"""The methods of a client that forget memories, keep them from being forgotten, and restore them."""

from __future__ import annotations

from datetime import datetime

from pgrecall.nouns.declared import declared
from pgrecall.nouns.links._async import AsyncLinks


class AsyncForgetting(AsyncLinks):
    """The part of :class:`AsyncMemory` that pins, forgets and restores memories."""

    async def pin(self, memory: int | str, pinned: bool = True, *, now: datetime | None = None) -> bool:
        """Pins a memory, so that no prune plan archives it, or unpins it.

        >>> await memory.pin("contract")                                           # doctest: +SKIP

        Args:
            memory: its id or key.
            pinned: False to unpin.
            now: time to use instead of the database's clock.

        Returns:
            Whether anything changed.

        Raises:
            MemoryNotFound: there is none in this tenant.
        """
        from pgrecall.nouns.memories.operations import pin

        return await self._connection.execute(pin(memory, pinned, now))

    @declared("forget", "DELETE /v1/memories/{memory}")
    async def forget(self, memory: int | str, *, hard: bool = False, now: datetime | None = None) -> bool:
        """Archives a memory, so that search leaves it out by default. With ``hard`` it is deleted for good.

        >>> await memory.forget("contract", hard=True)                             # doctest: +SKIP

        Args:
            memory: its id or key.
            hard: delete the memory and everything about it for good.
            now: time to use instead of the database's clock.

        Returns:
            Whether anything changed.
        """
        from pgrecall.nouns.memories.operations import forget

        return await self._connection.execute(forget(memory, hard, now))

    @declared("forget_session", "POST /v1/forget-session", tag="memories")
    async def forget_session(
        self, session_id: str, *, dry_run: bool = False, now: datetime | None = None
    ) -> int:
        """Archives the memories of a session, so that search leaves them out by default.

        >>> await memory.forget_session("chat-42")                                 # doctest: +SKIP

        Args:
            session_id: the session that the memories belong to.
            dry_run: count them, and change nothing.
            now: time to use instead of the database's clock.

        Returns:
            How many memories were archived, or with ``dry_run`` would be.
        """
        from pgrecall.nouns.memories.operations import forget_session

        return await self._connection.execute(forget_session(session_id, dry_run, now))

    @declared("unarchive_session", "POST /v1/unarchive-session", tag="memories")
    async def unarchive_session(self, session_id: str, *, now: datetime | None = None) -> int:
        """Restores the memories of a session that were archived when it was last forgotten.

        >>> await memory.unarchive_session("chat-42")                              # doctest: +SKIP

        Args:
            session_id: the session that the memories belong to.
            now: time to use instead of the database's clock.

        Returns:
            How many memories were restored.
        """
        from pgrecall.nouns.memories.operations import unarchive_session

        return await self._connection.execute(unarchive_session(session_id, now))

    @declared("unarchive", "POST /v1/unarchive/{memory}")
    async def unarchive(self, memory: int | str, *, now: datetime | None = None) -> bool:
        """Restores an archived memory, with its links and accesses.

        Args:
            memory: its id or key.
            now: time to use instead of the database's clock.

        Returns:
            Whether it was archived.

        Raises:
            MemoryNotFound: there is none in this tenant.
        """
        from pgrecall.nouns.memories.operations import unarchive

        return await self._connection.execute(unarchive(memory, now))
