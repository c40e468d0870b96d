"""Days in each zone: the tables of the documentation and of the evidence, and the laws behind them."""

from __future__ import annotations

import math
import re
from dataclasses import astuple, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.vitality.activation import MIN_AGE_DAYS, AccessSummary
from pgrecall.vitality.parameters import PRESETS, LayerRates, ZoneThresholds
from pgrecall.vitality.score import ONE_ACCESS, TEN_DAILY, activation_terms, days_in_zones
from tests.model.access_log import LoggedAccess, fold

DAY = 86_400.0
DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "vitality.md"
UNITS = {"s": 1 / DAY, "h": 1 / 24, "d": 1.0, "y": 365.25}
TEN_MONTHLY = [30.0 * month for month in range(10)]
TEN_IN_ONE_MINUTE = [step / 9 / 1440 for step in range(10)]

rates = st.builds(LayerRates, st.floats(0.1, 10), st.just("clock"), st.floats(0.3, 2), st.floats(1, 5))
pasts = st.lists(st.floats(0, 3000), max_size=12).map(lambda days: [0.0, *days])


def written(duration: str) -> object:
    """A duration such as ``10.7 h`` as days, to within the last digit written; ``for ever`` is infinite."""
    if duration in ("for ever", "never"):
        return math.inf if duration == "for ever" else 0.0
    number, unit = duration.replace(",", "").split()
    last_digit = 10 ** -len(number.partition(".")[2])
    return pytest.approx(float(number) * UNITS[unit], rel=0, abs=0.5001 * last_digit * UNITS[unit])


def table() -> dict[tuple[str, str], list[list[str]]]:
    """The documented table: (preset, layer) to the durations after one use and after ten daily ones."""
    rows, preset = {}, ""
    for line in DOCUMENT.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and (layer := re.match(r"(entity|knowledge|episodic|activity) \(", cells[1])):
            preset = cells[0].strip("`") or preset
            rows[preset, layer[1]] = [cell.split(", ") for cell in cells[2:]]
    return rows


TABLE = table()


def test_the_table_has_every_layer_of_every_preset() -> None:
    assert set(TABLE) == {(preset, layer) for preset, of in PRESETS.items() for layer in of.layers}


@pytest.mark.parametrize(("preset", "layer"), TABLE)
def test_the_table_of_the_documentation(preset: str, layer: str) -> None:
    for history, cell in zip((ONE_ACCESS, TEN_DAILY), TABLE[preset, layer], strict=True):
        days = days_in_zones(PRESETS[preset].layers[layer], history, PRESETS[preset].weights)
        assert astuple(days) == tuple(map(written, cell))


@pytest.mark.parametrize(
    ("layer", "history", "durations"),
    [
        ("knowledge", ONE_ACCESS, ("10.7 h", "5.4 d", "81 d")),
        ("knowledge", TEN_DAILY, ("40 d", "1.5 y", "22 y")),
        ("knowledge", TEN_MONTHLY, ("2.3 d", "420 d", "22 y")),
        ("knowledge", TEN_IN_ONE_MINUTE, ("44 d", "1.5 y", "22 y")),
        ("episodic", ONE_ACCESS, ("16 h", "2.3 d", "9 d")),
        ("episodic", TEN_DAILY, ("3.4 d", "19 d", "86 d")),
        ("episodic", TEN_MONTHLY, ("17 h", "3.0 d", "24 d")),
        ("episodic", TEN_IN_ONE_MINUTE, ("6.7 d", "23 d", "90 d")),
        ("activity", ONE_ACCESS, ("18 h", "1.8 d", "4.3 d")),
        ("activity", TEN_DAILY, ("1.3 d", "4.9 d", "16 d")),
        ("activity", TEN_MONTHLY, ("18 h", "1.8 d", "4.6 d")),
        ("activity", TEN_IN_ONE_MINUTE, ("3.5 d", "8.2 d", "20 d")),
        ("entity", TEN_DAILY, ("for ever", "for ever", "for ever")),
    ],
)
def test_the_exponent_reading_of_the_evidence(
    layer: str, history: list[float], durations: tuple[str, ...]
) -> None:
    assert astuple(days_in_zones(PRESETS["seed"].layers[layer], history)) == tuple(map(written, durations))


def test_an_entity_of_the_source_would_be_active_for_26_seconds_but_for_the_floor_of_a_minute() -> None:
    entity = PRESETS["seed"].layers["entity"]
    assert days_in_zones(entity, min_age=1 / DAY).active == written("26 s")
    assert days_in_zones(entity).active == 0
    assert days_in_zones(entity).fading == math.inf


def test_a_birth_weight_of_two_keeps_an_entity_of_the_source_active_for_315_days() -> None:
    entity = replace(PRESETS["seed"].layers["entity"], birth_weight=2)
    assert days_in_zones(entity).active == written("315 d")


@given(rates, pasts)
def test_a_memory_is_in_a_zone_until_its_last_day_and_not_after(rate: LayerRates, past: list[float]) -> None:
    def exact(days: float) -> float:
        births = [max(past)] * (int(rate.birth_weight) - 1)
        times = [-offset * DAY for offset in (*past, *births)]
        return activation_terms(AccessSummary.of(times, keep=len(times)), rate, days * DAY).vitality

    horizon = astuple(days_in_zones(rate, past))
    assert list(horizon) == sorted(horizon)
    for days, threshold in zip(horizon, (0.6, 0.3, 0.1), strict=True):
        if MIN_AGE_DAYS < days < math.inf:
            assert exact(days * (1 - 1e-9)) >= threshold >= exact(days * (1 + 1e-9))


@given(rates, pasts)
def test_the_history_may_be_given_in_any_order_and_from_any_day(rate: LayerRates, past: list[float]) -> None:
    whole_days = [float(round(days)) for days in past]
    moved = [days + 64 for days in reversed(whole_days)]
    assert days_in_zones(rate, moved) == days_in_zones(rate, whole_days)


@given(st.sampled_from([2.0, 2.5, 5.9]), st.lists(st.integers(1, 900), max_size=2))
def test_a_birth_counts_as_in_the_fold_of_the_log(birth_weight: float, days: list[int]) -> None:
    past = sorted([0.0, *days])
    uses = [LoggedAccess(-offset * DAY, 1.0, "read") for offset in past[:-1]]
    summary = fold([*uses, LoggedAccess(-past[-1] * DAY, birth_weight, "write")]).summary
    layer = LayerRates(birth_weight=birth_weight)
    end = days_in_zones(layer, past).stale
    assert activation_terms(summary, layer, end * DAY).vitality == pytest.approx(0.3)


def test_ten_referring_memories_double_every_day_of_one_access() -> None:
    alone, referred_to = (days_in_zones(LayerRates(), in_degree=links) for links in (0, 10))
    assert astuple(referred_to) == pytest.approx([2 * days for days in astuple(alone)])


def test_the_zones_are_those_of_the_layer() -> None:
    patient = LayerRates(zones=ZoneThresholds(0.6, 0.3, 0.05))
    assert days_in_zones(patient).fading == pytest.approx(361)  # (1/19)^-2


def test_without_an_access_there_is_nothing_to_say() -> None:
    with pytest.raises(ValueError, match="days_before_last is empty"):
        days_in_zones(LayerRates(), [])
