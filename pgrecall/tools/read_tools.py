"""Tools that find: search, context, get, status."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pgrecall.arguments import SearchOptions
from pgrecall.models.context import ContextBlock, ContextSource
from pgrecall.models.maintenance import Status
from pgrecall.models.memories import Link, StoredMemory
from pgrecall.models.search import Hit, SearchResult
from pgrecall.search.explanation import sentence
from pgrecall.tools.arguments import ContextArguments, Filters, GetArguments, NoArguments, SearchArguments
from pgrecall.tools.results import Context, Found, FoundMemory, Got, LayerState, LinkOf, Source, State
from pgrecall.tools.times import end, moment
from pgrecall.tools.tool import Client, Maybe, Tool

SHOWN_LINKS = 50


def _filters(given: Filters, now: datetime) -> SearchOptions:
    return {
        "layers": _tuple(given.layers),
        "tags": _tuple(given.tags),
        "authors": _tuple(given.authors),
        "sources": _tuple(given.sources),
        "metadata": given.metadata,
        "since": moment(given.since, "since", now),
        "until": end(given.until, "until", now),
        "include_superseded": given.include_superseded,
        "include_archived": given.include_archived,
        "min_relevance": given.min_relevance,
    }


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return tuple(names) if names else None


def _shown(body: str, most: int) -> tuple[str, bool]:
    return body[:most], len(body) > most


def _hit(hit: Hit, given: SearchArguments) -> FoundMemory:
    body, cut = _shown(hit.body, given.max_chars)
    return FoundMemory(
        id=hit.id, key=hit.key, title=hit.title, body=body, cut=cut, layer=hit.layer, author=hit.author,
        tags=hit.tags, happened_at=hit.happened_at, score=hit.score, relevance=hit.relevance,
        vitality=hit.vitality, zone=hit.zone, superseded_by=hit.superseded_by, contradicts=hit.contradicts,
        archived=hit.archived_at is not None, why=sentence(hit.explanation) if given.explain else None,
    )  # fmt: skip


def _advice(given: Filters, found: bool, arms: Mapping[str, int]) -> str | None:
    """What to do where nothing was found; ``arms`` says how many candidates each way to search had."""
    if found:
        return None
    defaults = {name: field.default for name, field in Filters.model_fields.items()}
    narrowed = [name for name, default in defaults.items() if getattr(given, name) != default]
    ways = ["ask in other words, or in fewer", "ask for a name that would stand beside it"]
    if narrowed:
        ways.insert(0, f"leave out {', '.join(narrowed)}")
    weak = ", ".join(f"{arm} {count}" for arm, count in arms.items() if count)
    near = f" (too weak: {weak})" if weak else ""
    return f"Nothing that is remembered answers this{near}. Try once more: {'; '.join(ways)}. Else say so."


def _search(memory: Client, given: SearchArguments, now: datetime) -> Maybe[SearchResult]:
    options: SearchOptions = {
        "k": given.k,
        "explain": given.explain,
        "queries": _tuple(given.queries),
        "hints": _tuple(given.hints),
        "as_of": moment(given.as_of, "as_of", now),
        "rerank": given.rerank,
    }
    return memory.search(given.query, **(_filters(given, now) | options))


def _found(given: SearchArguments, result: SearchResult) -> Found:
    return Found(
        no_match=result.no_match,
        search_id=result.search_id,
        hits=tuple(_hit(hit, given) for hit in result.hits),
        skipped=result.skipped,
        advice=_advice(given, bool(result.hits), result.arms),
    )


def _context(memory: Client, given: ContextArguments, now: datetime) -> Maybe[ContextBlock]:
    return memory.context(
        given.query,
        budget_tokens=given.budget_tokens,
        per_layer=given.per_layer,
        order=given.order,
        **_filters(given, now),
    )


def _block(given: ContextArguments, block: ContextBlock) -> Context:
    return Context(
        text=block.text,
        tokens=block.tokens,
        search_id=block.search_id,
        sources=tuple(_source(source) for source in block.sources),
        left_out=len(block.left_out),
        skipped=block.skipped,
        advice=_advice(given, bool(block.sources), {}),
    )


def _source(source: ContextSource) -> Source:
    return Source(number=source.number, id=source.id, key=source.key, title=source.title, cut=source.cut)


def _get(memory: Client, given: GetArguments, _now: datetime) -> Maybe[StoredMemory]:
    return memory.get(given.memory)


def _got(given: GetArguments, stored: StoredMemory) -> Got:
    body, cut = _shown(stored.body, given.max_chars)
    return Got(
        id=stored.id, key=stored.key, layer=stored.layer, title=stored.title, body=body, cut=cut,
        role=stored.role, author=stored.author, context=stored.context, source=stored.source,
        tags=stored.tags, aliases=stored.aliases, metadata=dict(stored.metadata),
        occurred_at=stored.occurred_at, valid_from=stored.valid_from, valid_until=stored.valid_until,
        created_at=stored.created_at, updated_at=stored.updated_at, archived_at=stored.archived_at,
        superseded_by=stored.superseded_by, pinned=stored.pinned, accesses=stored.vitality.accesses,
        vitality=stored.vitality.vitality, zone=stored.vitality.zone,
        links=tuple(_link(link) for link in stored.links[:SHOWN_LINKS]),
        links_left_out=max(0, len(stored.links) - SHOWN_LINKS),
    )  # fmt: skip


def _link(link: Link) -> LinkOf:
    return LinkOf(
        other=link.other, other_key=link.other_key, other_title=link.other_title, relation=link.relation,
        outgoing=link.outgoing,
    )  # fmt: skip


def _status(memory: Client, _given: NoArguments, _now: datetime) -> Maybe[Status]:
    return memory.status()


def _state(_given: NoArguments, status: Status) -> State:
    layers = tuple(
        LayerState(layer=layer.layer, memories=layer.memories, zones=dict(layer.zones))
        for layer in status.layers
    )
    return State(
        tenant=status.tenant, memories=status.memories, archived=status.archived,
        awaiting_embedding=status.awaiting_embedding, links=status.links, accesses=status.accesses,
        never_used=status.never_used, layers=layers, embedder=status.embedder,
        last_access_at=status.last_access_at, alarms=status.alarms,
    )  # fmt: skip


SEARCH = Tool(
    name="search",
    title="Search memory",
    description=(
        "Look up what is remembered, before you answer from general knowledge or ask the user something they"
        " may have said before. Returns memories, best first, with the probability that each answers the "
        "question. Afterwards call `used` with the ids your answer relied on: use keeps a memory alive. With"
        " no_match, follow `advice` once, then say that nothing is remembered; do not guess."
    ),
    arguments=SearchArguments,
    result=Found,
    ask=_search,
    tell=_found,
    reads_only=True,
)
CONTEXT = Tool(
    name="context",
    title="Context for a task",
    description=(
        "The memories that help with a question or task, as one text within a budget of tokens, without "
        "near-duplicates. Call it at the start of a task; use `search` to look up one thing. Markers such as"
        " [1] name the `sources`: cite them, and call `used` with the ids you relied on."
    ),
    arguments=ContextArguments,
    result=Context,
    ask=_context,
    tell=_block,
    reads_only=True,
)
GET = Tool(
    name="get",
    title="Read a memory",
    description=(
        "One memory whole, by id or key: its text, when it holds, what replaces it, its links. For a hit "
        "whose body was cut, or to follow a link. Reading does not count as a use; `used` does."
    ),
    arguments=GetArguments,
    result=Got,
    ask=_get,
    tell=_got,
    reads_only=True,
)
STATUS = Tool(
    name="status",
    title="State of the memory",
    description=(
        "How much is remembered, layer by layer, how alive it is, and what needs attention. For questions "
        "about the memory itself, or when searches find nothing at all; not needed before other tools."
    ),
    arguments=NoArguments,
    result=State,
    ask=_status,
    tell=_state,
    reads_only=True,
)
