"""Memories stored, linked, read and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from pgrecall import operations, workflows
from pgrecall.client.driver import Driver
from pgrecall.models.memories import Draft

if TYPE_CHECKING:
    from pgrecall.arguments import DraftFields
    from pgrecall.models.maintenance import ImportReport, Problem
    from pgrecall.models.memories import Draft, Remembered, StoredMemory


class Remembering(Driver):
    """What a tenant knows, and how it comes and goes."""

    def remember(self, body: str, **fields: Unpack[DraftFields]) -> Remembered:
        """Stores one memory; a memory with the same key is updated.

        Raises:
            InvalidInput: a field cannot be stored; nothing was.
            EmbedderError: the text could not be embedded; nothing was stored.
        """
        return self._drive(workflows.remember_one(Draft(body, **fields), self._embedder_name))

    def remember_many(self, drafts: Iterable[Draft], *, now: datetime | None = None) -> list[Remembered]:
        """Stores drafts in one transaction: all or, with InvalidInput, none."""
        return self._drive(workflows.remember_many(drafts, self._embedder_name, now=now))

    def import_drafts(
        self,
        items: Iterable[Draft | Problem],
        *,
        source: str,
        strict: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> ImportReport:
        """Stores what an importer reads, batch by batch, each batch committed on its own.

        Args:
            source: where the drafts come from; keys of it that are gone are reported as removed.
            strict: stop at the first problem instead of collecting problems.
            progress: called with the number of items read since the last call.

        Raises:
            InvalidInput: with ``strict``, the first problem; earlier batches stay.
        """
        flow = workflows.import_drafts(
            items, self._embedder_name, source=source, strict=strict, progress=progress
        )
        return self._drive(flow)

    def get(self, memory: int | str, *, now: datetime | None = None) -> StoredMemory:
        """One memory by id or key, with its vitality and links; it does not count as an access.

        Raises:
            MemoryNotFound: there is none in this tenant.
        """
        return self._run(operations.get(memory, now))

    def keys_of(self, source: str) -> list[str]:
        """The keys of the live memories that came from a source, in order."""
        return self._run(operations.keys_of_source(source))

    def forget(self, memory: int | str, *, hard: bool = False, now: datetime | None = None) -> bool:
        """Archives a memory; ``hard`` deletes it and everything about it, for good."""
        return self._run(operations.forget(memory, hard, now))

    def link(
        self,
        source: int | str,
        target: int | str,
        relation: str = "links_to",
        *,
        weight: float = 1.0,
        now: datetime | None = None,
    ) -> bool:
        """Links two memories, by id or key; True when the link is new.

        Raises:
            MemoryNotFound, InvalidInput: unknown memory or relation, a self link, a weight out of (0, 100].
        """
        return self._run(operations.link(source, target, relation, weight, now))

    def supersede(self, old: int | str, new: int | str, *, now: datetime | None = None) -> bool:
        """Says that a memory replaces another, which default search then leaves out; True when that is news.

        Raises:
            MemoryNotFound, InvalidInput: no such memory, or the two would replace each other.
        """
        return self._run(operations.supersede(old, new, now))
