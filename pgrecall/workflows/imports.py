"""What an importer reads, stored batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pgrecall import operations
from pgrecall.errors import InvalidInput
from pgrecall.models.maintenance import ImportReport, Problem
from pgrecall.models.memories import Draft
from pgrecall.operations.job_steps import house_vectors
from pgrecall.workflows.base import Aside, Flow
from pgrecall.workflows.graph import refresh_graph
from pgrecall.workflows.memories import Stored, store, what_is_known

IMPORT_BATCH = 64
"""Drafts an import embeds and commits at a time."""

PLAIN_BATCH, PLAIN_CHARACTERS = 500, 2_000_000
"""Drafts that need no embedding: so many at a time, fewer where they are long."""


def import_drafts(
    items: Iterable[Draft | Problem],
    embedder: str | None,
    *,
    source: str,
    strict: bool,
    progress: Callable[[int], None],
) -> Flow[ImportReport]:
    """Stores what an importer reads, batch by batch; then sees to statistics, vectors and the graph."""
    report = ImportReport()
    seen: set[str] = set()
    portions = _Portions(items, PLAIN_BATCH if embedder is None else IMPORT_BATCH)
    while batch := (yield Aside(portions.next)):  # an importer reads files
        problems = [item for item in batch if isinstance(item, Problem)]
        drafts = [item for item in batch if isinstance(item, Draft)]
        _refuse_problems(problems, strict=strict)
        stored = (yield from import_batch(drafts, embedder)) if drafts else Stored((), ())
        _refuse_problems(stored.problems, strict=strict)
        seen.update(draft.key for draft in drafts if draft.key is not None)
        report = _extended(report, stored, problems)
        progress(len(batch))
    yield operations.refresh_statistics(None)
    yield house_vectors()
    yield from refresh_graph()
    there = yield operations.keys_of_source(source)
    pending = yield operations.pending_count()
    removed = tuple(key for key in there if key not in seen)
    return replace(report, removed=removed, links_pending=pending)


def import_batch(drafts: Sequence[Draft], embedder: str | None) -> Flow[Stored]:
    """Stores a batch that came from a source; a key that another source owns is left alone, and so is what
    was forgotten or pruned, as long as the source has nothing new to say of it."""
    known = yield from what_is_known(drafts)
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
    stored = yield from store(ours, known, embedder, strict=False, revive=False)
    return Stored(stored.remembered, (*foreign, *stored.problems))


class _Portions:
    """What an importer reads, so many at a time; fewer where they are long, and where a key comes again:
    what a source says later takes the place of what it said before.
    """

    def __init__(self, items: Iterable[Draft | Problem], most: int) -> None:
        self._unread = iter(items)
        self._most = most
        self._held: Draft | None = None

    def next(self) -> list[Draft | Problem]:
        portion: list[Draft | Problem] = []
        keys: set[str] = set()
        characters = 0
        while len(portion) < self._most and characters < PLAIN_CHARACTERS:
            item = self._held or next(self._unread, None)
            self._held = None
            if item is None:
                break
            if isinstance(item, Draft):
                if item.key in keys:
                    self._held = item
                    break
                if item.key is not None:
                    keys.add(item.key)
                characters += len(item.body)
            portion.append(item)
        return portion


def _extended(report: ImportReport, stored: Stored, problems: Sequence[Problem]) -> ImportReport:
    outcomes = [row.outcome for row in stored.remembered]
    return replace(
        report,
        created=report.created + outcomes.count("created"),
        updated=report.updated + outcomes.count("updated") + outcomes.count("revived"),
        unchanged=report.unchanged + outcomes.count("unchanged"),
        problems=(*report.problems, *problems, *stored.problems),
    )


def _refuse_problems(problems: Sequence[Problem], *, strict: bool) -> None:
    if strict and problems:
        raise InvalidInput(f"{problems[0].where}: {problems[0].reason.rstrip('.')}.")
