"""A memory as its writer gives it, and as Postgres holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Role = Literal["user", "assistant", "system", "tool"]
"""Who says something in a conversation."""

AccessKind = Literal["write", "read", "reference", "used", "retrieval"]
ListOrder = Literal["newest", "vitality"]
Outcome = Literal["created", "updated", "revived", "unchanged"]

RELATIONS = (
    "links_to",
    "next",
    "mentions",
    "part_of",
    "implies",
    "supports",
    "contradicts",
    "supersedes",
    "co_access",
)


@dataclass(frozen=True, slots=True)
class DraftLink:
    """A link from a draft to another memory of the tenant, named by its key.

    A target that does not exist yet is kept and resolved when a memory with that key, title or
    alias arrives.

    Attributes:
        target: a key, title or alias.
        relation: one of links_to, next, mentions, part_of, implies, supports, contradicts, supersedes.
        weight: how strong it is, above 0 and at most 100.
    """

    target: str
    relation: str = "links_to"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as its writer gives it; Postgres adds the id, the times and the activation.

    Attributes:
        body: the text itself.
        title: a line to know it by; names in a question find it.
        key: a name of your own; a memory with the same key is updated.
        layer: what kind of memory it is, which says how it ages.
        role: of whoever said it, in a conversation.
        author: who wrote or said it.
        context: words to find it by that are neither shown nor embedded.
        source: where it came from; an import continues its own.
        session_id: the conversation or task it belongs to.
        tags: words to filter by, which are found as they are written too.
        aliases: other names for it.
        metadata: whatever else is to be kept, as a JSON object.
        occurred_at: when it happened; None is when it is stored.
        valid_from, valid_until: when it holds; outside that default search leaves it out.
        expires_at: when it is archived.
        pinned: whether it stays out of every prune plan.
        links: where it leads to.
    """

    body: str
    title: str = ""
    key: str | None = None
    layer: str = "knowledge"
    role: Role | None = None
    author: str | None = None
    context: str = ""
    source: str | None = None
    session_id: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    links: tuple[DraftLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of one draft."""

    id: int
    key: str | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory as Postgres holds it, without its embedding."""

    id: int
    key: str | None
    layer: str
    title: str
    body: str
    role: Role | None
    author: str | None
    context: str
    source: str | None
    session_id: str | None
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]
    occurred_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    superseded_by: int | None
    expires_at: datetime | None
    pinned: bool
    archived_at: datetime | None
    created_at: datetime
    updated_at: datetime
    embedded_with: str | None
    vitality: VitalityTerms
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """One memory of a list.

    Attributes:
        happened_at: when it happened; when it was stored, where nobody said.
        vitality: how alive its use keeps it at the moment of the list, 0 to 1.
        zone: active, stale, fading or archived, by its vitality.
        cursor: continues the list behind this memory.
    """

    id: int
    key: str | None
    layer: str
    title: str
    body: str
    role: Role | None
    author: str | None
    source: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    happened_at: datetime
    pinned: bool
    superseded_by: int | None
    archived_at: datetime | None
    vitality: float
    zone: str
    cursor: str


@dataclass(frozen=True, slots=True)
class VitalityTerms:
    """Activation S = recent + tail + spread + revival, and what follows from it, at one moment.

    Attributes:
        accesses: how many uses were counted.
        recent: what the eight newest uses add to S.
        tail: what all earlier uses add.
        spread: what uses of its neighbours add.
        revival: what a link it gained lately adds.
        activation: S.
        base: B = ln S.
        vitality: S / (1 + S).
        retention: vitality with the protection floor; for zones and pruning only.
        zone: active, stale, fading or archived.
    """

    accesses: int
    recent: float
    tail: float
    spread: float
    revival: float
    activation: float
    base: float
    vitality: float
    retention: float
    zone: str


@dataclass(frozen=True, slots=True)
class Link:
    """One directed link of a memory; ``other`` is the memory at its far end."""

    other: int
    other_key: str | None
    other_title: str
    relation: str
    weight: float
    outgoing: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Access:
    """One use of a memory at one moment.

    Attributes:
        memory: its id or key.
        kind: how it was used; a ``retrieval`` was merely shown, and counts a tenth.
        at: None means now, on the database's clock.
        session_id: memories used in one session are associated.
        idempotency_key: a key that was seen before makes this no use.
    """

    memory: int | str
    kind: AccessKind = "read"
    at: datetime | None = None
    session_id: str | None = None
    idempotency_key: str | None = None
