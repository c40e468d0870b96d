"""What takes more than one step, as generators that ask for each step and do no I/O.

A flow yields :class:`Operation` or :class:`Embed` and is sent what came of it; the client drives
it. So one text serves the synchronous and the asynchronous client.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar, cast

from pgrecall.encoding import Vector, require_searchable
from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.graph import LinkGraph, articulate
from pgrecall.models import Draft, GraphReport, ImportReport, Problem, Remembered, SearchRequest, SearchResult
from pgrecall.operations import (
    KnownContent,
    Operation,
    Rejected,
    content_hashes,
    keys_of_source,
    link_graph,
    pending_count,
    question_without_names,
    refresh_statistics,
    remember_many,
    store_cut_sizes,
)
from pgrecall.operations import search as search_operation
from pgrecall.search.embedding import embedding_text

T = TypeVar("T")

IMPORT_BATCH = 64
"""Drafts an import embeds and commits at a time."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Asks the driver for one vector a text; it is answered with vectors or an EmbedderError."""

    texts: tuple[str, ...]


Step = Operation[Any] | Embed
Flow = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one batch of drafts."""

    remembered: tuple[Remembered, ...]
    problems: tuple[Problem, ...]


def search(request: SearchRequest, *, embed: bool) -> Flow[SearchResult]:
    """Question without names, its vector, candidates and scores. Words answer when meaning cannot."""
    require_searchable(request)
    if not embed:
        hits = yield search_operation(request, None)
        return SearchResult(hits, skipped=("meaning: no embedder is configured",))
    question, names = yield question_without_names(request.query)
    vectors = yield Embed((question,))
    if isinstance(vectors, EmbedderError):
        hits = yield search_operation(request, None)
        return SearchResult(hits, skipped=(f"meaning: {vectors}",))
    hits = yield search_operation(request, vectors[0])
    return SearchResult(hits, names=names)


def remember(
    drafts: Sequence[Draft], embedder: str | None, *, strict: bool = True, now: datetime | None = None
) -> Flow[Stored]:
    """Embeds what is new or changed, then stores the whole batch in one call.

    With ``strict`` one draft that cannot be stored refuses the batch; otherwise it becomes a
    problem and the rest is stored.
    """
    known = yield from _known(drafts)
    return (yield from _store(drafts, known, embedder, strict=strict, now=now))


def _known(drafts: Sequence[Draft]) -> Flow[dict[str, KnownContent]]:
    """What is stored under the keys of these drafts."""
    keys = [draft.key for draft in drafts if draft.key is not None]
    known: dict[str, KnownContent] = (yield content_hashes(keys)) if keys else {}
    return known


def _store(
    drafts: Sequence[Draft],
    known: dict[str, KnownContent],
    embedder: str | None,
    *,
    strict: bool,
    now: datetime | None = None,
) -> Flow[Stored]:
    vectors: list[Vector | None] = [None] * len(drafts)
    if embedder is not None:
        stale = [place for place, draft in enumerate(drafts) if _needs_embedding(draft, known)]
        texts = tuple(embedding_text(drafts[place].title, drafts[place].body) for place in stale)
        made = (yield Embed(texts)) if texts else []
        if isinstance(made, EmbedderError):
            raise made
        for place, vector in zip(stale, made, strict=True):
            vectors[place] = vector
    outcome = yield remember_many(drafts, vectors, embedder, skip_rejected=not strict, now=now)
    rows = cast("list[Remembered | Rejected]", outcome)
    return Stored(
        tuple(row for row in rows if isinstance(row, Remembered)),
        tuple(_problem_of(row, drafts) for row in rows if isinstance(row, Rejected)),
    )


def _problem_of(rejected: Rejected, drafts: Sequence[Draft]) -> Problem:
    """A rejected draft as a problem that names it."""
    draft = drafts[rejected.position]
    return Problem(draft.key or draft.title or f"draft {rejected.position + 1}", rejected.reason)


def import_batch(drafts: Sequence[Draft], embedder: str | None) -> Flow[Stored]:
    """Stores a batch that came from a source; a key that another source owns is left alone."""
    known = yield from _known(drafts)
    foreign = [
        Problem(
            str(draft.key),
            f"this key belongs to {known[draft.key].source or 'a memory made by hand'}; "
            "import with --prefix to keep both, or with --source to continue that one",
        )
        for draft in drafts
        if draft.key in known and known[draft.key].source != draft.source
    ]
    taken = {problem.where for problem in foreign}
    ours = [draft for draft in drafts if draft.key not in taken]
    stored = yield from _store(ours, known, embedder, strict=False)
    return Stored(stored.remembered, (*foreign, *stored.problems))


def import_drafts(
    items: Iterable[Draft | Problem],
    embedder: str | None,
    *,
    source: str,
    strict: bool,
    progress: Callable[[int], None],
) -> Flow[ImportReport]:
    """Stores what an importer reads, batch by batch; then refreshes statistics and the graph."""
    report = ImportReport()
    seen: set[str] = set()
    for batch in _batches(items, IMPORT_BATCH):
        problems = [item for item in batch if isinstance(item, Problem)]
        drafts = [item for item in batch if isinstance(item, Draft)]
        _refuse_problems(problems, strict=strict)
        stored = (yield from import_batch(drafts, embedder)) if drafts else Stored((), ())
        _refuse_problems(stored.problems, strict=strict)
        seen.update(draft.key for draft in drafts if draft.key is not None)
        report = _extended(report, stored, problems)
        progress(len(batch))
    yield refresh_statistics(None)
    yield from refresh_graph()
    there = yield keys_of_source(source)
    pending = yield pending_count()
    removed = tuple(key for key in there if key not in seen)
    return replace(report, removed=removed, links_pending=pending)


def refresh_graph() -> Flow[GraphReport]:
    """Finds the memories that hold the link graph together, and has them protected."""
    graph = LinkGraph.of_blob((yield link_graph()))
    structure = articulate(graph)
    points = structure.points()
    protected = yield store_cut_sizes(points)
    return GraphReport(graph.node_count, graph.link_count, len(points), tuple(structure.bridges), protected)


def _extended(report: ImportReport, stored: Stored, problems: Sequence[Problem]) -> ImportReport:
    outcomes = [row.outcome for row in stored.remembered]
    return replace(
        report,
        created=report.created + outcomes.count("created"),
        updated=report.updated + outcomes.count("updated"),
        unchanged=report.unchanged + outcomes.count("unchanged"),
        problems=(*report.problems, *problems, *stored.problems),
    )


def _refuse_problems(problems: Sequence[Problem], *, strict: bool) -> None:
    if strict and problems:
        raise InvalidInput(f"{problems[0].where}: {problems[0].reason.rstrip('.')}.")


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _needs_embedding(draft: Draft, known: dict[str, KnownContent]) -> bool:
    there = known.get(draft.key) if draft.key is not None else None
    return there is None or not there.embedded or there.content_hash != content_hash(draft)


def content_hash(draft: Draft) -> str:
    """The same digest that the generated column ``content_hash`` holds."""
    return hashlib.md5(f"{draft.title}\x1f{draft.body}".encode(), usedforsecurity=False).hexdigest()
