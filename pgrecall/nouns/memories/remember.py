"""Storing drafts: what is sent of each, and what Postgres answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from pgrecall.encoding import embedding_item, to_json
from pgrecall.errors import InvalidInput
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.memories.models import Draft, DraftLink, Outcome, Remembered, Similar
from pgrecall.nouns.memories.not_given import given
from pgrecall.nouns.operation import NOW, Operation, Row


@dataclass(frozen=True, slots=True)
class Rejected:
    """A draft that was not stored: its position in the call, from 0, and the reason."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class KnownContent:
    """The stored content of a key, to decide whether a draft must be embedded again, and with which title."""

    content_hash: str
    source: str | None
    embedded: bool
    title: str


def remember_many(
    drafts: Sequence[Draft],
    vectors: Sequence[Embedded | None],
    embedded_with: str | None,
    *,
    hashes: Sequence[str] | None = None,
    compare: bool = False,
    project: str | None = None,
    now: datetime | None = None,
) -> Operation[list[Remembered | Rejected]]:
    """Stores drafts with their vectors; None keeps the stored vector. With ``compare``, near-duplicates are
    detected.

    With ``hashes``, those of the texts that the vectors are of, existing memories keep what a draft does not
    give. Without, drafts replace them. New memories and given metadata have the ``project``, unless they name
    one.
    """
    if hashes is None:
        items = draft_items(drafts, vectors)
    else:
        items = [_given(*one) for one in zip(drafts, vectors, hashes, strict=True)]
    return Operation(
        f"SELECT * FROM recall.remember_many(%(items)s, %(model)s, p_now => {NOW}, p_compare => %(compare)s, "
        "p_keep => %(keep)s, p_project => %(project)s)",
        {
            "items": to_json(items),
            "model": embedded_with if any(v is not None for v in vectors) else None,
            "compare": compare,
            "keep": hashes is not None,
            "project": project,
            "now": now,
        },
        lambda rows: [remembered(row, drafts, vectors) for row in rows],
    )


def content_hashes(keys: Sequence[str]) -> Operation[dict[str, KnownContent]]:
    """Reads the stored content of these keys; unknown keys are absent."""
    return Operation(
        "SELECT * FROM recall.content_hashes(%(keys)s)",
        {"keys": list(keys)},
        lambda rows: {
            r["key"]: KnownContent(r["content_hash"], r["source"], r["embedded"], r["title"]) for r in rows
        },
        repeatable=True,
    )


def draft_items(drafts: Sequence[Draft], vectors: Sequence[Embedded | None]) -> list[dict[str, object]]:
    """Drafts that replace whole memories, with their vectors, as JSON."""
    return [_item(draft, vector) for draft, vector in zip(drafts, vectors, strict=True)]


def _item(draft: Draft, embedded: Embedded | None) -> dict[str, object]:
    item: dict[str, object] = {
        f.name: value
        for f in fields(draft)
        if f.name != "links" and (value := getattr(draft, f.name)) != f.default
    }
    item["links"] = _links(draft.links)
    return item | _embedding(embedded)


def _given(draft: Draft, embedded: Embedded | None, content_hash: str) -> dict[str, object]:
    """The fields that a draft gives, and the digest of the text that its vector is of."""
    item: dict[str, object] = {f.name: value for f in fields(draft) if given(value := getattr(draft, f.name))}
    if "links" in item:
        item["links"] = _links(draft.links)
    if embedded is not None:
        item["content_hash"] = content_hash
    return item | _embedding(embedded)


def _embedding(embedded: Embedded | None) -> dict[str, object]:
    if embedded is None:
        return {}
    return {name: value for name, value in embedding_item(embedded).items() if value is not None}


def _links(value: object) -> list[dict[str, object]]:
    """Converts the links of a draft to JSON; raises InvalidInput for anything but DraftLink values."""
    entries = tuple(value) if isinstance(value, Iterable) else (value,)
    links = [entry for entry in entries if isinstance(entry, DraftLink)]
    if len(links) < len(entries):
        raise InvalidInput(
            f"The links of a memory are DraftLink values, not {value!r:.100}.",
            hint='Write links=(DraftLink("key of the target"),).',
        )
    return [{"target": entry.target, "relation": entry.relation, "weight": entry.weight} for entry in links]


def remembered(
    row: Row, drafts: Sequence[Draft], vectors: Sequence[Embedded | None]
) -> Remembered | Rejected:
    """What became of a draft, from its row."""
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
        tuple(row["changed"] or ()),
    )
