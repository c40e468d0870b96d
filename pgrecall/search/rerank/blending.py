"""Blending of the reranker's score with the fused relevance, and the new score with vitality.

The formulas of the score are those of ``recall.find``; a test compares both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from pgrecall.nouns.search.found import Candidate, ConfidenceTerms, Raised, Weighing
from pgrecall.nouns.search.models import Hit, Reranked
from pgrecall.search.probabilities import logistic, logit_of
from pgrecall.search.rerank.scores import RerankOutcome, RerankScore

MEASURED_MEMORIES = 1000
"""Largest number of memories that changes the confidence of a search."""

NOTHING_ADDED: Mapping[int, float] = MappingProxyType({})


def most_relevant(candidates: Sequence[Candidate], count: int) -> tuple[Candidate, ...]:
    """Returns the candidates with the highest fused relevance, ties by id, for a reranker."""
    ordered = sorted(candidates, key=lambda candidate: (-candidate.logit, candidate.hit.id))
    return tuple(ordered[:count])


def text_to_read(hit: Hit) -> str:
    """Returns the text of a memory for a reranker: author, title, and body or passage."""
    body = hit.passage.text if hit.passage else hit.body
    text = f"{hit.title}\n{body}" if hit.title else body
    return f"{hit.author}: {text}" if hit.author else text


def rescore(
    candidates: Sequence[Candidate],
    outcome: RerankOutcome,
    weighing: Weighing,
    reranker: str,
    added: Mapping[int, float] = NOTHING_ADDED,
) -> tuple[Hit, ...]:
    """Returns the candidates with their blended relevance and the resulting score.

    Candidates that were not read keep their fused relevance. ``added`` is added to the log-odds, by id.
    """
    read = {score.id: score for score in outcome.scores}
    return tuple(
        _rescored(one, read.get(one.hit.id), weighing, reranker, added.get(one.hit.id, 0.0))
        for one in candidates
    )


def best(
    hits: Sequence[Hit], *, k: int, min_relevance: float, raised: Sequence[Raised] = ()
) -> tuple[Hit, ...]:
    """Returns the best ``k`` hits by score, ranked. A superseded memory ranks behind the hit that supersedes
    it, and a raised one before the other if it is near enough."""
    good = [hit for hit in hits if hit.relevance >= min_relevance]
    ordered = sorted(good, key=_Order(good, raised))[:k]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, 1))


def _rescored(
    candidate: Candidate, score: RerankScore | None, weighing: Weighing, reranker: str, added: float
) -> Hit:
    logit = candidate.logit
    if score is not None:
        logit = weighing.intercept + weighing.rerank * score.score + weighing.fused * candidate.logit
    logit += added
    odds = log_odds(logit, candidate, weighing)
    hit = replace(candidate.hit, relevance=logistic(logit), score=logistic(odds))
    if score is None:
        return hit
    explanation = hit.explanation
    if explanation:
        explanation = {
            **explanation,
            "rerank": {
                "reranker": reranker,
                "score": score.score,
                "original_rank": score.original_rank,
                "new_rank": score.new_rank,
                "logit": logit,
                "probability": hit.relevance,
            },
            "score": {**explanation.get("score", {}), "log_odds": odds, "vitality": odds - logit},
        }
    return replace(hit, explanation=explanation, reranked=Reranked(score.original_rank, score.score))


def log_odds(logit: float, candidate: Candidate, weighing: Weighing) -> float:
    """Returns the log-odds of the score: relevance combined with vitality, by the mode."""
    if weighing.mode == "off" or candidate.exempt:
        return logit
    if weighing.mode in ("odds", "unbounded"):
        return logit + weighing.weight * candidate.use_term
    vitality = candidate.hit.vitality
    if weighing.mode == "bounded":
        vitality = 1 - weighing.weight + weighing.weight * vitality
    return logit_of(logistic(logit) * vitality)


def confidence(candidates: Sequence[Candidate], hits: Sequence[Hit], terms: ConfidenceTerms) -> float:
    """Returns the probability that any of these hits answers, by the formula of
    ``recall_private.search_confidence``.

    ``hits`` are the candidates after reranking, in the same order.
    """
    evidence = [
        logit_of(hit.relevance) + candidate.evidence_logit - candidate.logit
        for candidate, hit in zip(candidates, hits, strict=True)
        if candidate.evidence_logit is not None
    ]
    if not evidence or terms.needs_context:
        return 0.0
    size = math.log1p(min(terms.memories, MEASURED_MEMORIES))
    return logistic(terms.intercept + terms.relevance * max(evidence) + terms.size * size)


class _Order:
    """Sorts by score, each superseded memory behind its successors among the hits and each raised one before
    the other, ties by id."""

    def __init__(self, hits: Sequence[Hit], raised: Sequence[Raised]) -> None:
        self._hits = {hit.id: hit for hit in hits}
        self._raised = dict[int, float]()  # by id, the score of the best memory that it goes before
        for one in raised:
            hit, other = self._hits.get(one.id), self._hits.get(one.before)
            if hit and other and logit_of(hit.score) >= logit_of(other.score) - one.gap:
                self._raised[hit.id] = max(other.score, self._raised.get(hit.id, 0.0))

    def __call__(self, hit: Hit) -> tuple[float, int, bool, int]:
        score, steps, later = max(hit.score, self._raised.get(hit.id, 0.0)), 0, self._successor(hit)
        while later is not None and steps < len(self._hits):  # ends for cycles too
            score, steps, later = min(score, later.score), steps + 1, self._successor(later)
        return -score, steps, hit.id not in self._raised, hit.id

    def _successor(self, hit: Hit) -> Hit | None:
        return None if hit.superseded_by is None else self._hits.get(hit.superseded_by)
