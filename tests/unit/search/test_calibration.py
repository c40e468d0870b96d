"""The fit recovers what it should, obeys its laws, and the figures say what they claim."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.nouns.calibration.models import CONSTANTS, FEATURES
from pgrecall.search.calibration import fitting
from pgrecall.search.calibration.examples import (
    MAX_WEIGHT,
    Examples,
    Floats,
    require_enough,
    weights_of,
)
from pgrecall.search.calibration.fitting import (
    Terms,
    fit,
    fit_relevance,
    held_out,
    logistic,
    relevance_row,
    relevance_terms,
    rerank_terms,
)
from pgrecall.search.calibration.reliability import agreement_of

NAMES = ("intercept", *CONSTANTS.values(), *FEATURES)
ZERO = dict.fromkeys(NAMES, 0.0)
EXACT = 2e-3

law = settings(max_examples=20)


def candidates(seed: int, queries: int = 40, each: int = 12, missing: float = 0.2) -> Floats:
    """Rows of a relevance's design; a third of them is lent something by a link."""
    generator = np.random.default_rng(seed)
    features = generator.random((queries * each, len(FEATURES)))
    lacks = generator.random((len(features), len(CONSTANTS))) < missing
    features[:, : len(CONSTANTS)][lacks] = 0.0
    features[:, -1] *= 0.5 * (generator.random(len(features)) < 1 / 3)
    return np.column_stack([np.ones(len(features)), lacks, features])


def expected(design: Floats, truth: Floats, each: int = 12, terms: Terms | None = None) -> Examples:
    """Every row once as relevant and once as not, weighed by how likely either is: labels without noise."""
    probability = logistic((terms or relevance_terms(ZERO)).log_odds(design, truth))
    query = np.arange(len(design)) // each
    relevant = np.repeat([True, False], len(design))
    weight = np.concatenate([probability, 1 - probability])
    return Examples(np.vstack([design, design]), relevant, weight, np.concatenate([query, query]))


def drawn(seed: int, truth: Floats, **shape: int) -> Examples:
    """Rows with labels drawn by the truth."""
    design = candidates(seed, **shape)
    likely = logistic(relevance_terms(ZERO).log_odds(design, truth))
    relevant = np.random.default_rng(seed + 1).random(len(design)) < likely
    query = np.arange(len(design)) // shape.get("each", 12)
    return Examples(design, relevant, np.ones(len(design)), query)


TRUTH = np.array([-4.0, 1.5, 0.5, 5.0, 2.0, 2.0, 1.0, 2.0, 0.5, 0.3, 0.4, 0.5, 0.5, 0.4, 0.5, 0.6])
truths = st.builds(
    lambda free, features: np.array([*free, *features]),
    st.tuples(st.floats(-8, -4), st.floats(0, 2), st.floats(0, 1)),
    st.tuples(*[st.floats(0, 3)] * (len(FEATURES) - 1), st.floats(0, 1.5)),
)


def without_ridge(prior: dict[str, float] = ZERO) -> Terms:
    return relevance_terms(prior, ridge=0.0)


# Fitting


@law
@given(truth=truths, seed=st.integers(0, 2**31))
def test_known_coefficients_are_recovered(truth: Floats, seed: int) -> None:
    examples = expected(candidates(seed), truth)
    assert fit(examples, without_ridge()) == pytest.approx(truth, abs=EXACT)


@law
@given(truth=truths, seed=st.integers(0, 2**31))
def test_no_coefficient_can_be_moved_to_a_better_place(truth: Floats, seed: int) -> None:
    examples, terms = drawn(seed, truth), relevance_terms({**ZERO, "name": 1.0})
    found = fit(examples, terms)
    assert (found >= terms.lower).all()
    best = penalised(examples, terms, found)
    for place in range(len(found)):
        for step in (-0.05, 0.05):
            moved = found.copy()
            moved[place] = max(moved[place] + step, terms.lower[place])
            assert penalised(examples, terms, moved) >= best - 1e-6


def penalised(examples: Examples, terms: Terms, coefficients: Floats) -> float:
    signs = np.where(examples.relevant, 1.0, -1.0)
    surprise = np.logaddexp(0, -signs * terms.log_odds(examples.design, coefficients))
    return float(examples.weight @ surprise + 0.5 * terms.ridge @ (coefficients - terms.prior) ** 2)


@law
@given(truth=truths, seed=st.integers(0, 2**31))
def test_slopes_are_those_of_the_log_odds(truth: Floats, seed: int) -> None:
    design, lending = candidates(seed, queries=4), NAMES.index("graph")
    at, slopes = fitting._log_odds(design, truth, lending)
    for place in range(len(truth)):
        moved = truth.copy()
        moved[place] += 1e-6
        by_hand = (fitting._log_odds(design, moved, lending)[0] - at) / 1e-6
        assert slopes[:, place] == pytest.approx(by_hand, rel=1e-3, abs=1e-3)


@law
@given(own=st.floats(-12, 12), share=st.floats(0, 0.5), graph=st.floats(0.1, 2))
def test_what_is_lent_makes_either_reason_enough(own: float, share: float, graph: float) -> None:
    terms = relevance_terms(ZERO)
    row = np.zeros((1, len(NAMES)))
    row[0, [0, -1]] = 1.0, share
    found = terms.log_odds(row, terms.values(ZERO | {"intercept": own, "graph": graph}))
    lent = min(graph * share, fitting.MAX_LENT)
    assert logistic(found)[0] == pytest.approx(1 - (1 - logistic(np.array(own))) * (1 - lent))
    explained = {"features": dict.fromkeys(FEATURES, 0.0), "logit": found[0], "graph": found[0] - own}
    if graph * share < 0.99:
        assert relevance_row(explained, graph)[-1] == pytest.approx(share, abs=1e-6)


@law
@given(seed=st.integers(0, 2**31), chosen=st.sets(st.integers(0, 39), min_size=1))
def test_a_query_given_twice_is_a_query_of_twice_the_weight(seed: int, chosen: set[int]) -> None:
    once = drawn(seed, TRUTH)
    again = np.isin(once.query, list(chosen))
    twice = once.of(np.concatenate([np.arange(len(once)), np.flatnonzero(again)]))
    heavier = replace(once, weight=np.where(again, 2.0, 1.0))
    terms = relevance_terms(ZERO)
    assert fit_relevance(twice, terms) == pytest.approx(fit_relevance(heavier, terms), abs=EXACT)


@law
@given(seed=st.integers(0, 2**31))
def test_the_order_of_candidates_changes_nothing(seed: int) -> None:
    examples, terms = drawn(seed, TRUTH), relevance_terms(ZERO)
    shuffled = examples.of(np.random.default_rng(seed).permutation(len(examples)))
    assert fit_relevance(shuffled, terms) == pytest.approx(fit_relevance(examples, terms), abs=EXACT)


def test_what_speaks_against_a_memory_is_held_at_zero() -> None:
    truth = TRUTH.copy()
    truth[NAMES.index("coverage")] = -3.0
    terms = relevance_terms(ZERO)
    found = fit_relevance(drawn(7, truth, queries=800), terms)
    assert terms.named(found)["coverage"] == 0
    assert terms.at_zero(found) == ("coverage",)
    assert terms.named(found)["similarity"] > 3


def test_what_never_varies_keeps_its_prior_and_what_does_leaves_it() -> None:
    examples = drawn(3, TRUTH)
    examples.design[:, NAMES.index("cue")] = 0.0
    found = relevance_terms(ZERO).named(fit_relevance(examples, relevance_terms({**ZERO, "cue": 1.25})))
    assert found["cue"] == pytest.approx(1.25, abs=1e-6)
    assert found["similarity"] > 2


def test_more_judgements_leave_the_prior_further_behind() -> None:
    distances = [
        float(np.abs(fit(drawn(5, TRUTH, queries=queries), relevance_terms(ZERO)) - TRUTH).mean())
        for queries in (30, 300, 2000)
    ]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.2


def test_a_relevance_without_similarity_is_right_on_the_whole() -> None:
    examples = expected(candidates(11, missing=0), TRUTH)
    found = fit_relevance(examples, relevance_terms(ZERO))
    bare = examples.design.copy()
    bare[:, 1:3], bare[:, 3:5] = 1.0, 0.0  # the embedder is down
    likely = logistic(relevance_terms(ZERO).log_odds(bare, found))
    predicted = np.average(likely, weights=examples.weight)
    assert predicted == pytest.approx(np.average(examples.relevant, weights=examples.weight), abs=EXACT)


def test_similarities_that_are_missing_speak_for_themselves() -> None:
    examples = expected(candidates(11, missing=0.5), TRUTH)
    assert fit_relevance(examples, without_ridge()) == pytest.approx(TRUTH, abs=EXACT)


def test_words_alone_can_be_fitted_too() -> None:
    examples = expected(candidates(13, queries=400, missing=1.0), TRUTH)
    prior = {**ZERO, "similarity": 7.0, "no_similarity": 1.5}
    found = relevance_terms(prior).named(fit_relevance(examples, relevance_terms(prior)))
    assert found["similarity"] == pytest.approx(7.0, abs=1e-6)
    assert sum(found[name] for name in NAMES[:3]) == pytest.approx(-2.0, abs=0.5)
    assert math.isfinite(found["intercept"])


@law
@given(
    truth=st.tuples(st.floats(-3, 3), st.floats(0, 2), st.floats(0, 2)).map(np.array),
    seed=st.integers(0, 2**31),
)
def test_a_rerankers_coefficients_are_recovered(truth: Floats, seed: int) -> None:
    logits = np.random.default_rng(seed).normal(-2, 3, size=(500, 2))
    terms = rerank_terms({"intercept": 0.0, "rerank": 0.5, "fused": 0.5}, ridge=0.0)
    examples = expected(np.column_stack([np.ones(500), logits]), truth, terms=terms)
    assert fit(examples, terms) == pytest.approx(truth, abs=EXACT)


def test_what_is_given_is_not_fitted() -> None:
    terms = relevance_terms(ZERO).fixed({"author": 1.0, "name": 0.0})
    found = terms.named(fit_relevance(drawn(31, TRUTH), terms))
    assert (found["author"], found["name"]) == (1.0, 0.0)
    assert "name" not in terms.at_zero(terms.values(found))
    assert found["similarity"] > 2


def test_a_similarity_that_is_missing_is_none_of_zero() -> None:
    features = dict.fromkeys(FEATURES, 0.5)
    explained = {"features": features, "logit": 0.0, "graph": 0.0}
    assert relevance_row(explained, 1.0)[:5] == [1.0, 0.0, 0.0, 0.5, 0.5]
    features["similarity"] = None
    assert relevance_row(explained, 1.0)[:5] == [1.0, 1.0, 0.0, 0.0, 0.5]
    features["token_similarity"] = None
    assert relevance_row(explained, 1.0)[:5] == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_the_setting_of_the_author_counts() -> None:
    explained = {"features": dict.fromkeys(FEATURES, 1.0), "logit": 0.0, "graph": 0.0}
    row = relevance_row(explained, 1.0, author=2.5)
    factors = {"author": 2.5, "question": -1.0, "no_number": -1.0}
    assert row == [1.0, 0.0, 0.0, *[factors.get(name, 1.0) for name in FEATURES[:-1]], 0.0]


def test_rare_showings_count_for_more_up_to_a_cap() -> None:
    assert weights_of([1.0, 0.5, 0.25, 0.001]) == pytest.approx([1, 2, 4, MAX_WEIGHT])


def test_inverse_propensities_undo_what_was_shown_more_often() -> None:
    everything = expected(candidates(17), TRUTH)
    # Shown ten times as often where the words match: half of what is known comes from there.
    shown = np.where(everything.design[:, NAMES.index("coverage")] > 0.9, 1.0, 0.1)
    logged = replace(everything, weight=everything.weight * shown)
    weighed = replace(logged, weight=logged.weight * weights_of(list(shown)))
    assert fit(weighed, without_ridge()) == pytest.approx(fit(everything, without_ridge()), abs=EXACT)


# Cross-validation


def test_no_question_is_predicted_by_a_fit_that_saw_it() -> None:
    examples, seen = drawn(19, TRUTH), []

    def fitter(some: Examples, terms: Terms) -> Floats:
        seen.append(set(some.query))
        return np.array([len(seen) - 1.0])  # each row's log-odds then say which fit predicted it

    anywhere = np.full(1, math.inf)
    intercept = Terms(("intercept",), np.zeros(1), np.zeros(1), -anywhere, anywhere)
    which = held_out(replace(examples, design=examples.design[:, :1]), intercept, fitter)
    assert len(seen) == 5
    assert set(which) == {0, 1, 2, 3, 4}
    for query, fold in zip(examples.query, which, strict=True):
        assert query not in seen[int(fold)]


def test_held_out_loss_is_worse_than_that_of_the_fit_itself() -> None:
    examples, terms = drawn(24, TRUTH), relevance_terms(ZERO)
    itself = agreement_of(examples, terms.log_odds(examples.design, fit_relevance(examples, terms)))
    unseen = agreement_of(examples, held_out(examples, terms, fit_relevance))
    truth = agreement_of(examples, terms.log_odds(examples.design, TRUTH))
    assert itself.log_loss < truth.log_loss < unseen.log_loss


# Too little


def rows(relevant: list[bool], query: list[int]) -> Examples:
    count = len(relevant)
    return Examples(
        np.ones((count, 1)),
        np.array(relevant),
        np.ones(count),
        np.array(query),
    )


def test_enough_is_enough() -> None:
    require_enough(rows([True, False] * 30, query=[number // 2 for number in range(60)]), 0)


@pytest.mark.parametrize(
    ("relevant", "query", "missed", "sentence"),
    [
        (
            [True, False] * 29,
            [number // 2 for number in range(58)],
            0,
            "Too little to calibrate with: 29 judged queries have candidates, 29 of them relevant. "
            "Give at least 30 queries with 30 relevant candidates.",
        ),
        (
            [True] * 12 + [False] * 40,
            list(range(52)),
            3,
            "Too little to calibrate with: 52 judged queries have candidates, 12 of them relevant "
            "(3 more are judged relevant, and search did not find them). "
            "Give at least 30 queries with 30 relevant candidates.",
        ),
        (
            [True] * 40,
            list(range(40)),
            0,
            "Nothing to tell apart: 40 judged queries have candidates, 40 of them relevant, "
            "and no candidate is judged as not answering. Judge some that do not answer too.",
        ),
    ],
)
def test_too_little_is_refused_with_how_much_there_is(
    relevant: list[bool], query: list[int], missed: int, sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        require_enough(rows(relevant, query=query), missed)
    assert str(refused.value) == sentence
