"""What the tools take: every argument with its type, its bounds and a word about it."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from pgrecall.encoding import memory_reference
from pgrecall.models.context import Order
from pgrecall.models.memories import RELATIONS
from pgrecall.models.role import Role

_LARGEST = 2**63 - 1


def _reference(given: object) -> int | str:
    if isinstance(given, str):
        return memory_reference(given)
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) <= _LARGEST:
        return given
    raise ValueError("give an id, a whole number, or a key, a text")


def _from_json(given: object) -> object:
    """Some clients send a list or an object as a text that holds JSON; a mere text is a list of one."""
    if not isinstance(given, str):
        return given
    try:
        read = json.loads(given)
    except ValueError:
        return [given]
    return read if isinstance(read, list | dict) else [given]


Reference = Annotated[
    int | str,
    PlainValidator(_reference),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 1, "maxLength": 1000}]}),
]
_Name = Annotated[str, Field(min_length=1, max_length=1000)]
Names = Annotated[list[_Name], Field(min_length=1, max_length=100), BeforeValidator(_from_json)]
Question = Annotated[str, Field(max_length=10_000)]
Questions = Annotated[list[Question], Field(min_length=1, max_length=16), BeforeValidator(_from_json)]


class Arguments(BaseModel):
    """Arguments of a tool. What is not an argument is refused: a misspelt filter would filter nothing."""

    model_config = ConfigDict(extra="forbid")


class NoArguments(Arguments):
    """A tool that takes nothing."""


class Filters(Arguments):
    """What narrows a search."""

    layers: Names | None = Field(
        None, description="Only these layers: entity, knowledge, episodic, activity or your own."
    )
    tags: Names | None = Field(None, description="Only memories with all of these tags.")
    authors: Names | None = Field(None, description="Only memories by one of these authors.")
    sources: Names | None = Field(None, description="Only memories from one of these sources.")
    metadata: Annotated[dict[str, Any], BeforeValidator(_from_json)] | None = Field(
        None, description='Only memories whose metadata hold all of this: {"project": "atlas"}.'
    )
    since: str | None = Field(
        None,
        max_length=100,
        description="Only what happened since: a date, a time (ISO 8601), or 7d, 2w, 6m, 1y ago.",
    )
    until: str | None = Field(
        None,
        max_length=100,
        description="Only what happened before; written like since. A date includes its day.",
    )
    include_superseded: bool = Field(False, description="Also what a newer memory replaces.")
    include_archived: bool = Field(False, description="Also what was archived or forgotten.")
    min_relevance: float = Field(
        0.0, ge=0, le=1, description="Leave out what answers with less than this probability."
    )


class SearchArguments(Filters):
    """Of ``search``."""

    query: Question = Field(
        "",
        description="What you want to know, as a question or in the words you expect in the answer. May be "
        "left out with since or until: the newest of that time.",
    )
    queries: Questions | None = Field(
        None, description="Other ways to ask, or parts of the question, searched together."
    )
    hints: Names | None = Field(None, description="Words that a memory must hold to be an answer.")
    as_of: str | None = Field(
        None, max_length=100, description="Answer by what was known then; written like since."
    )
    k: int = Field(8, ge=1, le=50, description="How many memories at most.")
    rerank: bool = Field(False, description="Let a model read the best ones again: better, and slower.")
    max_chars: int = Field(
        2000, ge=50, le=100_000, description="Show at most so many characters of each body; `get` shows all."
    )
    explain: bool = Field(False, description="Say in a sentence for each hit why it has its place.")


class ContextArguments(Filters):
    """Of ``context``."""

    query: Question = Field(description="The question or task the text shall help with.")
    budget_tokens: int = Field(2000, ge=50, le=200_000, description="How long the text may be, in tokens.")
    per_layer: (
        Annotated[dict[str, Annotated[int, Field(ge=0, le=1000)]], BeforeValidator(_from_json)] | None
    ) = Field(None, description='At most so many memories of a layer: {"activity": 3}.')
    order: Order = Field("score", description="score: the best first; time: the oldest first.")


class GetArguments(Arguments):
    """Of ``get``."""

    memory: Reference = Field(description="Its id or its key. Digits are an id; key:42 is the key 42.")
    max_chars: int = Field(
        100_000, ge=50, le=1_000_000, description="Show at most so many characters of the body."
    )


class LinkTo(Arguments):
    """A link of a memory that is being remembered."""

    target: _Name = Field(description="The key of the other memory; it may come later.")
    relation: str = Field("links_to", max_length=100, description=f"One of {', '.join(RELATIONS)}.")
    weight: float = Field(1.0, gt=0, le=100)


class RememberArguments(Arguments):
    """Of ``remember``."""

    body: str = Field(
        max_length=1_000_000,
        description="The memory itself: one fact, event or note, understandable on its own.",
    )
    title: str = Field("", max_length=1000, description="A name for it, where it has one.")
    key: _Name | None = Field(
        None, description="Your own name for it, unique; a memory with the same key is replaced."
    )
    layer: str = Field(
        "knowledge", max_length=200,
        description="How fast it fades: entity (people, places, things; slowest), knowledge (facts, "
        "how-tos), episodic (what happened), activity (tasks, messages; fastest).",
    )  # fmt: skip
    tags: Names | None = Field(None, description="Words to filter by later.")
    author: str | None = Field(None, max_length=1000, description="Who said or wrote it.")
    role: Role | None = Field(None, description="Of whoever said it, in a conversation.")
    context: str = Field(
        "",
        max_length=10_000,
        description="Words that help to find it and are not part of it, like the topic.",
    )
    source: str | None = Field(None, max_length=1000, description="Where it comes from: a file, an address.")
    aliases: Names | None = Field(None, description="Other names that it goes by.")
    occurred_at: str | None = Field(
        None,
        max_length=100,
        description="When it happened, if not now: a date, a time (ISO 8601), or 7d ago.",
    )
    valid_until: str | None = Field(
        None, max_length=100, description="Until when it holds; later it is left out."
    )
    links: Annotated[list[LinkTo], Field(max_length=100), BeforeValidator(_from_json)] | None = Field(
        None, description="What it is linked to."
    )
    metadata: Annotated[dict[str, Any], BeforeValidator(_from_json)] | None = Field(
        None, description="Anything else to keep with it, to filter by later; its words are not searched."
    )
    pinned: bool = Field(False, description="Never archive it when memories are pruned.")


class UsedArguments(Arguments):
    """Of ``used``."""

    memories: Annotated[list[Reference], Field(min_length=1, max_length=200), BeforeValidator(_from_json)] = (
        Field(description="Ids or keys of the memories that your answer or action relied on.")
    )
    search_id: int | None = Field(
        None, ge=1, le=_LARGEST, description="The search_id of what showed them, if it had one."
    )


class LinkArguments(Arguments):
    """Of ``link``."""

    source: Reference = Field(description="Where the link begins: an id or a key.")
    target: Reference = Field(description="Where it leads: an id or a key.")
    relation: str = Field("links_to", max_length=100, description=f"One of {', '.join(RELATIONS)}.")
    weight: float = Field(1.0, gt=0, le=100, description="How strongly.")


class SupersedeArguments(Arguments):
    """Of ``supersede``."""

    old: Reference = Field(description="What is no longer so: an id or a key.")
    new: Reference = Field(description="What replaces it: an id or a key.")


class ForgetArguments(Arguments):
    """Of ``forget``."""

    memory: Reference = Field(description="Its id or its key.")


class PrunePlanArguments(Arguments):
    """Of ``prune_plan``."""

    max_count: int | None = Field(None, ge=1, le=1_000_000, description="Plan to archive at most so many.")
    max_share: float | None = Field(
        None, gt=0, le=1, description="Plan to archive at most this share of the live memories."
    )
    grace_days: float | None = Field(
        None, ge=0, le=36_500, description="Leave out what was stored or used in the last so many days."
    )
    layers: Names | None = Field(None, description="Only memories of these layers.")
    show: int = Field(20, ge=0, le=200, description="How many of the planned memories to list.")
