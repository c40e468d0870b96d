"""Laws of vitality: what must hold for every history, not only for the numbers in the vector file."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgrecall.vitality import (
    MIN_AGE_DAYS,
    PRESETS,
    AccessSummary,
    LayerRates,
    ZoneThresholds,
    activation_terms,
    power_sum,
    power_sum_hybrid,
    revival,
    spread_now,
    stretch,
    tail_mean,
    vitality_of,
)

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


@given(histories, rates, surroundings, st.floats(0, 1e9), st.floats(0, 1e9))
def test_vitality_never_rises_with_time_alone(
    times: list[float], layer: LayerRates, around: dict[str, Any], wait: float, more: float
) -> None:
    summary = AccessSummary.of(times)
    before = activation_terms(summary, layer, NOW + 60 + wait, **around)
    after = activation_terms(summary, layer, NOW + 60 + wait + more, **around)
    assert after.activation <= before.activation * HAIR


@given(histories, rates, surroundings)
def test_vitality_never_falls_by_an_access_made_now(
    times: list[float], layer: LayerRates, around: dict[str, Any]
) -> None:
    summary = AccessSummary.of(times)
    before = activation_terms(summary, layer, NOW, **around)
    after = activation_terms(summary.add(NOW), layer, NOW, **around)
    assert after.activation * HAIR >= before.activation


@given(st.lists(st.floats(1, 10_000), min_size=1, max_size=30), decays, decays)
def test_vitality_never_rises_with_decay_when_every_age_is_a_day_or_more(
    ages: list[float], one: float, other: float
) -> None:
    summary = AccessSummary.of(NOW - age * DAY for age in ages)
    now = NOW + 1e-3  # the subtraction above may have lost the last microseconds of a day
    slow, fast = (summary.power_sum(now, decay) for decay in sorted((one, other)))
    assert fast <= slow * HAIR


@given(histories, rates, surroundings)
def test_vitality_lies_between_0_and_1_and_is_1_only_where_floats_saturate(
    times: list[float], layer: LayerRates, around: dict[str, Any]
) -> None:
    terms = activation_terms(AccessSummary.of(times), layer, NOW, **around)
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
)
def test_extreme_input_never_raises(
    times: list[float], evicted: int, now: float, layer: LayerRates, around: dict[str, Any]
) -> None:
    summary = AccessSummary.of(times)
    summary = AccessSummary(summary.count + evicted, summary.first, summary.recent)
    terms = activation_terms(summary, layer, now, **around)
    assert 0 < terms.vitality <= 1
    assert math.isfinite(terms.base)


@given(st.lists(moments, min_size=1, max_size=8), usual_decays, st.floats(0.01, 100))
def test_the_hybrid_is_exact_for_as_many_accesses_as_it_keeps(
    times: list[float], decay: float, clock: float
) -> None:
    ages = [clock * max((NOW - time) / DAY, MIN_AGE_DAYS) for time in times]
    exact = power_sum(ages, decay, min_age=0)
    assert AccessSummary.of(times).power_sum(NOW, decay, clock) == pytest.approx(exact, rel=1e-12)


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


@given(st.integers(0, 100), st.integers(0, 100))
def test_more_links_never_make_a_memory_age_faster(one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert 1 <= stretch(few) <= stretch(many) <= 2


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 5))
def test_spread_and_revival_only_fade(one: float, other: float, stored: float) -> None:
    early, late = sorted((one, other))
    assert 0 <= revival(late) <= revival(early) <= 1
    assert 0 <= spread_now(stored, late) <= spread_now(stored, early) <= 1


def test_revival_is_dropped_once_below_a_hundredth() -> None:
    assert revival(23.02) == pytest.approx(0.01, rel=0.01)
    assert revival(23.03) == 0


def test_a_stored_spread_without_its_time_counts_nothing() -> None:
    terms = activation_terms(AccessSummary.of([NOW - DAY]), LayerRates(), NOW, spread=1.0, spread_at=None)
    assert terms.spread == 0


def test_protection_lifts_retention_and_never_vitality() -> None:
    terms = activation_terms(AccessSummary.of([NOW - 400 * DAY]), LayerRates(), NOW)
    assert terms.retention(protected=True) == 0.5
    assert terms.retention(protected=False) == terms.vitality < 0.1


@pytest.mark.parametrize(
    ("preset", "layer", "clock", "decay", "birth_weight"),
    [
        ("default", "entity", 0.1, 0.5, 2),
        ("default", "knowledge", 1, 0.5, 1),
        ("default", "episodic", 2, 0.5, 1),
        ("default", "activity", 3, 0.5, 1),
        ("seed", "entity", 1, 0.05, 1),
        ("seed", "knowledge", 1, 0.5, 1),
        ("seed", "episodic", 1, 1, 1),
        ("seed", "activity", 1, 1.5, 1),
    ],
)
def test_preset(preset: str, layer: str, clock: float, decay: float, birth_weight: float) -> None:
    given_rates = PRESETS[preset][layer]
    assert given_rates.clock == clock
    assert given_rates.effective_decay == pytest.approx(decay)
    assert given_rates.birth_weight == birth_weight


def test_presets_hold_these_layers_only_and_cannot_be_changed() -> None:
    for layers in PRESETS.values():
        assert list(layers) == ["entity", "knowledge", "episodic", "activity"]
        with pytest.raises(TypeError):
            layers["entity"] = LayerRates()


@pytest.mark.parametrize(
    ("days", "zone"), [(0.44, "active"), (0.45, "stale"), (5.4, "stale"), (5.5, "fading"), (81.1, "archived")]
)
def test_one_access_of_knowledge_passes_through_the_zones(days: float, zone: str) -> None:
    terms = activation_terms(AccessSummary.of([NOW - days * DAY]), PRESETS["default"]["knowledge"], NOW)
    assert ZoneThresholds().zone(terms.vitality) == zone


bounds = st.lists(st.floats(0.001, 0.999), min_size=3, max_size=3, unique=True).map(sorted)


@given(bounds)
def test_zones_are_half_open(limits: list[float]) -> None:
    fading, stale, active = limits
    zones = ZoneThresholds(active, stale, fading)
    for limit, above, below in (
        (active, "active", "stale"),
        (stale, "stale", "fading"),
        (fading, "fading", "archived"),
    ):
        assert zones.zone(limit) == above
        just_below = zones.zone(math.nextafter(limit, 0))
        assert just_below == below or math.nextafter(limit, 0) in limits
    assert (zones.zone(0), zones.zone(1)) == ("archived", "active")


@given(bounds, st.permutations([0, 1, 2]))
def test_zone_thresholds_that_do_not_fall_are_refused(limits: list[float], order: list[int]) -> None:
    assume(order != [2, 1, 0])
    with pytest.raises(ValueError, match="must fall"):
        ZoneThresholds(*(limits[place] for place in order))


@pytest.mark.parametrize("wrong", [(1.0, 0.3, 0.1), (0.6, 0.3, 0.0), (0.6, 0.6, 0.1), (math.nan, 0.3, 0.1)])
def test_zone_thresholds_outside_0_and_1_are_refused(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="zone thresholds"):
        ZoneThresholds(*wrong)


def test_layer_rates_name_every_bad_value_at_once() -> None:
    with pytest.raises(ValueError, match="metabolic_rate") as caught:
        LayerRates(0, "sundial", math.nan, 0.5)
    for part in ("metabolic_rate is 0,", "base_decay is nan", "birth_weight is 0.5", "reading is 'sundial'"):
        assert part in str(caught.value)


@pytest.mark.parametrize("wrong", [math.inf, -1.0, 1000.1, math.nan])
def test_layer_rates_refuse_a_metabolic_rate_out_of_bounds(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"metabolic_rate is .*\[0\.001, 1000\]"):
        LayerRates(wrong)


def test_layer_rates_bound_the_effective_decay_of_the_exponent_reading() -> None:
    with pytest.raises(ValueError, match=r"effective decay is 500\.0"):
        LayerRates(1000, "exponent", 0.5)
