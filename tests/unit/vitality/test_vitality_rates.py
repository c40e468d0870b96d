"""Rates, zones, presets and weights: what they stand for, and that nonsense is refused in one sentence."""

from __future__ import annotations

import math
import re
from dataclasses import fields

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgrecall.vitality.activation import AccessSummary
from pgrecall.vitality.parameters import DEFAULT_WEIGHTS, PRESETS, LayerRates, VitalityWeights, ZoneThresholds
from pgrecall.vitality.score import activation_terms, revival

DAY = 86_400.0
NOW = 1_780_000_000.0


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
        ("calibrated", "entity", 0.1, 0.6, 2),
        ("calibrated", "knowledge", 1, 0.6, 1),
        ("calibrated", "episodic", 2, 0.6, 1),
        ("calibrated", "activity", 3, 0.6, 1),
    ],
)
def test_preset(preset: str, layer: str, clock: float, decay: float, birth_weight: float) -> None:
    given_rates = PRESETS[preset].layers[layer]
    assert given_rates.clock == clock
    assert given_rates.effective_decay == pytest.approx(decay)
    assert given_rates.birth_weight == birth_weight


def test_presets_hold_these_layers_only_and_cannot_be_changed() -> None:
    assert list(PRESETS) == ["default", "seed", "calibrated"]
    for preset in PRESETS.values():
        assert list(preset.layers) == ["entity", "knowledge", "episodic", "activity"]
        with pytest.raises(TypeError):
            preset.layers["entity"] = LayerRates()


def test_only_the_seed_cuts_a_revival_where_the_source_does() -> None:
    assert PRESETS["default"].weights == PRESETS["calibrated"].weights == DEFAULT_WEIGHTS
    assert PRESETS["seed"].weights == VitalityWeights(revival_days=14)
    assert revival(14, PRESETS["seed"].weights) == 0 < revival(14)


@pytest.mark.parametrize(
    ("days", "zone"), [(0.44, "active"), (0.45, "stale"), (5.4, "stale"), (5.5, "fading"), (81.1, "dormant")]
)
def test_one_access_of_knowledge_passes_through_the_zones(days: float, zone: str) -> None:
    knowledge = PRESETS["default"].layers["knowledge"]
    terms = activation_terms(AccessSummary.of([NOW - days * DAY]), knowledge, NOW)
    assert knowledge.zones.zone(terms.vitality) == zone


bounds = st.lists(st.floats(0.001, 0.999), min_size=3, max_size=3, unique=True).map(sorted)


@given(bounds)
def test_zones_are_half_open(limits: list[float]) -> None:
    fading, stale, active = limits
    zones = ZoneThresholds(active, stale, fading)
    for limit, above, below in (
        (active, "active", "stale"),
        (stale, "stale", "fading"),
        (fading, "fading", "dormant"),
    ):
        assert zones.zone(limit) == above
        just_below = zones.zone(math.nextafter(limit, 0))
        assert just_below == below or math.nextafter(limit, 0) in limits
    assert (zones.zone(0), zones.zone(1)) == ("dormant", "active")


@given(bounds, st.permutations([0, 1, 2]))
def test_zone_thresholds_that_do_not_fall_are_refused(limits: list[float], order: list[int]) -> None:
    assume(order != [2, 1, 0])
    with pytest.raises(ValueError, match="must fall"):
        ZoneThresholds(*(limits[place] for place in order))


@pytest.mark.parametrize("wrong", [(1.0, 0.3, 0.1), (0.6, 0.3, 0.0), (0.6, 0.6, 0.1), (math.nan, 0.3, 0.1)])
def test_zone_thresholds_outside_0_and_1_are_refused(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="zone thresholds"):
        ZoneThresholds(*wrong)


def test_zones_belong_to_a_layer() -> None:
    patient = LayerRates(zones=ZoneThresholds(0.5, 0.2, 0.05))
    assert (LayerRates().zones.zone(0.55), patient.zones.zone(0.55)) == ("stale", "active")


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


BOUNDS = {
    "spread_weight": "[0, 10]",
    "spread_half_life_days": "[0.01, 3650]",
    "revival_weight": "[0, 100]",
    "revival_rate": "(0, 100]",
    "revival_days": "[0, 3650]",
    "stretch_per_link": "[0, 1]",
    "stretch_links": "[0, 1000]",
    "protection_floor": "[0, 1)",
}


def test_the_default_weights_are_those_of_the_formula() -> None:
    assert VitalityWeights(0.1, 7, 1, 0.2, DEFAULT_WEIGHTS.revival_days, 0.1, 10, 0.5) == DEFAULT_WEIGHTS
    assert DEFAULT_WEIGHTS.revival_days == pytest.approx(math.log(100) / 0.2, rel=1e-15)
    assert [field.name for field in fields(VitalityWeights)] == list(BOUNDS)


@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
def test_a_weight_may_reach_its_bounds_and_not_pass_them(name: str, bounds: str) -> None:
    low, high = (float(end) for end in bounds[1:-1].split(", "))
    refused = [math.nextafter(low, -math.inf), math.nextafter(high, math.inf), math.nan, math.inf]
    accepted = [math.nextafter(low, math.inf), math.nextafter(high, -math.inf)]
    for end, closed in ((low, bounds[0] == "["), (high, bounds[-1] == "]")):
        (accepted if closed else refused).append(end)
    for value in accepted:
        assert getattr(VitalityWeights(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(ValueError, match=re.escape(f"{name} is {value}, not in {bounds}")):
            VitalityWeights(**{name: value})


def test_weights_name_every_bad_value_at_once() -> None:
    with pytest.raises(ValueError, match="; ") as caught:
        VitalityWeights(spread_weight=-1, revival_rate=0, protection_floor=1)
    assert str(caught.value) == (
        "spread_weight is -1, not in [0, 10]; revival_rate is 0, not in (0, 100]; "
        "protection_floor is 1, not in [0, 1)"
    )
