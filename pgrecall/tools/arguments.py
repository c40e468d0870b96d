"""The arguments of the tools: types, bounds and descriptions; and how times are parsed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from pgrecall.encoding import MAX_ID, memory_reference
from pgrecall.errors import InvalidInput
from pgrecall.importers import dates
from pgrecall.nouns.context.models import MIN_RELEVANCE, Order
from pgrecall.nouns.memories.models import RELATIONS, Role, SpeechAct


def _parse_reference(value: object) -> int | str:
    if isinstance(value, str):
        return memory_reference(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_ID:
        return value
    raise ValueError("give an id (a whole number) or a key (a text)")


def parse_json(value: object) -> object:
    """Some clients send a list or an object as JSON in a string; any other string is a list of one."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except ValueError:
        return [value]
    return parsed if isinstance(parsed, list | dict) else [value]


def parse_names(value: object) -> object:
    """As :func:`parse_json`, but an empty string is an empty list."""
    return [] if value == "" else parse_json(value)


Reference = Annotated[
    int | str,
    PlainValidator(_parse_reference),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 1, "maxLength": 1000}]}),
]
_Name = Annotated[str, Field(min_length=1, max_length=1000)]
Names = Annotated[list[_Name], Field(min_length=1, max_length=100), BeforeValidator(parse_json)]
_Names = Annotated[list[_Name], Field(max_length=100), BeforeValidator(parse_names)]
QueryText = Annotated[str, Field(max_length=10_000)]
QueryTexts = Annotated[list[QueryText], Field(min_length=1, max_length=16), BeforeValidator(parse_json)]


class Arguments(BaseModel):
    """Arguments of a tool. Unknown ones are refused: a misspelt filter would filter nothing."""

    model_config = ConfigDict(extra="forbid")


class NoArguments(Arguments):
    """For tools without arguments."""


class Filters(Arguments):
    """What ``search`` and ``context`` share: filters, the conversation, and whether a model plans."""

    conversation: (
        Annotated[list[dict[str, Any]], Field(max_length=100), BeforeValidator(parse_json)] | None
    ) = Field(None, description="The last turns, {role, content, at}, before a query that refers to them.")
    plan: bool | None = Field(None, description="Let a language model plan the search.")
    layers: Names | None = Field(
        None, description="Only memories in these layers: entity, knowledge, episodic, activity or your own."
    )
    tags: Names | None = Field(None, description="Only memories with all of these tags.")
    authors: Names | None = Field(None, description="Only memories by one of these authors.")
    sources: Names | None = Field(None, description="Only memories from one of these sources.")
    metadata: Annotated[dict[str, Any], BeforeValidator(parse_json)] | None = Field(
        None, description='Only memories with all of this metadata: {"project": "atlas"}.'
    )
    since: str | None = Field(
        None,
        max_length=100,
        description="Only memories of events since then: a date, a time (ISO 8601), or 7d, 2w, 6m, 1y ago.",
    )
    until: str | None = Field(
        None,
        max_length=100,
        description="Only memories of events before then, in the form of since. A date includes its day.",
    )
    include_superseded: bool = Field(False, description="Include memories that a newer one replaces.")
    include_archived: bool = Field(False, description="Include archived memories.")
    min_relevance: float = Field(
        0.0, ge=0, le=1, description="Leave out memories with a lower probability of answering."
    )
    require_answer: bool = Field(
        True, description="Return nothing if probably no memory answers; false returns the nearest anyway."
    )


class SearchArguments(Filters):
    """Arguments of ``search``."""

    query: QueryText = Field(
        "",
        description="What you want to know, as a question or in the words you expect in the memory. May be "
        "left out with since, until or directives, which then return the newest memories.",
    )
    queries: QueryTexts | None = Field(
        None, description="Other wordings or parts of the query, searched together."
    )
    hints: Names | None = Field(None, description="Words that a memory must contain.")
    directives: bool = Field(
        False, description="Only standing instructions and preferences; without a query, the newest."
    )
    as_of: str | None = Field(
        None, max_length=100, description="Search what was known at that time, in the form of since."
    )
    k: int = Field(8, ge=1, le=50, description="Maximum number of memories.")
    rerank: bool | None = Field(None, description="Rerank the best hits with a model: better, but slower.")
    max_chars: int = Field(
        2000, ge=50, le=100_000, description="Cut bodies after this many characters; `get` returns all."
    )
    explain: bool = Field(False, description="Explain each hit's score in a sentence.")


class ContextArguments(Filters):
    """Arguments of ``context``."""

    query: QueryText = Field(description="The question or task.")
    budget_tokens: int = Field(2000, ge=50, le=200_000, description="Maximum length of the text, in tokens.")
    per_layer: (
        Annotated[dict[str, Annotated[int, Field(ge=0, le=1000)]], BeforeValidator(parse_json)] | None
    ) = Field(None, description='Maximum number of memories per layer: {"activity": 3}.')
    min_relevance: float = Field(
        MIN_RELEVANCE, ge=0, le=1, description="Leave out memories with a lower probability of answering."
    )
    order: Order = Field("score", description="score: the best first; time: the oldest first.")


class GetArguments(Arguments):
    """Arguments of ``get``."""

    memory: Reference = Field(description="Id or key. Digits are an id; key:42 is the key 42.")
    max_chars: int = Field(
        100_000, ge=50, le=1_000_000, description="Cut the body after this many characters."
    )


class LinkTo(Arguments):
    """A link of a new memory."""

    target: _Name = Field(description="Key of the other memory, which may not exist yet.")
    relation: str = Field("links_to", max_length=100, description="As in `link`.")
    weight: float = Field(1.0, gt=0, le=100)


class RememberArguments(Arguments):
    """Arguments of ``remember``. None is not given; an empty value clears a field of an existing memory."""

    body: str = Field(
        max_length=1_000_000,
        description="The text: one fact, event or note, understandable on its own.",
    )
    title: str | None = Field(None, max_length=1000, description="A title, if it has one.")
    key: _Name | None = Field(
        None,
        description="Your unique key for it. A memory with the same key keeps the arguments that you leave "
        "out; give one as empty to clear it.",
    )
    layer: str | None = Field(
        None, max_length=200,
        description="How fast it fades: entity (people, places, things; slowest), knowledge (facts, "
        "how-tos; the usual one), episodic (what happened), activity (tasks, messages; fastest).",
    )  # fmt: skip
    tags: _Names | None = Field(None, description="Tags to filter by.")
    author: str | None = Field(None, max_length=1000, description="The person who said or wrote it.")
    role: Literal[Role, ""] | None = Field(None, description="The role of the author in a conversation.")
    context: str | None = Field(
        None,
        max_length=10_000,
        description="Words that help to find it but are not part of it, such as the topic.",
    )
    source: str | None = Field(None, max_length=1000, description="Where it comes from: a file or URL.")
    aliases: _Names | None = Field(None, description="Other names for it.")
    occurred_at: str | None = Field(
        None,
        max_length=100,
        description="When it happened, if not now: a date, a time (ISO 8601), or 7d ago.",
    )
    valid_until: str | None = Field(
        None, max_length=100, description="When it stops being valid; search leaves it out from then on."
    )
    links: Annotated[list[LinkTo], Field(max_length=100), BeforeValidator(parse_json)] | None = Field(
        None, description="Links to other memories."
    )
    metadata: Annotated[dict[str, Any], BeforeValidator(parse_json)] | None = Field(
        None, description="Other data to store with it, to filter by; it is not searched."
    )
    pinned: bool | None = Field(None, description="Never archive it when pruning.")
    speech_act: Literal[SpeechAct, ""] | None = Field(
        None,
        description="instruction or preference, if it shall hold for what the user asks later.",
    )


class UsedArguments(Arguments):
    """Arguments of ``used``."""

    memories: Annotated[list[Reference], Field(min_length=1, max_length=200), BeforeValidator(parse_json)] = (
        Field(description="Ids or keys of the memories that your answer or action relied on.")
    )
    search_id: int | None = Field(
        None, ge=1, le=MAX_ID, description="The search_id of the search or context that returned them."
    )


class LinkArguments(Arguments):
    """Arguments of ``link``."""

    source: Reference = Field(description="Id or key of the memory that the link leads from.")
    target: Reference = Field(description="Id or key of the memory that it leads to.")
    relation: str = Field("links_to", max_length=100, description=f"One of {', '.join(RELATIONS)}.")
    weight: float = Field(1.0, gt=0, le=100, description="Strength of the link.")


class SupersedeArguments(Arguments):
    """Arguments of ``supersede``."""

    old: Reference = Field(description="Id or key of the memory that no longer holds.")
    new: Reference = Field(description="Id or key of the memory that replaces it.")


class ForgetArguments(Arguments):
    """Arguments of ``forget``."""

    memory: Reference = Field(description="Id or key.")


class PrunePlanArguments(Arguments):
    """Arguments of ``prune_plan``."""

    max_count: int | None = Field(
        None, ge=1, le=1_000_000, description="Maximum number of memories to archive."
    )
    max_share: float | None = Field(
        None, gt=0, le=1, description="Maximum share of the live memories to archive."
    )
    grace_days: float | None = Field(
        None, ge=0, le=36_500, description="Keep memories stored or accessed within this many days."
    )
    layers: Names | None = Field(None, description="Only memories in these layers.")
    show: int = Field(20, ge=0, le=200, description="Maximum number of planned memories to list.")


class DedupePlanArguments(Arguments):
    """Arguments of ``dedupe_plan``."""

    min_similarity: float | None = Field(
        None, ge=0.7, le=1, description="Only duplicates whose vectors are at least this similar."
    )
    max_count: int | None = Field(
        None, ge=1, le=1_000_000, description="Maximum number of memories to merge."
    )
    layers: Names | None = Field(None, description="Only memories in these layers.")
    show: int = Field(20, ge=0, le=200, description="Maximum number of clusters to list.")


def parse_time(value: str | None, name: str, now: datetime) -> datetime | None:
    """A date, a time, or how long ago (``7d``), for the argument ``name``.

    Raises:
        InvalidInput: it is none of these.
    """
    return _parse_time(dates.parse_since, value, name, now)


def parse_end(value: str | None, name: str, now: datetime) -> datetime | None:
    """Like :func:`parse_time`, but a date means the end of that day."""
    return _parse_time(dates.parse_until, value, name, now)


def _parse_time(
    parse: Callable[[str, datetime], datetime], value: str | None, name: str, now: datetime
) -> datetime | None:
    if value is None:
        return None
    try:
        return parse(value, now)
    except ValueError as error:
        raise InvalidInput(f"{name}: {error}.") from error
