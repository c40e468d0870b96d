"""Feedback on the memories that searches showed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Evidence = Literal["used", "rejected", "skipped"]


@dataclass(frozen=True, slots=True)
class MemoryFeedback:
    """How often searches showed a memory, and in how many of them it was used or rejected."""

    id: int
    key: str | None
    layer: str
    title: str
    shown: int
    used: int
    rejected: int
    last_shown_at: datetime


@dataclass(frozen=True, slots=True)
class RankFeedback:
    """How often hits at a rank (1 is the best) were shown, used and rejected.

    ``judged`` counts what was shown by searches with any verdict; ``use_rate`` is used / judged, None where
    that is 0. ``propensity``, in [0.1, 1], is the probability that a reader looks at the rank, relative to
    the first: the use rates of the ranks, shrunk towards ``1 / rank ** bias`` as if 50 more had been shown at
    each (the position-based model with the prior of Joachims, Swaminathan and Schnabel, 2017).
    """

    rank: int
    shown: int
    judged: int
    used: int
    rejected: int
    use_rate: float | None
    propensity: float


@dataclass(frozen=True, slots=True)
class Feedback:
    """Memories, the most shown first, and ranks, of the searches that are kept (``search.log_days``)."""

    memories: tuple[MemoryFeedback, ...]
    ranks: tuple[RankFeedback, ...]


@dataclass(frozen=True, slots=True)
class JudgedHit:
    """A memory that a search showed, and whether it answered.

    ``verdict`` is ``used`` or ``rejected`` as recorded, or ``skipped``, which is inferred for a memory that
    ranked above a used one. ``propensity`` is that of its rank.
    """

    id: int
    key: str | None
    rank: int
    verdict: Evidence
    relevant: bool
    propensity: float


@dataclass(frozen=True, slots=True)
class JudgedSearch:
    """A search with at least one verdict; ``judgements`` are ordered by rank."""

    search_id: int
    query: str
    queries: tuple[str, ...] | None
    at: datetime
    judgements: tuple[JudgedHit, ...]
