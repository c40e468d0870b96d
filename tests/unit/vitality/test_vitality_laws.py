"""Laws of vitality: what must hold for every history, not only for the numbers in the vector file."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.vitality.activation import (
    MIN_AGE_DAYS,
    RECENT,
    AccessSummary,
    power_sum,
    power_sum_hybrid,
    tail_mean,
)
from pgrecall.vitality.parameters import LayerRates, VitalityWeights
from pgrecall.vitality.score import activation_terms, link_stretch, revival, spread_now, vitality_of
from tests.model.spreading import add_spread

DAY = 86_400.0
NOW = 1_780_000_000.0
YEAR_1, YEAR_9999 = -62_135_596_800.0, 253_402_300_799.0

moments = st.floats(NOW - 20 * 365 * DAY, NOW + 60)
histories = st.lists(moments, min_size=1, max_size=30)
decays = st.floats(0.001, 10)
usual_decays = st.floats(0.05, 3)
rates = st.builds(LayerRates, st.floats(0.001, 1000), st.just("clock"), decays) | st.builds(
    LayerRates, st.floats(0.1, 10), st.just("exponent"), st.floats(0.001, 1)
)
surroundings = st.fixed_dictionaries(
    {
        "in_degree": st.integers(0, 2**31 - 1),
        "spread": st.floats(0, 1),
        "spread_at": st.none() | moments,
        "last_linked_at": st.none() | moments,
    }
)
weights = st.builds(
    VitalityWeights,
    st.floats(0, 10),
    st.floats(0.01, 3650),
    st.floats(0, 100),
    st.floats(0, 100, exclude_min=True),
    st.floats(0, 3650),
    st.floats(0, 1),
    st.floats(0, 1000),
    st.floats(0, 1, exclude_max=True),
)
HAIR = 1 + 1e-12
"""Room for the last bits of a float."""


@given(histories, st.randoms(use_true_random=False))
def test_the_summary_does_not_depend_on_the_order_of_accesses(times: list[float], random: Random) -> None:
    shuffled = list(times)
    random.shuffle(shuffled)
    one_by_one = AccessSummary.of(shuffled[:1])
    for time in shuffled[1:]:
        one_by_one = one_by_one.add(time)
    assert one_by_one == AccessSummary.of(times)


@given(histories, st.integers(1, 10))
def test_the_summary_keeps_count_first_and_the_newest(times: list[float], keep: int) -> None:
    summary = AccessSummary.of(times, keep=keep)
    assert (summary.count, summary.first) == (len(times), min(times))
    assert list(summary.recent) == sorted(times, reverse=True)[:keep]


@given(histories, rates, surroundings, weights, st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_vitality_never_rises_with_time_alone(
    times: list[float],
    layer: LayerRates,
    around: dict[str, Any],
    tuned: VitalityWeights,
    wait: float,
    more: float,
) -> None:
    summary = AccessSummary.of(times)
    before = activation_terms(summary, layer, NOW + wait, weights=tuned, **around)
    after = activation_terms(summary, layer, NOW + wait + more, weights=tuned, **around)
    assert after.activation <= before.activation * HAIR


@given(histories, rates, surroundings, weights, st.floats(0, 1e9))
def test_vitality_never_falls_by_an_access_made_now(
    times: list[float], layer: LayerRates, around: dict[str, Any], tuned: VitalityWeights, wait: float
) -> None:
    now = NOW + wait
    summary = AccessSummary.of(times)
    before = activation_terms(summary, layer, now, weights=tuned, **around)
    after = activation_terms(summary.add(now), layer, now, weights=tuned, **around)
    assert after.activation * HAIR >= before.activation


@given(histories, rates, surroundings, weights, st.floats(0, 1))
def test_vitality_never_falls_by_a_link_gained_or_a_neighbour_used_now(
    times: list[float], layer: LayerRates, around: dict[str, Any], tuned: VitalityWeights, amount: float
) -> None:
    summary = AccessSummary.of(times)
    before = activation_terms(summary, layer, NOW, weights=tuned, **around)
    spread, at = add_spread(around["spread"], around["spread_at"], amount, NOW, tuned.spread_half_life_days)
    nearer = around | {"spread": spread, "spread_at": at, "last_linked_at": NOW}
    after = activation_terms(summary, layer, NOW, weights=tuned, **nearer)
    assert after.activation * HAIR >= before.activation


@given(st.lists(st.floats(1, 10_000), min_size=1, max_size=30), decays, decays)
def test_vitality_never_rises_with_decay_when_every_age_is_a_day_or_more(
    ages: list[float], one: float, other: float
) -> None:
    summary = AccessSummary.of(NOW - age * DAY for age in ages)
    now = NOW + 1e-3  # the subtraction above may have lost the last microseconds of a day
    slow, fast = (summary.power_sum(now, decay) for decay in sorted((one, other)))
    assert fast <= slow * HAIR


@given(
    st.lists(st.floats(1, 10_000), min_size=1, max_size=30),
    st.floats(0.01, 100),
    decays,
    decays,
    surroundings,
    weights,
)
def test_a_day_is_a_day_of_the_layer_s_own_clock(
    ages: list[float],
    rate: float,
    one: float,
    other: float,
    around: dict[str, Any],
    tuned: VitalityWeights,
) -> None:
    own_day = DAY * link_stretch(around["in_degree"], tuned) / rate * HAIR
    summary = AccessSummary.of(NOW - age * own_day - 1e-3 for age in ages)
    slow, fast = (
        activation_terms(summary, LayerRates(rate, "clock", decay), NOW, weights=tuned, **around)
        for decay in sorted((one, other))
    )
    assert fast.activation <= slow.activation * HAIR


@given(histories, rates, surroundings, weights)
def test_vitality_lies_between_0_and_1_and_is_1_only_where_floats_saturate(
    times: list[float], layer: LayerRates, around: dict[str, Any], tuned: VitalityWeights
) -> None:
    terms = activation_terms(AccessSummary.of(times), layer, NOW, weights=tuned, **around)
    assert 0 < terms.vitality <= 1
    assert (terms.vitality < 1) == (terms.activation < 2**53)
    assert min(terms.recent, terms.tail, terms.spread, terms.revival) >= 0


@given(st.floats(0, math.inf))
def test_vitality_of_any_sum_is_a_share(activation: float) -> None:
    assert 0 <= vitality_of(activation) <= 1


@given(
    st.lists(st.sampled_from([YEAR_1, 0.0, NOW, YEAR_9999]) | st.floats(YEAR_1, YEAR_9999), min_size=1),
    st.integers(0, 2**62),
    st.floats(YEAR_1, YEAR_9999),
    st.sampled_from([LayerRates(1000, "clock", 10), LayerRates(0.001, "clock", 10), LayerRates(0.001)])
    | rates,
    surroundings,
    weights | st.just(VitalityWeights(10, 0.01, 100, 100, 3650, 1, 1000, 0)),
)
def test_extreme_input_never_raises(
    times: list[float],
    evicted: int,
    now: float,
    layer: LayerRates,
    around: dict[str, Any],
    tuned: VitalityWeights,
) -> None:
    summary = AccessSummary.of(times)
    summary = AccessSummary(summary.count + evicted, summary.first, summary.recent)
    terms = activation_terms(summary, layer, now, weights=tuned, **around)
    assert 0 < terms.vitality <= 1
    assert 0 < terms.retention(protected=True, weights=tuned) <= 1
    assert math.isfinite(terms.base)


@given(st.lists(moments, min_size=1, max_size=8), usual_decays, st.floats(0.01, 100))
def test_the_hybrid_is_exact_for_as_many_accesses_as_it_keeps(
    times: list[float], decay: float, clock: float
) -> None:
    ages = [clock * max((NOW - time) / DAY, MIN_AGE_DAYS) for time in times]
    exact = power_sum(ages, decay, min_age=0)
    assert AccessSummary.of(times).power_sum(NOW, decay, clock) == pytest.approx(exact, rel=1e-12)


many_accesses = st.lists(moments, min_size=9, max_size=60)


@given(many_accesses, usual_decays)
def test_the_hybrid_lies_where_the_older_accesses_may_have_been(times: list[float], decay: float) -> None:
    """Beyond eight accesses it is off by no more than the first and the eighth newest allow."""
    summary = AccessSummary.of(times)
    ages = sorted(max((NOW - time) / DAY, MIN_AGE_DAYS) for time in times)
    recent, older = power_sum(ages[:RECENT], decay), len(ages) - RECENT
    low, high = (recent + older * age**-decay for age in (ages[-1], ages[RECENT - 1]))
    for found in (summary.power_sum(NOW, decay), power_sum(ages, decay)):
        assert low / HAIR <= found <= high * HAIR


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.floats(0.01, 1000),
    st.floats(1.001, 1000),
    usual_decays,
)
def test_older_accesses_spread_evenly_cost_less_than_one_access(
    places: list[float], eighth: float, ratio: float, decay: float
) -> None:
    """One in each of as many equal parts of the time: the error is less than one access at its newest end."""
    first, part = eighth * ratio, eighth * (ratio - 1) / len(places)
    older = [eighth + part * (number + place) for number, place in enumerate(places)]
    recent = [eighth] * RECENT
    hybrid = power_sum_hybrid(recent, RECENT + len(older), first, decay)
    exact = power_sum([*recent, *older], decay)
    assert abs(hybrid - exact) <= (eighth**-decay - first**-decay) * HAIR + exact * 1e-9
    assert abs(vitality_of(hybrid) - vitality_of(exact)) <= vitality_of(exact) / RECENT


@given(st.lists(st.floats(0.01, 3000), min_size=1, max_size=30), st.floats(0.1, 3))
def test_a_metabolic_rate_of_a_tenth_fades_exactly_ten_times_slower(ages: list[float], decay: float) -> None:
    def fading(rate: float, slowness: float) -> float:
        summary = AccessSummary.of(-age * slowness * DAY for age in ages)
        return activation_terms(summary, LayerRates(rate, "clock", decay), 0.0).activation

    assert fading(0.1, 10) == pytest.approx(fading(1, 1), rel=1e-12)
    assert fading(3, 1 / 3) == pytest.approx(fading(1, 1), rel=1e-12)


@given(st.floats(1e-3, 1e3), st.floats(1.001, 1e4), usual_decays)
def test_the_stable_tail_is_the_mean_of_the_power_law(newest: float, ratio: float, decay: float) -> None:
    oldest = newest * ratio
    # Simpson's rule over ln x, where the integrand x^(1-d) is smooth.
    low, high, pieces = math.log(newest), math.log(oldest), 4000
    step = (high - low) / pieces
    values = [math.exp((1 - decay) * (low + step * place)) for place in range(pieces + 1)]
    inside = 4 * math.fsum(values[1:-1:2]) + 2 * math.fsum(values[2:-1:2])
    integral = (values[0] + inside + values[-1]) * step / 3
    assert tail_mean(newest, oldest, decay) == pytest.approx(integral / (oldest - newest), rel=1e-9)


@given(st.floats(1e-3, 1e4), decays)
def test_the_tail_of_equal_ages_is_the_power_itself(age: float, decay: float) -> None:
    assert tail_mean(age, age, decay) == pytest.approx(age**-decay, rel=1e-12)


@given(st.floats(1e-3, 1e3), st.floats(1, 1e4), decays)
def test_the_tail_lies_between_its_ends(newest: float, ratio: float, decay: float) -> None:
    oldest = newest * ratio
    mean = tail_mean(newest, oldest, decay)
    assert oldest**-decay / HAIR <= mean <= newest**-decay * HAIR


def test_the_hybrid_counts_what_it_does_not_keep() -> None:
    assert power_sum_hybrid([1.0], 3, 1.0, 0.5) == pytest.approx(3.0)


def test_future_accesses_count_as_one_minute_old() -> None:
    future, minute = (AccessSummary.of([NOW + ahead]) for ahead in (3600, -60))
    assert future.power_sum(NOW, 0.5) == pytest.approx(minute.power_sum(NOW, 0.5), rel=1e-12)


@given(st.integers(0, 2000), st.integers(0, 2000), weights)
def test_more_links_never_make_a_memory_age_faster(one: int, other: int, tuned: VitalityWeights) -> None:
    few, many = sorted((one, other))
    assert 1 <= link_stretch(few) <= link_stretch(many) <= 2
    most = 1 + tuned.stretch_per_link * tuned.stretch_links
    assert 1 <= link_stretch(few, tuned) <= link_stretch(many, tuned) <= most


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 5), weights)
def test_spread_and_revival_only_fade(
    one: float, other: float, stored: float, tuned: VitalityWeights
) -> None:
    early, late = sorted((one, other))
    assert 0 <= revival(late, tuned) <= revival(early, tuned) <= 1
    assert 0 <= spread_now(stored, late, tuned) <= spread_now(stored, early, tuned) <= 1


def test_revival_is_dropped_once_below_a_hundredth() -> None:
    assert revival(23.02) == pytest.approx(0.01, rel=0.01)
    assert revival(23.03) == 0


def test_a_stored_spread_without_its_time_counts_nothing() -> None:
    terms = activation_terms(AccessSummary.of([NOW - DAY]), LayerRates(), NOW, spread=1.0, spread_at=None)
    assert terms.spread == 0


def test_protection_lifts_retention_and_never_vitality() -> None:
    terms = activation_terms(AccessSummary.of([NOW - 400 * DAY]), LayerRates(), NOW)
    assert terms.retention(protected=True) == 0.5
    assert terms.retention(protected=True, weights=VitalityWeights(protection_floor=0.7)) == 0.7
    assert terms.retention(protected=False) == terms.vitality < 0.1
