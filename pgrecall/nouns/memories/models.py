"""Memories as they are given, stored and listed, their links, and accesses to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pgrecall.nouns.memories.not_given import NO_ITEMS, NO_TEXT, USUAL_LAYER, NoFields

Role = Literal["user", "assistant", "system", "tool"]
"""The role of a speaker in a conversation."""

SpeechAct = Literal["statement", "question", "acknowledgement", "instruction", "preference", "change"]
"""What a memory says. Instructions and preferences are directives, which apply to what is asked later."""

PROJECT = "project"
"""The name of the project in the metadata of a memory; SQL has it in items_in_project and projects."""

DIRECTIVES: tuple[SpeechAct, ...] = ("instruction", "preference")

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
    "derived_from",
    "supersedes",
    "co_access",
)


@dataclass(frozen=True, slots=True)
class DraftLink:
    """A link from a draft to another memory of the tenant, named by its key.

    If the target does not exist yet, the link waits until a memory with that key, title or alias is stored.

    Attributes:
        target: a key, title or alias.
        relation: one of links_to, next, mentions, part_of, implies, supports, contradicts,
            derived_from, supersedes.
        weight: strength, above 0 and at most 100.
    """

    target: str
    relation: str = "links_to"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory to store; Postgres adds the id, the times and the activation.

    A memory with the same key keeps the fields that are not given, or are None. To clear one, give it as
    empty: a text, tags, aliases, metadata or links. ``edit`` clears times.

    Attributes:
        body: the text.
        title: a short name; a query that contains it finds the memory.
        key: your own identifier; in a memory with the same key the given fields are changed.
        layer: the kind of memory, which determines how it ages.
        role: role of the speaker, in a conversation.
        author: the person who wrote or said it.
        context: additional words to find it by; they are neither shown nor embedded.
        source: file, chat or other origin; an import only updates memories of its own source.
        session_id: the conversation or task it belongs to.
        tags: words to filter by; searches also find them as written.
        aliases: other names for it.
        metadata: any further data, as a JSON object.
        occurred_at: time of the event; None is the time of storing.
        valid_from, valid_until: period of validity; outside it, searches omit the memory by default.
        expires_at: time from which searches omit it by default; the job ``expire`` then archives it.
        pinned: whether it stays out of every prune plan.
        speech_act: what it says; None is found out from its text. Only what a user said becomes a
            directive by itself.
        links: its links to other memories.
    """

    body: str
    title: str = NO_TEXT
    key: str | None = None
    layer: str = USUAL_LAYER
    role: Role | None = None
    author: str | None = None
    context: str = NO_TEXT
    source: str | None = None
    session_id: str | None = None
    tags: Sequence[str] = NO_ITEMS
    aliases: Sequence[str] = NO_ITEMS
    metadata: Mapping[str, Any] = field(default_factory=NoFields)
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    speech_act: SpeechAct | None = None
    links: Sequence[DraftLink] = NO_ITEMS


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory that a new one nearly repeats.

    Attributes:
        similarity: 1 for the same words, else the cosine of the two vectors.
    """

    id: int
    key: str | None
    similarity: float


@dataclass(frozen=True, slots=True)
class Remembered:
    """The result of storing or editing one memory.

    Attributes:
        outcome: ``unchanged`` if a memory already had all of it, including the vector; ``id`` and ``key`` are
            those of that memory.
        similar: another memory that it nearly repeats; it was stored anyway.
        changed: the fields of an existing memory, ``links`` among them, that were changed.
        unread: characters at the end of a very long text that were stored but not embedded. A search does not
            find them by meaning, and may not find them by words.
        secrets: the kinds of passwords, keys and tokens that the text seems to hold; it was stored as it is.
    """

    id: int
    key: str | None
    outcome: Outcome
    similar: Similar | None = None
    unread: int = 0
    changed: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory as Postgres holds it, without its embedding.

    ``speech_act`` is what it says, ``act_marked`` whether somebody said so; None until it is found out.
    """

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
    access_counts: AccessCounts
    speech_act: SpeechAct | None = None
    act_marked: bool = False


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """One memory of a list.

    Attributes:
        happened_at: time of the event, or of storing if no time was given.
        vitality: its vitality at the time of the list, 0 to 1.
        zone: active, stale, fading or dormant, by its vitality.
        cursor: pass it as ``after`` to continue the list after this memory.
        directive: of an instruction or a preference the sentence that says it; None if no sentence
            does by itself.
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
    speech_act: SpeechAct | None = None
    session_id: str | None = None
    directive: str | None = None


@dataclass(frozen=True, slots=True)
class AccessCounts:
    """Numbers of accesses by kind. Only ``used`` counts uses.

    Attributes:
        stored: how often it was stored or rewritten.
        shown: how often it was a hit of a search.
        used: how often it was read, referenced or used.
    """

    stored: int
    shown: int
    used: int


@dataclass(frozen=True, slots=True)
class VitalityTerms:
    """Activation S = recent + tail + spread + revival, and the values derived from it, at one time.

    Attributes:
        accesses: number of accesses counted.
        recent: contribution of the eight newest accesses to S.
        tail: contribution of all earlier accesses.
        spread: contribution of accesses to its neighbours.
        revival: contribution of a recently added link.
        activation: S.
        base: B = ln S.
        vitality: S / (1 + S).
        retention: vitality with the protection floor; for zones and pruning only.
        zone: active, stale, fading or dormant.
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
    """One directed link of a memory; ``other`` is the one at its far end, with its title or first words."""

    other: int
    other_key: str | None
    other_title: str
    relation: str
    weight: float
    outgoing: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Access:
    """One access to a memory.

    Attributes:
        memory: its id or key.
        kind: how it was used; ``retrieval`` means it was only shown, and counts a tenth.
        at: time of the access; None is the database's current time.
        session_id: session of the access; memories used in one session become associated.
        idempotency_key: an access whose key was recorded before is ignored.
    """

    memory: int | str
    kind: AccessKind = "read"
    at: datetime | None = None
    session_id: str | None = None
    idempotency_key: str | None = None
