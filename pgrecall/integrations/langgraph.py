"""A store for LangGraph: its items are memories, and so they fade, are ranked and are found like others.

>>> graph = builder.compile(store=PgrecallStore(memory))  # doctest: +SKIP

What maps: put, get, search, delete, namespaces, filters, expiry. What does not:
- Items are indexed by the memory's own embedder and words; a store's ``index`` config has no place here.
  With ``index=False`` an item is left out of searches with a query.
- A TTL counts from the last put: reading an item does not put it off.
- A search with a query looks at the best 1,000 memories of its namespace, then applies the filter. Its score
  is pgrecall's: relevance weighed with vitality.
- ``delete`` deletes for good, as LangGraph has it; memories of others are archived instead.
- An item that is put again with the same value keeps its ``updated_at``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from pgrecall import Memory
from pgrecall.errors import MemoryNotFound, MissingExtra
from pgrecall.integrations.langgraph_items import (
    Namespace,
    is_match,
    key_of,
    matches_filter,
    namespaces_of,
    tag_of,
    text_of,
)
from pgrecall.models.memories import StoredMemory

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
    )
except ImportError as error:
    raise MissingExtra("langgraph", "langgraph") from error

MOST = 1000
"""The best so many memories of a search with a query are looked at."""


class PgrecallStore(BaseStore):
    """Items as memories of one tenant, under keys that begin with ``root``.

    Args:
        memory: the open client; its owner closes it. Asynchronous methods use it in a thread.
        root: what keys, tags and the source of these memories begin with; stores with different roots do not
            see each other's items.
        layer: how fast items fade that nobody asks for.
        fields: which parts of a value are searched, as paths; ``$`` is all of it.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        root: str = "langgraph",
        layer: str = "knowledge",
        fields: tuple[str, ...] = ("$",),
    ) -> None:
        self.ttl_config = TTLConfig(refresh_on_read=False)
        self._memory = memory
        self._root = root
        self._layer = layer
        self._fields = fields

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Performs operations one after the other, each in a transaction of its own."""
        return [self._perform(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _perform(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._item(op.namespace, op.key)
            case SearchOp():
                found = self._answers(op) if op.query else self._all(op)
                return list(islice(found, op.offset, op.offset + op.limit))
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp(value=None):
                self._delete(op)
            case PutOp():
                self._put(op)
        return None

    def _put(self, op: PutOp) -> None:
        value = dict(op.value or {})
        path = op.namespace
        fields = op.index or self._fields
        self._memory.remember(
            text_of(value, fields) or op.key,
            key=key_of(self._root, path, op.key),
            layer=self._layer,
            source=self._root,
            tags=tuple(tag_of(self._root, path[:depth]) for depth in range(len(path) + 1)),
            metadata={
                "value": value,
                "namespace": list(path),
                "key": op.key,
                "indexed": op.index is not False,
            },
            expires_at=None if op.ttl is None else datetime.now(UTC) + timedelta(minutes=op.ttl),
        )

    def _delete(self, op: PutOp) -> None:
        try:
            self._memory.forget(key_of(self._root, op.namespace, op.key), hard=True)
        except MemoryNotFound:
            return  # as if it had been deleted before

    def _item(self, namespace: Namespace, key: str) -> Item | None:
        stored = self._stored(key_of(self._root, namespace, key))
        if stored is None:
            return None
        return Item(
            value=stored.metadata["value"],
            key=key,
            namespace=namespace,
            created_at=stored.created_at,
            updated_at=stored.updated_at,
        )

    def _stored(self, reference: int | str) -> StoredMemory | None:
        """The memory of an item; None where there is none, or no more."""
        try:
            stored = self._memory.get(reference)
        except MemoryNotFound:
            return None
        over = stored.expires_at is not None and stored.expires_at <= datetime.now(UTC)
        return None if over or stored.archived_at is not None else stored

    def _all(self, op: SearchOp) -> Iterator[SearchItem]:
        """Items of a namespace and those below it, by key."""
        for key, namespace in namespaces_of(self._root, self._memory.keys_of(self._root)):
            if namespace[: len(op.namespace_prefix)] == tuple(op.namespace_prefix):
                yield from self._shown(op, key, None)

    def _answers(self, op: SearchOp) -> Iterator[SearchItem]:
        """Items that answer the query, best first."""
        assert op.query is not None
        tag = tag_of(self._root, op.namespace_prefix)
        k = MOST if op.filter else min(op.offset + op.limit, MOST)
        for hit in self._memory.search(op.query, k=k, tags=(tag,), explain=False).hits:
            yield from self._shown(op, hit.id, hit.score)

    def _shown(self, op: SearchOp, reference: int | str, score: float | None) -> Iterator[SearchItem]:
        stored = self._stored(reference)
        if stored is None or (score is not None and not stored.metadata["indexed"]):
            return
        if matches_filter(stored.metadata["value"], op.filter or {}):
            yield SearchItem(
                tuple(stored.metadata["namespace"]),
                stored.metadata["key"],
                stored.metadata["value"],
                stored.created_at,
                stored.updated_at,
                score,
            )

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        paths = (namespace for _, namespace in namespaces_of(self._root, self._memory.keys_of(self._root)))
        wanted = {
            path[: op.max_depth]
            for path in paths
            if all(
                is_match(path, condition.match_type, condition.path)
                for condition in op.match_conditions or ()
            )
        }
        return sorted(wanted)[op.offset : op.offset + op.limit]
