"""Storing, reading, listing, pinning and forgetting memories, and recording accesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from pgrecall.encoding import (
    embedding_of_text,
    passage_items,
    require_filter,
    require_text,
    search_document,
    to_json,
    token_texts,
    vector_text,
)
from pgrecall.errors import InvalidInput, MemoryNotFound
from pgrecall.models.embedding import Embedded
from pgrecall.models.memories import (
    Access,
    AccessCounts,
    Draft,
    DraftLink,
    Link,
    ListedMemory,
    ListOrder,
    Outcome,
    Remembered,
    Similar,
    StoredMemory,
    VitalityTerms,
)
from pgrecall.models.reading import read_as
from pgrecall.models.search import SearchFilter
from pgrecall.operations.operation import NOW, Operation, Row, id_of


@dataclass(frozen=True, slots=True)
class Rejected:
    """A draft that was not stored: its position in the call, from 0, and the reason."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class KnownContent:
    """The stored content of a key, to decide whether a draft must be embedded again."""

    content_hash: str
    source: str | None
    embedded: bool


def remember_many(
    drafts: Sequence[Draft],
    vectors: Sequence[Embedded | None],
    embedded_with: str | None,
    *,
    skip_rejected: bool = False,
    revive: bool = True,
    compare: bool = False,
    now: datetime | None = None,
) -> Operation[list[Remembered | Rejected]]:
    """Stores drafts with their vectors; None keeps the stored vector. Without ``revive``, unchanged archived
    memories stay archived. With ``compare``, near-duplicates are detected."""
    items = [_item(draft, vector) for draft, vector in zip(drafts, vectors, strict=True)]
    return Operation(
        f"SELECT * FROM recall.remember_many(%(items)s, %(model)s, %(skip)s, {NOW}, %(revive)s, %(compare)s)",
        {
            "items": to_json(items),
            "model": embedded_with if any(v is not None for v in vectors) else None,
            "skip": skip_rejected,
            "revive": revive,
            "compare": compare,
            "now": now,
        },
        lambda rows: [_remembered(row, drafts, vectors) for row in rows],
    )


def edit(
    reference: int | str,
    changes: Mapping[str, object],
    embedded: Embedded | None,
    embedded_with: str | None,
    content_hash: str | None,
    now: datetime | None,
) -> Operation[Remembered]:
    """Changes fields of a memory; stores ``embedded`` if ``content_hash`` is that of the new text."""
    return Operation(
        f"SELECT * FROM recall.edit({id_of(reference, 'memory')}, %(changes)s, %(embedded)s, "
        f"%(model)s, {NOW})",
        {
            "memory": reference,
            "changes": to_json(dict(changes)),
            "embedded": embedding_of_text(embedded, content_hash),
            "model": None if embedded is None else embedded_with,
            "now": now,
        },
        lambda rows: Remembered(rows[0]["id"], rows[0]["key"], rows[0]["outcome"]),
        repeatable=True,
    )


def content_hashes(keys: Sequence[str]) -> Operation[dict[str, KnownContent]]:
    """Reads the stored content of these keys; unknown keys are absent."""
    return Operation(
        "SELECT * FROM recall.content_hashes(%(keys)s)",
        {"keys": list(keys)},
        lambda rows: {r["key"]: KnownContent(r["content_hash"], r["source"], r["embedded"]) for r in rows},
        repeatable=True,
    )


def keys_of_source(source: str, sessions: Sequence[str] | None = None) -> Operation[list[str]]:
    """Lists the keys of live memories of a source, or of these sessions of it."""
    return Operation(
        "SELECT * FROM recall.keys_of_source(%(source)s, %(sessions)s) AS key",
        {"source": source, "sessions": None if sessions is None else list(sessions)},
        lambda rows: [row["key"] for row in rows],
        repeatable=True,
        reads=True,
    )


def get(reference: int | str, now: datetime | None) -> Operation[StoredMemory]:
    """Reads one memory with its vitality and links."""
    return Operation(
        f"SELECT * FROM recall.get({id_of(reference, 'memory')}, {NOW})",
        {"memory": reference, "now": now},
        lambda rows: _memory(rows, reference),
        repeatable=True,
        reads=True,
    )


def list_memories(
    chosen: SearchFilter, *, order: ListOrder, after: str | None, limit: int, now: datetime | None
) -> Operation[tuple[ListedMemory, ...]]:
    """Reads one page of the memories that pass a filter. It does not count as an access.

    Args:
        order: ``newest`` first, or highest ``vitality`` first.
        after: cursor of the last memory of the previous page.
        limit: number of memories on a page, 1 to 1000.
    """
    require_filter(chosen)
    if after is not None:
        require_text(after, "The cursor")
    return Operation(
        f"SELECT * FROM recall.list_memories(%(filter)s::jsonb, %(order)s, %(after)s, %(limit)s::int, {NOW})",
        {
            "filter": to_json(search_document(chosen)),
            "order": order,
            "after": after,
            "limit": limit,
            "now": now,
        },
        lambda rows: tuple(
            read_as(ListedMemory, row | {"tags": tuple(row["tags"])}) for row in map(dict, rows)
        ),
        repeatable=True,
        reads=True,
    )


def forget(reference: int | str, hard: bool, now: datetime | None) -> Operation[bool]:
    """Archives a memory or, if ``hard``, deletes it; returns whether anything changed."""
    return Operation(
        f"SELECT recall.forget({id_of(reference, 'id')}, %(hard)s, {NOW}) AS done",
        {"id": reference, "hard": hard, "now": now},
        lambda rows: bool(rows[0]["done"]),
    )


def unarchive(reference: int | str, now: datetime | None) -> Operation[bool]:
    """Restores an archived memory; returns whether it was archived."""
    return Operation(
        f"SELECT recall.unarchive({id_of(reference, 'memory')}, {NOW}) AS changed",
        {"memory": reference, "now": now},
        lambda rows: bool(rows[0]["changed"]),
        repeatable=True,
    )


def pin(reference: int | str, pinned: bool, now: datetime | None) -> Operation[bool]:
    """Pins or unpins a memory; returns whether anything changed."""
    return Operation(
        f"SELECT recall.pin({id_of(reference, 'memory')}, %(pinned)s, {NOW}) AS changed",
        {"memory": reference, "pinned": pinned, "now": now},
        lambda rows: bool(rows[0]["changed"]),
        repeatable=True,
    )


def record_access(access: Access, now: datetime | None) -> Operation[bool]:
    """Records one access; returns whether it was new."""
    logged = record_accesses([access], now)
    return Operation(
        logged.sql, logged.parameters, lambda rows: logged.read(rows) == 1, repeatable=logged.repeatable
    )


def record_accesses(accesses: Iterable[Access], now: datetime | None) -> Operation[int]:
    """Records accesses; returns how many were new, by idempotency key."""
    items = [
        {
            ("key" if isinstance(access.memory, str) else "memory_id"): access.memory,
            "kind": access.kind,
            "at": access.at,
            "session_id": access.session_id,
            "idempotency_key": access.idempotency_key,
        }
        for access in accesses
    ]
    return Operation(
        f"SELECT recall.record_accesses(%(items)s, {NOW}) AS new",
        {"items": to_json(items), "now": now},
        lambda rows: int(rows[0]["new"]),
        repeatable=all(item["idempotency_key"] is not None for item in items),
    )


def _item(draft: Draft, embedded: Embedded | None) -> dict[str, object]:
    item: dict[str, object] = {
        f.name: value
        for f in fields(draft)
        if f.name != "links" and (value := getattr(draft, f.name)) != f.default
    }
    item["links"] = _links(draft.links)
    if embedded is not None:
        item["embedding"] = vector_text(embedded.vector)
        if embedded.tokens is not None:
            item["tokens"] = token_texts(embedded.tokens)
        if embedded.passages is not None:
            item["passages"] = passage_items(embedded.passages)
    return item


def _links(given: object) -> list[dict[str, object]]:
    """Converts the links of a draft to JSON; raises InvalidInput for anything but DraftLink values."""
    entries = tuple(given) if isinstance(given, Iterable) else (given,)
    links = [entry for entry in entries if isinstance(entry, DraftLink)]
    if len(links) < len(entries):
        raise InvalidInput(
            f"The links of a memory are DraftLink values, not {given!r:.100}.",
            hint='Write links=(DraftLink("key of the target"),).',
        )
    return [{"target": entry.target, "relation": entry.relation, "weight": entry.weight} for entry in links]


def _remembered(
    row: Row, drafts: Sequence[Draft], vectors: Sequence[Embedded | None]
) -> Remembered | Rejected:
    place = row["item"] - 1
    if row["outcome"] == "rejected":
        return Rejected(place, row["problem"])
    outcome: Outcome = row["outcome"]
    similar, embedded = row["similar_to"], vectors[place]
    return Remembered(
        row["id"],
        row["key"],
        outcome,
        read_as(Similar, similar) if similar else None,
        embedded.unread(drafts[place].body) if embedded else 0,
    )


def _memory(rows: Sequence[Row], reference: int | str) -> StoredMemory:
    if not rows:
        raise MemoryNotFound(reference)
    values = dict(rows[0])
    values["tags"] = tuple(values["tags"])
    values["aliases"] = tuple(values["aliases"])
    values["vitality"] = read_as(VitalityTerms, values["vitality"])
    values["access_counts"] = read_as(AccessCounts, values["access_counts"])
    values["links"] = tuple(
        read_as(Link, entry | {"created_at": datetime.fromisoformat(entry["created_at"])})
        for entry in values["links"]
    )
    return read_as(StoredMemory, values)
