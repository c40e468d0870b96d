"""What the tools return, small enough for a prompt: numbers of three digits, bodies cut where asked."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema


class Result(BaseModel):
    """What a tool returns."""

    model_config = ConfigDict(frozen=True)


Rounded = Annotated[float, PlainSerializer(lambda value: round(value, 3), return_type=float)]
Moment = Annotated[datetime, WithJsonSchema({"type": "string", "description": "ISO 8601, UTC."})]


class FoundMemory(Result):
    """One hit."""

    id: int
    key: str | None
    title: str
    body: str
    cut: bool = Field(description="The body goes on; `get` shows all of it.")
    layer: str
    author: str | None
    tags: tuple[str, ...]
    happened_at: Moment
    score: Rounded = Field(description="Relevance and vitality in one; the order of the hits.")
    relevance: Rounded = Field(description="Probability that it answers the question.")
    vitality: Rounded = Field(description="How alive its use keeps it, 0 to 1.")
    zone: str = Field(description="active, stale, fading or archived, by its vitality.")
    superseded_by: int | None = Field(description="Id of the memory that replaces it: rely on that one.")
    contradicts: tuple[int, ...] = Field(description="Ids of memories that say otherwise.")
    archived: bool
    why: str | None = Field(description="Why it has its place, when asked to explain.")


class Found(Result):
    """Of ``search``."""

    no_match: bool = Field(description="Nothing was good enough; `advice` says what to try.")
    search_id: int | None = Field(description="For `used`; null when it was not logged.")
    hits: tuple[FoundMemory, ...] = Field(description="Best first.")
    skipped: tuple[str, ...] = Field(description="What did not run as usual, in a sentence each.")
    advice: str | None = Field(description="What to do next, when there are no hits.")


class Source(Result):
    """Which memory a marker stands for."""

    number: int = Field(description="As in the marker [1].")
    id: int
    key: str | None
    title: str
    cut: bool


class Context(Result):
    """Of ``context``."""

    text: str = Field(description="The memories as one text, each under a marker such as [1]; empty if none.")
    tokens: int
    search_id: int | None = Field(description="For `used`; null when it was not logged.")
    sources: tuple[Source, ...]
    left_out: int = Field(description="How many memories were found and did not go in.")
    skipped: tuple[str, ...]
    advice: str | None = Field(description="What to do next, when there is no text.")


class LinkOf(Result):
    """A link of a memory."""

    other: int = Field(description="Id of the memory at its far end.")
    other_key: str | None
    other_title: str
    relation: str
    outgoing: bool


class Got(Result):
    """Of ``get``."""

    id: int
    key: str | None
    layer: str
    title: str
    body: str
    cut: bool = Field(description="The body goes on; ask with a larger max_chars.")
    role: str | None
    author: str | None
    context: str
    source: str | None
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    metadata: dict[str, Any]
    occurred_at: Moment | None
    valid_from: Moment | None
    valid_until: Moment | None
    created_at: Moment
    updated_at: Moment
    archived_at: Moment | None = Field(description="Since when default search leaves it out.")
    superseded_by: int | None = Field(description="Id of the memory that replaces it.")
    pinned: bool
    accesses: int = Field(description="How often it was used, its birth included.")
    vitality: Rounded
    zone: str
    links: tuple[LinkOf, ...]
    links_left_out: int


class Stored(Result):
    """Of ``remember``."""

    id: int
    key: str | None
    outcome: str = Field(
        description="created, updated (same key, other content), revived (it was forgotten) or unchanged."
    )


class Recorded(Result):
    """Of ``used``."""

    recorded: int = Field(description="How many uses were counted; what was counted before is not.")


class Linked(Result):
    """Of ``link``."""

    new: bool = Field(description="False: they were linked so already.")


class Superseded(Result):
    """Of ``supersede``."""

    new: bool = Field(description="False: that was known already.")


class Forgotten(Result):
    """Of ``forget``."""

    archived: bool = Field(description="False: it was archived already.")


class PlannedMemory(Result):
    """A memory that a plan would archive."""

    id: int
    key: str | None
    title: str
    layer: str
    vitality: Rounded
    reason: str


class Planned(Result):
    """Of ``prune_plan``."""

    plan: int = Field(description="Its number, by which a person reviews and applies it.")
    live: int = Field(description="Live memories in all.")
    planned: int = Field(description="How many of them the plan would archive.")
    kept_back: int = Field(description="Faded, but others would be cut off without them.")
    capped: int = Field(description="Faded, but left out by a cap.")
    links_ending: int
    memories: tuple[PlannedMemory, ...] = Field(description="The least lively first.")
    next_step: str


class LayerState(Result):
    """How many live memories a layer holds, by zone."""

    layer: str
    memories: int
    zones: dict[str, int]


class State(Result):
    """Of ``status``."""

    tenant: str
    memories: int = Field(description="Live ones.")
    archived: int
    awaiting_embedding: int = Field(description="Found by words and names only, until a worker embeds them.")
    links: int
    accesses: int
    never_used: Rounded = Field(description="Share of live memories never used since they were stored.")
    layers: tuple[LayerState, ...]
    embedder: str | None
    last_access_at: Moment | None
    alarms: tuple[str, ...] = Field(description="What needs somebody's eye; empty when all is well.")
