"""The tools that read: search, context, get, status."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from pgrecall.arguments import SearchOptions
from pgrecall.nouns.context.models import ContextBlock
from pgrecall.nouns.memories.models import DIRECTIVES, StoredMemory
from pgrecall.nouns.search.models import Hit, SearchResult
from pgrecall.nouns.status.models import Status
from pgrecall.search.context.rendering import passage_start, sentence_ends
from pgrecall.search.explanation import sentence
from pgrecall.tools.arguments import (
    ContextArguments,
    Filters,
    GetArguments,
    NoArguments,
    SearchArguments,
    parse_end,
    parse_time,
)
from pgrecall.tools.results import (
    AccessCountsResult,
    ContextResult,
    GetResult,
    HitResult,
    LayerResult,
    LinkResult,
    SearchResponse,
    SourceResult,
    StatusResult,
)
from pgrecall.tools.tool import Client, MaybeAwaitable, Tool

MAX_LINKS = 50

_ALWAYS = datetime.min.replace(tzinfo=UTC)


def _filters(arguments: Filters, now: datetime) -> SearchOptions:
    given = {name: getattr(arguments, name) for name in Filters.model_fields}
    tuples = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    period = {
        "since": parse_time(arguments.since, "since", now),
        "until": parse_end(arguments.until, "until", now),
    }
    return cast("SearchOptions", given | tuples | period)


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return tuple(names) if names else None


def _search(memory: Client, arguments: SearchArguments, now: datetime) -> MaybeAwaitable[SearchResult]:
    options: SearchOptions = {
        "k": arguments.k,
        "explain": arguments.explain,
        "queries": _tuple(arguments.queries),
        "hints": _tuple(arguments.hints),
        "as_of": parse_time(arguments.as_of, "as_of", now),
        "rerank": arguments.rerank,
    }
    filters = _filters(arguments, now)
    if arguments.directives:
        options["speech_acts"] = DIRECTIVES
        if not (arguments.query or arguments.queries or arguments.since or arguments.until):
            filters["since"] = _ALWAYS
    return memory.search(arguments.query, **(filters | options))


def _search_response(arguments: SearchArguments, result: SearchResult) -> SearchResponse:
    names = {hit.id: name for hit in result.hits if (name := hit.title or hit.key)}
    return SearchResponse(
        no_match=result.no_match,
        confidence=result.confidence,
        search_id=result.search_id,
        hits=tuple(_hit(hit, arguments, names) for hit in result.hits),
        skipped=result.skipped,
        needs_context=result.needs_context,
        advice=_advice(arguments, bool(result.hits), result.arms, result.confidence, result.needs_context),
        plan=None if result.plan is None else str(result.plan),
    )


def _hit(hit: Hit, arguments: SearchArguments, names: Mapping[int, str]) -> HitResult:
    start, end = excerpt(hit, arguments.max_chars)
    return HitResult.from_value(
        hit,
        body=hit.body[start:end],
        cut=end - start < len(hit.body),
        start=start,
        archived=hit.archived_at is not None,
        speech_act=hit.speech_act if hit.tenant is None else None,  # others give no orders
        why=sentence(hit.explanation, names=names) if arguments.explain else None,
    )


def excerpt(hit: Hit, max_chars: int) -> tuple[int, int]:
    """Where the part of a body begins and ends that is shown: from its passage on, or before it if more fits.

    Of a directive these are whole sentences, however long the first one is, as a part may say the opposite.
    """
    first = passage_start(hit)
    start = min(first, max(0, len(hit.body) - max_chars))
    end = min(start + max_chars, len(hit.body))
    if not hit.is_directive or end == len(hit.body):
        return start, end
    ends = [place for place in sentence_ends(hit.body) if place > first] + [len(hit.body)]
    needed = first + len(hit.directive) if hit.directive else ends[0]
    return start, max([needed, *(place for place in ends if needed < place <= end)])


def _advice(
    arguments: Filters,
    found: bool,
    arms: Mapping[str, int],
    confidence: float | None,
    needs_context: bool = False,
) -> str | None:
    """What to try when nothing was found; ``arms`` has the number of candidates of each arm."""
    if found:
        return None
    if needs_context:
        return "The query refers to its conversation. Search again, and name what it is about."
    known = type(arguments).model_fields
    kept = ("require_answer", "plan")
    defaults = {name: known[name].default for name in Filters.model_fields if name not in kept}
    filters = [name for name, default in defaults.items() if getattr(arguments, name) != default]
    if isinstance(arguments, SearchArguments) and arguments.directives:
        filters.append("directives")
    ways = ["use other or fewer words", "search for a name that the memory would contain"]
    if filters:
        ways.insert(0, f"leave out {', '.join(filters)}")
    weak = ", ".join(f"{arm} {count}" for arm, count in arms.items() if count)
    likely = f"probability {confidence:.2f}" if confidence else ""
    reasons = "; ".join(filter(None, (likely, f"too weak: {weak}" if weak else "")))
    candidates = f" ({reasons})" if reasons else ""
    return f"No memory answers this{candidates}. Try once more: {'; '.join(ways)}. Otherwise say so."


def _context(memory: Client, arguments: ContextArguments, now: datetime) -> MaybeAwaitable[ContextBlock]:
    return memory.context(
        arguments.query,
        budget_tokens=arguments.budget_tokens,
        per_layer=arguments.per_layer,
        order=arguments.order,
        **_filters(arguments, now),
    )


def _context_result(arguments: ContextArguments, block: ContextBlock) -> ContextResult:
    return ContextResult.from_value(
        block,
        sources=tuple(SourceResult.from_value(source) for source in block.sources),
        left_out=len(block.left_out),
        advice=_advice(arguments, bool(block.sources), {}, block.confidence),
        plan=None if block.plan is None else str(block.plan),
    )


def _get(memory: Client, arguments: GetArguments, _now: datetime) -> MaybeAwaitable[StoredMemory]:
    return memory.get(arguments.memory)


def _get_result(arguments: GetArguments, stored: StoredMemory) -> GetResult:
    return GetResult.from_value(
        stored,
        body=stored.body[: arguments.max_chars],
        cut=len(stored.body) > arguments.max_chars,
        metadata=dict(stored.metadata),
        access_counts=AccessCountsResult.from_value(stored.access_counts),
        vitality=stored.vitality.vitality,
        zone=stored.vitality.zone,
        links=tuple(LinkResult.from_value(link) for link in stored.links[:MAX_LINKS]),
        links_left_out=max(0, len(stored.links) - MAX_LINKS),
    )


def _status(memory: Client, _arguments: NoArguments, _now: datetime) -> MaybeAwaitable[Status]:
    return memory.status()


def _status_result(_arguments: NoArguments, status: Status) -> StatusResult:
    layers = tuple(LayerResult.from_value(layer, zones=dict(layer.zones)) for layer in status.layers)
    return StatusResult.from_value(
        status, layers=layers, access_counts=AccessCountsResult.from_value(status.access_counts)
    )


SEARCH = Tool(
    name="search",
    title="Search memories",
    description=(
        "Search memories, before you answer from general knowledge or ask the user for something they may "
        "have told you. Returns memories, best first, each with the probability that it answers the query. "
        "Afterwards call `used` with the ids that your answer relied on. On no_match, follow `advice` once, "
        "then say that you remember nothing about it; do not guess."
    ),
    arguments=SearchArguments,
    result=SearchResponse,
    request=_search,
    respond=_search_response,
    read_only=True,
)
CONTEXT = Tool(
    name="context",
    title="Get context for a task",
    description=(
        "Get the memories that help with a question or task as one text within a token budget, without "
        "near-duplicates. Call it at the start of a task; use `search` to look up one thing. Markers such as "
        "[1] refer to `sources`: cite them, and call `used` with the ids you relied on."
    ),
    arguments=ContextArguments,
    result=ContextResult,
    request=_context,
    respond=_context_result,
    read_only=True,
)
GET = Tool(
    name="get",
    title="Get a memory",
    description=(
        "Get one memory in full, by id or key: its text, when it is valid, what supersedes it, its links. "
        "Use it for a hit whose body was cut, or to follow a link. Reading is not a use; `used` reports one."
    ),
    arguments=GetArguments,
    result=GetResult,
    request=_get,
    respond=_get_result,
    read_only=True,
)
STATUS = Tool(
    name="status",
    title="Status of the memory",
    description=(
        "Get counts by layer and zone, and alarms. Use it for questions about the memory itself, or when "
        "searches find nothing at all; other tools do not need it."
    ),
    arguments=NoArguments,
    result=StatusResult,
    request=_status,
    respond=_status_result,
    read_only=True,
)
