"""What a search in the database returns to the client, which may weigh it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pgrecall.nouns.search.models import Hit, VitalityMode


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit for a reranker: the log-odds of its fused relevance, what use adds to them per unit of weight, or
    whether the query names the memory, so that use does not count, and the log-odds by which it counts for
    the confidence (None: a question or an acknowledgement, which is no evidence of an answer)."""

    hit: Hit
    logit: float
    use_term: float
    exempt: bool
    evidence_logit: float | None


@dataclass(frozen=True, slots=True)
class Raised:
    """A memory that ranks before another one for its time, such as a newer version, if its score is at most
    ``gap`` log-odds lower."""

    id: int
    before: int
    gap: float


@dataclass(frozen=True, slots=True)
class Weighing:
    """How relevance and vitality combine to a score, and a reranker's logit and the fused one to a relevance:
    logit(p) = intercept + rerank * r + fused * logit(p_fused)."""

    mode: VitalityMode
    weight: float
    raised: tuple[Raised, ...] = ()
    intercept: float = 0.0
    rerank: float = 0.0
    fused: float = 1.0


@dataclass(frozen=True, slots=True)
class ConfidenceTerms:
    """The coefficients of a search's confidence (log-odds), the number of memories it searched, and whether
    the query needs its conversation, so that nothing answers it."""

    intercept: float
    relevance: float
    size: float
    memories: int
    needs_context: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search in the database: hits, best first, counts of the arms, and skipped steps.

    ``search_id`` is the id of the logged search; ``candidates`` and ``weighing`` are for a reranker;
    ``experiment`` has the number, arm and weight of a running experiment. ``named`` has the queries without
    the names in them, and these names, if they prevented the search.
    """

    hits: tuple[Hit, ...]
    arms: Mapping[str, int]
    skipped: tuple[str, ...]
    search_id: int | None = None
    candidates: tuple[Candidate, ...] = ()
    weighing: Weighing | None = None
    confidence: float | None = None
    min_confidence: float = 0.0
    confidence_terms: ConfidenceTerms | None = None
    profile: str | None = None
    experiment: Mapping[str, Any] | None = None
    named: tuple[tuple[str, tuple[str, ...]], ...] = ()
    needs_context: bool = False

    @property
    def confident(self) -> bool:
        """Whether there is probably an answer; True for a search without words, which has no confidence."""
        return self.confidence is None or self.confidence >= self.min_confidence
