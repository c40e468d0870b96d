"""What use adds to a score: by how much one use, and all uses, can change the odds of a memory."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.vitality.use import fresh_activation, use_term

WEIGHT = 0.5
HAIR = 1 + 1e-9
sums = st.floats(0, 1e4)
medians = st.floats(1e-3, 1e3)
clocks = st.sampled_from([0.1, 1.0, 2.0, 3.0]) | st.floats(0.001, 1000)
decays = st.floats(0.05, 2)
layers = st.builds(fresh_activation, clocks, decays, st.floats(1, 100))
"""S of a fresh memory, in layers of all kinds."""


def odds(activation: float, median: float, newest: float) -> float:
    """What use multiplies the odds by, with the weight that ships."""
    return math.exp(WEIGHT * use_term(activation, median, newest))


@given(sums, medians, clocks, decays, st.floats(1, 100))
def test_one_use_multiplies_the_odds_of_a_memory_by_8_at_most(
    before: float, median: float, clock: float, decay: float, births: float
) -> None:
    newest = fresh_activation(clock, decay, births)
    gained = odds(before + fresh_activation(clock, decay), median, newest) / odds(before, median, newest)

    assert 1 / HAIR <= gained <= 8 * HAIR


@given(sums, sums, medians, layers)
def test_all_uses_multiply_the_odds_of_one_memory_over_another_by_28_at_most(
    one: float, other: float, median: float, newest: float
) -> None:
    assert odds(one, median, newest) / odds(other, median, newest) <= 64**0.8 * HAIR < 28


@given(sums, sums, medians)
def test_where_one_use_is_many_medians_all_uses_do_so_by_8_at_most(
    one: float, other: float, median: float
) -> None:
    newest = 63 * median

    assert odds(one, median, newest) / odds(other, median, newest) <= 8 * HAIR


@given(sums, sums, medians, layers)
def test_more_use_never_counts_less(one: float, other: float, median: float, newest: float) -> None:
    less, more = sorted((one, other))

    assert odds(less, median, newest) <= odds(more, median, newest)


@given(medians, layers)
def test_the_median_memory_keeps_its_odds(median: float, newest: float) -> None:
    assert odds(median, median, newest) == pytest.approx(1)


@pytest.mark.parametrize(
    ("worth", "scale"), [(0.01, 1.6), (12, 1.6), (13, 1.5759), (31, 1.2), (63, 1.0), (1e6, 1.0)]
)
def test_a_median_weighs_more_the_fewer_of_them_one_use_is_worth(worth: float, scale: float) -> None:
    assert use_term(3.0, 1.0, worth) == pytest.approx(scale * math.log(2), rel=1e-4)
