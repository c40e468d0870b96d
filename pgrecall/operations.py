"""Each operation as a value: one SQL call, its parameters, and how to read its rows. No I/O here.

Drivers (:mod:`pgrecall.client`) run the same values synchronously or asynchronously.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from pgrecall.encoding import Vector, require_text, to_json, vector_text
from pgrecall.errors import MemoryNotFound
from pgrecall.models import (
    Access,
    Draft,
    Hit,
    LayerStatus,
    Link,
    Outcome,
    Remembered,
    SearchRequest,
    Status,
    StoredMemory,
    VitalityTerms,
)

T = TypeVar("T")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """One call of one SQL function. ``repeatable`` says that running it twice does no harm."""

    sql: str
    parameters: Mapping[str, object]
    read: Callable[[Sequence[Row]], T]
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """A draft that was not stored: its position in the call, from 0, and why."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class KnownContent:
    """What is stored under a key: enough to tell whether a draft has to be embedded again."""

    content_hash: str
    source: str | None
    embedded: bool


def remember_many(
    drafts: Sequence[Draft],
    vectors: Sequence[Vector | None],
    embedded_with: str | None,
    *,
    skip_rejected: bool = False,
    now: datetime | None = None,
) -> Operation[list[Remembered | Rejected]]:
    """Stores drafts; ``vectors[i]`` embeds ``drafts[i]``, or None leaves what is there."""
    items = [_item(draft, vector) for draft, vector in zip(drafts, vectors, strict=True)]
    return Operation(
        "SELECT * FROM recall.remember_many(%(items)s, %(model)s, %(skip)s, coalesce(%(now)s, now()))",
        {
            "items": to_json(items),
            "model": embedded_with if any(v is not None for v in vectors) else None,
            "skip": skip_rejected,
            "now": now,
        },
        lambda rows: [_remembered(row) for row in rows],
    )


def content_hashes(keys: Sequence[str]) -> Operation[dict[str, KnownContent]]:
    """What is stored under these keys; absent keys are absent."""
    return Operation(
        "SELECT * FROM recall.content_hashes(%(keys)s)",
        {"keys": list(keys)},
        lambda rows: {r["key"]: KnownContent(r["content_hash"], r["source"], r["embedded"]) for r in rows},
        repeatable=True,
    )


def keys_of_source(source: str) -> Operation[list[str]]:
    """The keys of live memories that came from a source."""
    return Operation(
        "SELECT * FROM recall.keys_of_source(%(source)s) AS key",
        {"source": source},
        lambda rows: [row["key"] for row in rows],
        repeatable=True,
    )


def link(
    source: int | str, target: int | str, relation: str, weight: float, now: datetime | None
) -> Operation[bool]:
    """Links two memories; the result says whether the link is new."""
    return Operation(
        f"SELECT recall.link({_reference(source, 'source')}, {_reference(target, 'target')}, %(relation)s, "
        "%(weight)s, coalesce(%(now)s, now())) AS new",
        {"source": source, "target": target, "relation": relation, "weight": weight, "now": now},
        lambda rows: bool(rows[0]["new"]),
        repeatable=True,
    )


def supersede(old: int | str, new: int | str, now: datetime | None) -> Operation[bool]:
    """Says that ``new`` replaces ``old``; the result says whether that is news."""
    return Operation(
        f"SELECT recall.supersede({_reference(old, 'old')}, {_reference(new, 'new')}, "
        "coalesce(%(now)s, now())) AS news",
        {"old": old, "new": new, "now": now},
        lambda rows: bool(rows[0]["news"]),
        repeatable=True,
    )


def record_accesses(accesses: Iterable[Access], now: datetime | None) -> Operation[int]:
    """Logs uses; the result counts those not seen before (by idempotency key)."""
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
        "SELECT recall.record_accesses(%(items)s, coalesce(%(now)s, now())) AS new",
        {"items": to_json(items), "now": now},
        lambda rows: int(rows[0]["new"]),
        repeatable=all(item["idempotency_key"] is not None for item in items),
    )


def question_without_names(query: str) -> Operation[tuple[str, tuple[str, ...]]]:
    """The question to embed, and the known names taken out of it."""
    return Operation(
        "SELECT * FROM recall.question_without_names(%(query)s)",
        {"query": query},
        lambda rows: (rows[0]["question"], tuple(rows[0]["names"])),
        repeatable=True,
    )


_SEARCH_PARAMETERS = tuple(f.name for f in fields(SearchRequest))
_SEARCH_SQL = "SELECT * FROM recall.search(p_embedding => %(embedding)s, " + ", ".join(
    f"p_{name} => coalesce(%(now)s, now())" if name == "now" else f"p_{name} => %({name})s"
    for name in _SEARCH_PARAMETERS
)


def search(request: SearchRequest, vector: Vector | None) -> Operation[tuple[Hit, ...]]:
    """Searches by words and names, and by meaning where the question's vector is given."""
    parameters: dict[str, object] = {"embedding": None if vector is None else vector_text(vector)}
    for name in _SEARCH_PARAMETERS:
        value = getattr(request, name)
        parameters[name] = list(value) if isinstance(value, tuple) else value
    return Operation(
        f"{_SEARCH_SQL})", parameters, lambda rows: tuple(_hit(row) for row in rows), repeatable=True
    )


def get(reference: int | str, now: datetime | None) -> Operation[StoredMemory]:
    """One memory with its vitality and its links."""
    return Operation(
        f"SELECT * FROM recall.get({_reference(reference, 'memory')}, coalesce(%(now)s, now()))",
        {"memory": reference, "now": now},
        lambda rows: _memory(rows, reference),
        repeatable=True,
    )


def forget(reference: int | str, hard: bool, now: datetime | None) -> Operation[bool]:
    """Archives or, when ``hard``, deletes a memory; the result says whether anything changed."""
    return Operation(
        f"SELECT recall.forget({_reference(reference, 'id')}, %(hard)s, coalesce(%(now)s, now())) AS done",
        {"id": reference, "hard": hard, "now": now},
        lambda rows: bool(rows[0]["done"]),
    )


def refresh_statistics(now: datetime | None) -> Operation[int]:
    """Recounts document frequencies and layer medians; the result is how many memories were counted."""
    return Operation(
        "SELECT recall.refresh_statistics(coalesce(%(now)s, now())) AS counted",
        {"now": now},
        lambda rows: int(rows[0]["counted"]),
        repeatable=True,
    )


def pending_count() -> Operation[int]:
    """How many links wait for their target."""
    return Operation(
        "SELECT recall.pending_count() AS pending", {}, lambda rows: int(rows[0]["pending"]), repeatable=True
    )


def link_graph() -> Operation[bytes]:
    """The references between live memories, packed as :meth:`pgrecall.graph.LinkGraph.of_blob` reads them."""
    return Operation(
        "SELECT recall.link_graph() AS blob", {}, lambda rows: bytes(rows[0]["blob"] or b""), repeatable=True
    )


def store_cut_sizes(cut_sizes: Mapping[int, int]) -> Operation[int]:
    """Keeps how many memories each articulation point would cut off; the result counts the protected."""
    return Operation(
        "SELECT recall.store_cut_sizes(%(ids)s, %(sizes)s) AS protected",
        {"ids": list(cut_sizes), "sizes": list(cut_sizes.values())},
        lambda rows: int(rows[0]["protected"]),
        repeatable=True,
    )


def status(now: datetime | None) -> Operation[Status]:
    """What the tenant holds."""
    return Operation(
        "SELECT recall.status(coalesce(%(now)s, now())) AS status",
        {"now": now},
        lambda rows: _status(rows[0]["status"]),
        repeatable=True,
    )


def _reference(value: int | str, parameter: str) -> str:
    """How SQL names a memory given by id or key."""
    if isinstance(value, str):
        require_text(value, "The key")
        return f"recall.id_of(%({parameter})s)"
    if not -(2**63) <= value < 2**63:
        raise MemoryNotFound(value)
    return f"%({parameter})s::bigint"


def _item(draft: Draft, vector: Vector | None) -> dict[str, object]:
    item: dict[str, object] = {
        f.name: value
        for f in fields(draft)
        if f.name != "links" and (value := getattr(draft, f.name)) != f.default
    }
    item["links"] = [
        {"target": entry.target, "relation": entry.relation, "weight": entry.weight} for entry in draft.links
    ]
    if vector is not None:
        item["embedding"] = vector_text(vector)
    return item


def _remembered(row: Row) -> Remembered | Rejected:
    if row["outcome"] == "rejected":
        return Rejected(row["item"] - 1, row["problem"])
    outcome: Outcome = row["outcome"]
    return Remembered(row["id"], row["key"], outcome)


def _hit(row: Row) -> Hit:
    values = dict(row)
    values["tags"] = tuple(values["tags"])
    values["explanation"] = values["explanation"] or {}
    return Hit(**values)


def _memory(rows: Sequence[Row], reference: int | str) -> StoredMemory:
    if not rows:
        raise MemoryNotFound(reference)
    values = dict(rows[0])
    values["tags"] = tuple(values["tags"])
    values["aliases"] = tuple(values["aliases"])
    values["vitality"] = VitalityTerms(**values["vitality"])
    values["links"] = tuple(
        Link(**(entry | {"created_at": datetime.fromisoformat(entry["created_at"])}))
        for entry in values["links"]
    )
    return StoredMemory(**values)


def _status(document: Row) -> Status:
    values = dict(document)
    values["layers"] = tuple(LayerStatus(**layer) for layer in values["layers"])
    at = values["statistics_at"]
    values["statistics_at"] = datetime.fromisoformat(at) if at else None
    return Status(revision="", server_version="", **values)


def with_server(state: Status, revision: str, server_version: str) -> Status:
    """The status completed by what only the connection knows."""
    return replace(state, revision=revision, server_version=server_version)
