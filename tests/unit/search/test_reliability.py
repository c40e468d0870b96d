"""The figures of a fit say what they claim: log loss, Brier, calibration error, ranks, bins, intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.search.calibration.examples import Examples, Floats
from pgrecall.search.calibration.reliability import agreement_of, gain, reliability
from pgrecall.search.probabilities import wilson_interval


def rows(relevant: list[bool], query: list[int] | None = None, weight: list[float] | None = None) -> Examples:
    count = len(relevant)
    return Examples(
        np.ones((count, 1)),
        np.array(relevant),
        np.array(weight or [1.0] * count),
        np.array(query or [0] * count),
    )


def logits(*probabilities: float) -> Floats:
    return np.log(np.array(probabilities) / (1 - np.array(probabilities)))


def test_figures_of_known_probabilities() -> None:
    found = agreement_of(rows([True, False, False]), logits(0.8, 0.1, 0.5))
    assert found.log_loss == pytest.approx(-(math.log(0.8) + math.log(0.9) + math.log(0.5)) / 3)
    assert found.brier == pytest.approx((0.04 + 0.01 + 0.25) / 3)
    assert found.ece == pytest.approx((0.2 + 0.1 + 0.5) / 3)
    assert found.mrr == 1


def test_figures_weigh_candidates() -> None:
    twice = agreement_of(rows([True, True, False]), logits(0.6, 0.6, 0.3))
    assert agreement_of(rows([True, False], weight=[2, 1]), logits(0.6, 0.3)) == twice


@pytest.mark.parametrize(
    ("relevant", "predicted", "rank"),
    [
        ([True, False, False], (0.9, 0.5, 0.4), 1),
        ([False, True, True], (0.9, 0.5, 0.4), 2),
        ([False, True, False], (0.5, 0.5, 0.5), 3),  # ties never flatter
    ],
)
def test_the_rank_of_the_first_relevant_counts(
    relevant: list[bool], predicted: tuple[float, ...], rank: int
) -> None:
    assert agreement_of(rows(relevant), logits(*predicted)).mrr == pytest.approx(1 / rank)


def test_queries_without_an_answer_have_no_rank() -> None:
    both = rows([True, False, False], query=[0, 0, 1])
    assert agreement_of(both, logits(0.2, 0.3, 0.9)).mrr == 0.5


@given(
    st.lists(st.tuples(st.floats(0.001, 0.999), st.booleans(), st.floats(0.1, 20)), min_size=1, max_size=60)
)
def test_bins_hold_every_candidate_and_lie_in_their_tenth(judged: list[tuple[float, bool, float]]) -> None:
    predicted, relevant, weight = map(list, zip(*judged, strict=True))
    bins = reliability(rows(relevant, weight=weight), logits(*predicted))
    assert sum(entry.count for entry in bins) == len(judged)
    tenths = [min(int(entry.predicted * 10 + 1e-9), 9) for entry in bins]
    assert tenths == sorted(tenths)
    for entry in bins:
        assert 0 <= entry.low <= entry.observed <= entry.high <= 1


@given(count=st.integers(1, 500), share=st.floats(0, 1))
def test_intervals_are_wilsons(count: int, share: float) -> None:
    from scipy.stats import binomtest  # takes seconds, which each worker of a run would spend

    hits = round(share * count)
    oracle = binomtest(hits, count).proportion_ci(method="wilson")
    assert wilson_interval(hits / count, count) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


def test_the_gain_is_that_of_the_log_loss_and_its_interval_holds_it() -> None:
    generator = np.random.default_rng(29)
    truth = generator.normal(-2, 2, size=480)
    relevant = (generator.random(480) < 1 / (1 + np.exp(-truth))).tolist()
    examples = rows(relevant, query=[number // 12 for number in range(480)])
    found, low, high = gain(examples, truth * 0.3, truth)
    losses = [agreement_of(examples, some).log_loss for some in (truth * 0.3, truth)]
    assert found == pytest.approx(losses[0] - losses[1])
    assert low < found < high
    assert gain(examples, truth, truth) == (0, 0, 0)
    assert gain(examples, truth, truth * 0.3)[0] == pytest.approx(-found)
