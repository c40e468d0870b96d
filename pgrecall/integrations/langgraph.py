"""A store for LangGraph: its items are memories, so they fade, rank and are found like others.

>>> graph = builder.compile(store=PgrecallStore(memory))  # doctest: +SKIP

Supported: put, get, search, delete, namespaces, filters, TTL. Differences from other stores:
- The memory's own embedder and full-text search index the items; a store's ``index`` config is not used.
  With ``index=False``, searches with a query leave an item out.
- A TTL counts from the last put; reading an item extends it, and changes its ``updated_at``, only if the read
  or the store's ``ttl`` says so. What another process puts at that moment can get the TTL of the old item.
- A search with a query filters the best 1,000 memories of its namespace. Its score is that of pgrecall,
  relevance combined with vitality.
- ``delete`` deletes for good, as in LangGraph; other memories are archived instead.
- Putting an item again with the same value keeps its ``updated_at``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from pgrecall import Draft, Memory
from pgrecall.errors import InvalidInput, MemoryNotFound, MissingExtra
from pgrecall.nouns.memories.models import StoredMemory

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
        get_text_at_path,
    )
except ImportError as error:
    raise MissingExtra("langgraph", "langgraph") from error

Namespace = tuple[str, ...]

MAX_HITS = 1000
"""Maximum number of memories that a search with a query filters."""


class PgrecallStore(BaseStore):
    """Stores items as memories of one tenant, with keys that begin with ``root``.

    Args:
        memory: the open client; its owner closes it. Asynchronous methods use it in a thread.
        root: prefix of the memories' keys and tags, and their source; stores with different roots do not see
            each other's items.
        layer: layer of the memories, which determines how fast unused items fade.
        fields: paths of the parts of a value to index; ``$`` is the whole value.
        ttl: ``default_ttl`` in minutes, and ``refresh_on_read``.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        root: str = "langgraph",
        layer: str = "knowledge",
        fields: tuple[str, ...] = ("$",),
        ttl: TTLConfig | None = None,
    ) -> None:
        self.ttl_config = {"refresh_on_read": False, **(ttl or {})}
        self._memory = memory
        self._root = root
        self._layer = layer
        self._fields = fields

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations in order, each in its own transaction."""
        return [self._perform(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like :meth:`batch`, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _perform(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get_item(op)
            case SearchOp():
                items = self._search(op) if op.query else self._list_items(op)
                found = list(islice(items, op.offset, op.offset + op.limit))
                for item in found if op.refresh_ttl else ():
                    self._refresh(item)
                return found
            case ListNamespacesOp():
                return self._list_namespaces(op)
            case PutOp(value=None):
                self._delete(op)
            case PutOp():
                self._put(op)
        return None

    def _put(self, op: PutOp) -> None:
        value = dict(op.value or {})
        path = op.namespace
        fields = op.index or self._fields
        draft = Draft(
            item_text(value, fields) or op.key,
            key=memory_key(self._root, path, op.key),
            layer=self._layer,
            source=self._root,
            tags=tuple(namespace_tag(self._root, path[:depth]) for depth in range(len(path) + 1)),
            metadata={
                "value": value,
                "namespace": list(path),
                "key": op.key,
                "indexed": op.index is not False,
                "ttl": op.ttl,
            },
            expires_at=None if op.ttl is None else datetime.now(UTC) + timedelta(minutes=op.ttl),
        )
        self._memory.remember_many([draft], keep=False)  # an item is put as a whole

    def _delete(self, op: PutOp) -> None:
        try:
            self._memory.forget(memory_key(self._root, op.namespace, op.key), hard=True)
        except MemoryNotFound:
            return  # deleting twice is not an error

    def _get_item(self, op: GetOp) -> Item | None:
        stored = self._get_stored(memory_key(self._root, op.namespace, op.key))
        if stored is None:
            return None
        item = Item(
            value=stored.metadata["value"],
            key=op.key,
            namespace=op.namespace,
            created_at=stored.created_at,
            updated_at=stored.updated_at,
        )
        if op.refresh_ttl:
            self._refresh(item)
        return item

    def _refresh(self, item: Item) -> None:
        """Has the TTL of an item begin anew, if it has one; an item that is put meanwhile gets it too."""
        stored = self._get_stored(memory_key(self._root, item.namespace, item.key))
        if stored is not None and (minutes := stored.metadata.get("ttl")):
            with suppress(MemoryNotFound):  # another process deleted it
                self._memory.edit(stored.id, expires_at=datetime.now(UTC) + timedelta(minutes=minutes))

    def _get_stored(self, reference: int | str) -> StoredMemory | None:
        """Reads the memory of an item; returns None if it is missing, expired or archived."""
        try:
            stored = self._memory.get(reference)
        except MemoryNotFound:
            return None
        expired = stored.expires_at is not None and stored.expires_at <= datetime.now(UTC)
        return None if expired or stored.archived_at is not None else stored

    def _list_items(self, op: SearchOp) -> Iterator[SearchItem]:
        """Yields the items of a namespace and of those below it, by key."""
        for key, namespace in item_keys(self._root, self._memory.keys_of(self._root)):
            if namespace[: len(op.namespace_prefix)] == tuple(op.namespace_prefix):
                yield from self._search_items(op, key, None)

    def _search(self, op: SearchOp) -> Iterator[SearchItem]:
        """Yields the items that answer the query, best first."""
        assert op.query is not None
        tag = namespace_tag(self._root, op.namespace_prefix)
        k = MAX_HITS if op.filter else min(op.offset + op.limit, MAX_HITS)
        for hit in self._memory.search(op.query, k=k, tags=(tag,), explain=False).hits:
            yield from self._search_items(op, hit.id, hit.score)

    def _search_items(self, op: SearchOp, reference: int | str, score: float | None) -> Iterator[SearchItem]:
        stored = self._get_stored(reference)
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

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        paths = (namespace for _, namespace in item_keys(self._root, self._memory.keys_of(self._root)))
        wanted = {
            path[: op.max_depth]
            for path in paths
            if all(
                matches_path(path, condition.match_type, condition.path)
                for condition in op.match_conditions or ()
            )
        }
        return sorted(wanted)[op.offset : op.offset + op.limit]


def memory_key(root: str, namespace: Namespace, key: str) -> str:
    """Returns the key of an item's memory, with the labels escaped so that it is unique."""
    return f"{namespace_tag(root, namespace)}/{_escape(key)}"


def namespace_tag(root: str, namespace: Namespace) -> str:
    """Returns the tag of all items in a namespace and below it."""
    return "/".join([root, *map(_escape, namespace)])


def item_keys(root: str, keys: Iterable[str]) -> Iterator[tuple[str, Namespace]]:
    """Yields the keys that belong to items, each with the item's namespace."""
    depth = root.count("/") + 1
    for key in keys:
        if key.startswith(f"{root}/"):
            yield key, tuple(map(_unescape, key.split("/")[depth:-1]))


def item_text(value: Mapping[str, Any], fields: Sequence[str]) -> str:
    """Returns the text to index for a value, a line for each leaf; with ``$``, each line begins with its
    path."""
    lines: list[str] = []
    for field in fields:
        lines += _lines("", value) if field == "$" else get_text_at_path(dict(value), field)
    return "\n".join(line for line in lines if line.strip())


def matches_filter(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Returns whether a value matches a filter.

    Raises:
        InvalidInput: the filter has an unknown operator.
    """
    return all(_matches(value.get(name), condition) for name, condition in conditions.items())


def matches_path(namespace: Namespace, kind: str, path: Sequence[str]) -> bool:
    """Returns whether a namespace begins (``prefix``) or ends (``suffix``) with a path; ``*`` matches any
    label."""
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def _escape(label: str) -> str:
    return label.replace("%", "%25").replace("/", "%2F")


def _unescape(label: str) -> str:
    return label.replace("%2F", "/").replace("%25", "%")


def _lines(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, part in value.items():
            yield from _lines(f"{name}.{inner}" if name else str(inner), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _lines(name, part)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        yield f"{name}: {text}" if name else text


def _matches(value: Any, condition: Any) -> bool:
    if not isinstance(condition, Mapping):
        return bool(value == condition)
    if any(name.startswith("$") for name in condition):
        return all(_compare(value, operator, operand) for operator, operand in condition.items())
    return isinstance(value, Mapping) and matches_filter(value, condition)


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise InvalidInput(
            f"There is no filter operator {operator!r:.50}.", hint="Use $eq, $ne, $gt, $gte, $lt or $lte."
        )
    if not _comparable(value, operand):
        return False
    if operator in ("$gt", "$gte"):
        return bool(value > operand) or (operator == "$gte" and bool(value == operand))
    return bool(value < operand) or (operator == "$lte" and bool(value == operand))


def _comparable(value: object, operand: object) -> bool:
    numbers = all(isinstance(one, int | float) for one in (value, operand))
    return numbers or (isinstance(value, str) and isinstance(operand, str))
