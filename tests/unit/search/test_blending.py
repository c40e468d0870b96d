"""A reranker's logits and the fused relevance made one, without a database."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.nouns.search.found import Candidate, ConfidenceTerms, Raised, Weighing
from pgrecall.nouns.search.models import Hit, VitalityMode
from pgrecall.search.probabilities import logistic, logit_of
from pgrecall.search.rerank.blending import (
    best,
    confidence,
    log_odds,
    most_relevant,
    rescore,
    text_to_read,
)
from pgrecall.search.rerank.scores import RerankOutcome, RerankScore

NOW = datetime(2026, 6, 1, tzinfo=UTC)
NOTHING_READ = RerankOutcome()

logits = st.floats(-20, 20)


def candidate(
    number: int,
    logit: float = 0.0,
    use_term: float = 0.0,
    *,
    superseded_by: int | None = None,
    exempt: bool = False,
) -> Candidate:
    hit = Hit(
        id=number,
        key=f"k{number}",
        layer="knowledge",
        title="",
        body=f"body {number}",
        role=None,
        author=None,
        tags=(),
        happened_at=NOW,
        score=logistic(logit),
        relevance=logistic(logit),
        vitality=0.5,
        zone="stale",
        rank=1,
        superseded_by=superseded_by,
        explanation={"score": {"mode": "odds"}},
    )
    return Candidate(hit, logit, use_term, exempt, logit)


def read(*scores: tuple[int, float]) -> RerankOutcome:
    ordered = sorted(scores, key=lambda pair: -pair[1])
    places = {number: place for place, (number, _) in enumerate(scores, 1)}
    return RerankOutcome(
        tuple(
            RerankScore(number, score, places[number], new) for new, (number, score) in enumerate(ordered, 1)
        )
    )


def blended(
    candidates: list[Candidate],
    outcome: RerankOutcome,
    weighing: Weighing,
    *,
    k: int,
    min_relevance: float,
    reranker: str,
) -> tuple[Hit, ...]:
    return best(rescore(candidates, outcome, weighing, reranker), k=k, min_relevance=min_relevance)


def blend(candidates: list[Candidate], outcome: RerankOutcome, **options: object) -> list[int]:
    weighing = Weighing("odds", 0.5, rerank=1.0, fused=0.0)
    values = {"k": 10, "min_relevance": 0.0, "reranker": "test", **options}
    return [hit.id for hit in blended(candidates, outcome, weighing, **values)]  # type: ignore[arg-type]


def test_the_reranker_decides_and_every_hit_has_its_earlier_rank() -> None:
    hits = blended(
        [candidate(1, 2.0), candidate(2, 1.0)],
        read((1, -1.0), (2, 3.0)),
        Weighing("odds", 0.5, intercept=0.1, rerank=0.5, fused=0.25),
        k=10,
        min_relevance=0,
        reranker="test",
    )

    assert [hit.id for hit in hits] == [2, 1]
    assert [hit.rank for hit in hits] == [1, 2]
    assert hits[0].relevance == pytest.approx(logistic(0.1 + 0.5 * 3.0 + 0.25 * 1.0))
    assert hits[0].reranked is not None
    assert (hits[0].reranked.original_rank, hits[0].reranked.score) == (2, 3.0)
    assert hits[0].explanation["rerank"]["new_rank"] == 1


def test_what_was_not_read_keeps_its_fused_relevance() -> None:
    hits = blended(
        [candidate(1, 2.0), candidate(2, 1.0)], read((2, -5.0)), Weighing("off", 0.5, rerank=1.0, fused=0.0),
        k=10, min_relevance=0, reranker="test",
    )  # fmt: skip

    assert [(hit.id, hit.reranked is None) for hit in hits] == [(1, True), (2, False)]
    assert hits[0].relevance == pytest.approx(logistic(2.0))


@given(st.lists(logits, min_size=1, max_size=8), st.floats(0, 1))
def test_nothing_read_changes_nothing(values: list[float], least: float) -> None:
    candidates = [candidate(number, value) for number, value in enumerate(values)]

    hits = blended(candidates, NOTHING_READ, Weighing("off", 0.5), k=100, min_relevance=least, reranker="")

    good = [one for one in candidates if one.hit.relevance >= least]
    expected = sorted(good, key=lambda one: (-one.hit.score, one.hit.id))
    assert [hit.id for hit in hits] == [c.hit.id for c in expected]


@given(st.lists(logits, min_size=1, max_size=12, unique=True), st.integers(1, 12))
def test_the_first_k_do_not_depend_on_k(values: list[float], k: int) -> None:
    candidates = [candidate(number, 0.0, value / 10) for number, value in enumerate(values)]
    outcome = read(*enumerate(values))

    assert blend(candidates, outcome, k=k) == blend(candidates, outcome, k=k + 10)[:k]


def test_a_superseded_memory_stays_behind_its_successors() -> None:
    candidates = [candidate(1, superseded_by=2), candidate(2, superseded_by=3), candidate(3)]

    assert blend(candidates, read((1, 9.0), (2, 8.0), (3, 1.0))) == [3, 2, 1]


def test_supersession_in_a_circle_comes_to_an_end() -> None:
    assert set(blend([candidate(1, superseded_by=2), candidate(2, superseded_by=1)], NOTHING_READ)) == {1, 2}


@pytest.mark.parametrize(("gap", "expected"), [(0.0, [1, 3, 2]), (1.5, [1, 3, 2]), (2.5, [2, 1, 3])])
def test_a_raised_memory_stands_before_the_other_within_the_gap(gap: float, expected: list[int]) -> None:
    hits = [candidate(1, 2.0).hit, candidate(2, 0.0).hit, candidate(3, 1.0).hit]

    assert [hit.id for hit in best(hits, k=3, min_relevance=0, raised=[Raised(2, 1, gap)])] == expected


def test_a_memory_is_raised_only_before_one_that_is_there() -> None:
    hits = [candidate(1, 2.0).hit, candidate(2, 0.0).hit]

    ordered = best(hits, k=2, min_relevance=0, raised=[Raised(2, 3, 9), Raised(4, 1, 9)])

    assert [hit.id for hit in ordered] == [1, 2]


def test_only_evidence_counts_for_the_confidence() -> None:
    question, lifted, plain = candidate(1, 6.0), candidate(2, 4.0), candidate(3, 1.0)
    hits = [one.hit for one in (question, lifted, plain)]
    terms = ConfidenceTerms(0.5, 2.0, 0.0, 100)

    def told(*logits: float | None) -> float:
        pairs = zip((question, lifted, plain), logits, strict=True)
        return confidence([replace(one, evidence_logit=logit) for one, logit in pairs], hits, terms)

    assert told(None, 2.0, 1.0) == pytest.approx(logistic(0.5 + 2.0 * 2.0))
    assert told(None, None, None) == 0
    assert confidence([question, lifted, plain], hits, replace(terms, needs_context=True)) == 0


def test_min_relevance_judges_the_blend() -> None:
    assert blend([candidate(1, 5.0), candidate(2, -5.0)], read((1, -3.0), (2, 3.0)), min_relevance=0.5) == [2]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("off", 1.0),
        ("odds", 1.0 + 0.5 * 2.0),
        ("unbounded", 1.0 + 0.5 * 2.0),
        ("multiply", logit_of(logistic(1.0) * 0.5)),
        ("bounded", logit_of(logistic(1.0) * (0.5 + 0.5 * 0.5))),
    ],
)
def test_vitality_weighs_the_blend_as_it_weighs_the_fused(mode: VitalityMode, expected: float) -> None:
    assert log_odds(1.0, candidate(1, 1.0, 2.0), Weighing(mode, 0.5)) == pytest.approx(expected)
    assert log_odds(1.0, candidate(1, 1.0, 2.0, exempt=True), Weighing(mode, 0.5)) == 1.0


@given(st.floats(1e-9, 1 - 1e-9))
def test_logit_and_logistic_undo_each_other(probability: float) -> None:
    assert logistic(logit_of(probability)) == pytest.approx(probability, rel=1e-6)


@pytest.mark.parametrize("extreme", [-1e308, 1e308, -math.inf, math.inf])
def test_extremes_stay_probabilities(extreme: float) -> None:
    assert 0 <= logistic(extreme) <= 1


def test_the_most_relevant_are_read_ties_by_id() -> None:
    chosen = most_relevant([candidate(3, 1.0), candidate(1, 1.0), candidate(2, 2.0)], 2)

    assert [one.hit.id for one in chosen] == [2, 1]


def test_a_reranker_reads_author_and_title() -> None:
    hit = candidate(1).hit
    fields = {name: getattr(hit, name) for name in Hit.__slots__}
    named = Hit(**{**fields, "author": "Mira", "title": "Plan"})

    assert text_to_read(hit) == "body 1"
    assert text_to_read(named) == "Mira: Plan\nbody 1"
