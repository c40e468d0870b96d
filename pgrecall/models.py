"""The values that cross pgrecall's borders: frozen, typed, without behaviour of their own.

All times are timezone-aware datetimes; all shares, probabilities and vitalities lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Role = Literal["user", "assistant", "system", "tool"]
Outcome = Literal["created", "updated", "unchanged"]
AccessKind = Literal["write", "read", "reference", "used", "retrieval"]
VitalityMode = Literal["odds", "multiply", "bounded", "off"]

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
    """

    target: str
    relation: str = "links_to"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as its writer gives it; Postgres adds the id, the times and the activation."""

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
class VitalityTerms:
    """Activation S = recent + tail + spread + revival, and what follows from it, at one moment.

    ``base`` is B = ln S; ``vitality`` is S / (1 + S); ``retention`` adds the protection floor and
    serves zones and pruning only.
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
    """One use of a memory at one moment. ``at`` None means now, on the database's clock."""

    memory: int | str
    kind: AccessKind = "read"
    at: datetime | None = None
    session_id: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One question and everything that narrows or weighs its answer.

    ``vitality_weight`` None takes the database's setting (0.5). ``now`` None is the database's
    clock; a given ``now`` asks how the same memories would rank at that moment.
    """

    query: str
    k: int = 10
    layers: tuple[str, ...] | None = None
    roles: tuple[str, ...] | None = None
    authors: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    include_archived: bool = False
    include_superseded: bool = False
    include_invalid: bool = False
    min_relevance: float = 0.0
    vitality_mode: VitalityMode = "odds"
    vitality_weight: float | None = None
    explain: bool = True
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer. ``relevance`` is p(answers the question); ``score`` also weighs vitality.

    ``explanation`` is empty unless the request asked for it.
    """

    id: int
    key: str | None
    layer: str
    title: str
    body: str
    role: Role | None
    author: str | None
    tags: tuple[str, ...]
    happened_at: datetime
    score: float
    relevance: float
    vitality: float
    zone: str
    rank: int
    explanation: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and what was left out on the way.

    ``names`` are the known names taken out of the embedded question; ``skipped`` says in a
    sentence each which steps did not run. ``no_match`` holds when nothing was good enough.
    """

    hits: tuple[Hit, ...]
    names: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def no_match(self) -> bool:
        return not self.hits


@dataclass(frozen=True, slots=True)
class Problem:
    """Something an importer could not use: where it stands, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. ``removed`` are keys of the same source that it no longer holds."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    links_pending: int = 0
    removed: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What the link graph of a tenant looks like: ``bridges`` are the links that alone join two parts,
    ``points`` the memories whose removal cuts others off, ``protected`` those that cut off enough."""

    memories: int
    links: int
    points: int
    bridges: tuple[tuple[int, int], ...]
    protected: int


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """How many live memories a layer holds, by zone."""

    layer: str
    memories: int
    zones: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one tenant's memory and of the database it lives in."""

    tenant: str
    memories: int
    archived: int
    awaiting_embedding: int
    accesses: int
    links: int
    links_pending: int
    layers: tuple[LayerStatus, ...]
    embedder: str | None
    dimensions: int
    revision: str
    server_version: str
    statistics_at: datetime | None
