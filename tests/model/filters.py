"""Which memories a list or a search shows, in which order, and what is counted, as howto/search.md tells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from tests.model.book import Book
from tests.model.noted import Noted
from tests.model.parameters import USES
from tests.model.vitality import HOUR, Aging, Event

MAX_MEDIANS = 63.0
"""Medians that S counts at most."""

MAX_SCALE = 1.6
"""What use counts where one use is worth little, relative to a layer where one use is worth 63 medians."""

WEIGHT = 0.5
NEVER_USED = timedelta(days=100)
"""Age of the memory that stands in for a median before there is one."""


def passes(memory: Noted, wanted: Mapping[str, Any], now: datetime) -> bool:
    """Whether a memory passes the filters of a search or a list."""
    draft, begin, end = memory.draft, wanted.get("since"), wanted.get("until")
    return (
        (wanted.get("include_archived", False) or memory.archived is None)
        and (wanted.get("include_superseded", False) or memory.superseded_by is None)
        and (wanted.get("include_invalid", False) or memory.valid(now, memory.archived is not None))
        and all(wanted.get(f"{name}s") is None or draft.get(name) in wanted[f"{name}s"]
                for name in ("layer", "role", "author", "source"))
        and set(wanted.get("tags") or ()) <= set(draft["tags"])
        and (wanted.get("metadata") or {}).items() <= draft["metadata"].items()
        and {*(wanted.get("hints") or ())} <= {*draft["body"].split(), *draft["tags"]}  # tags are words too
        and (begin is None or memory.happened >= begin)
        and (end is None or memory.happened < end)
    )  # fmt: skip


def passing(book: Book, wanted: Mapping[str, Any], now: datetime) -> set[int]:
    return {each.id for each in book.memories.values() if passes(each, wanted, now)}


def containing(book: Book, word: str, ids: set[int]) -> set[int]:
    return {one for one in ids if word in book.memories[one].draft["body"].split()}


def known_then(memory: Noted, then: datetime) -> bool:
    """Whether a memory's event had happened at a past moment, and it was neither archived nor replaced."""
    replaced = memory.superseded_at is not None and memory.superseded_at <= then
    return (
        memory.happened <= then
        and not memory.was_archived(then)
        and not replaced
        and memory.valid(then, archived=False)
    )


def refresh_medians(book: Book, now: datetime) -> None:
    """What search compares S with, by layer: the median of B over live memories, ages at least an hour."""
    bases: dict[str, list[float]] = {}
    for each in map(book.memories.__getitem__, book.live):
        bases.setdefault(each.layer, []).append(math.log(book.sum(each, now, HOUR)))
    book.medians = {layer: math.exp(median(values)) for layer, values in bases.items()}


def expected_score(book: Book, memory: Noted, relevance: float, now: datetime) -> float:
    """Relevance and use in log-odds, as a probability."""
    rates = book.rates(memory.layer)
    unused = int(rates.birth) * [now - NEVER_USED]
    typical = book.medians.get(memory.layer) or Aging(rates).exact(unused, now)
    ratio = min(book.sum(memory, now, HOUR) / typical, MAX_MEDIANS)
    worth = rates.birth * Aging(rates).share(HOUR) / typical
    scale = min(math.log(1 + MAX_MEDIANS) / math.log(1 + min(worth, MAX_MEDIANS)), MAX_SCALE)
    odds = relevance / (1 - relevance) * ((1 + ratio) / 2) ** (WEIGHT * scale)
    return float(odds / (1 + odds))


def access_counts(book: Book, memory: Noted) -> dict[str, int]:
    """How often a memory, or one that was merged into it, was stored, shown and used, folded or not."""
    return _counts(book, memory, memory.log)


def total_counts(book: Book) -> dict[str, int]:
    """Of all memories; what was merged counts once."""
    counts = [_counts(book, each, (event for event in each.log if event.merged_from is None))
              for each in book.memories.values()]  # fmt: skip
    return {name: sum(each[name] for each in counts) for name in ("stored", "shown", "used")}


def _counts(book: Book, memory: Noted, log: Iterable[Event]) -> dict[str, int]:
    kinds = Counter(event.kind for event in log)
    kinds["retrieval"] += sum(one == memory.id for one, _ in book.unfolded)
    return {"stored": kinds["write"], "shown": kinds["retrieval"], "used": sum(kinds[one] for one in USES)}
