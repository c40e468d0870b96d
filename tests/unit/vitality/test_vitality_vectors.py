"""The vitality mathematics against tests/actr_vectors.json: numbers computed with 60 digits."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from pgrecall.vitality.activation import AccessSummary, optimized_base_level, power_sum, power_sum_hybrid
from pgrecall.vitality.parameters import DEFAULT_ZONES, PRESETS
from pgrecall.vitality.score import link_stretch, revival, spread_now, vitality_of
from tests.model.spreading import spread_at_hop
from tests.vectors import ages_of

DOCUMENT = json.loads((Path(__file__).parents[2] / "actr_vectors.json").read_text())
VECTORS = DOCUMENT["vectors"]
COMPONENTS = DOCUMENT["components"]

# What the file's `about` allows: 1e-11, and 1e-9 where n is 10000 or the case is nearly degenerate.
LOOSE = ("10000 regular", "t_n nearly t_k", "d just below 1", "d just above 1")


def close_to(expected: float, name: str = "") -> Any:
    tolerance = 1e-9 if name.startswith(LOOSE) else 1e-11
    return pytest.approx(expected, abs=tolerance, rel=1e-11)


def named(entries: list[dict[str, Any]]) -> Any:
    names = [str(next(iter(entry.values()))) for entry in entries]
    return pytest.mark.parametrize("entry", entries, ids=names)


def test_the_file_is_the_whole_file() -> None:
    assert (len(VECTORS), len(DOCUMENT["sequences"])) == (41, 5)
    assert all(len(ages_of(vector)) == vector["n"] for vector in VECTORS)


@named(VECTORS)
def test_exact_sum(entry: dict[str, Any]) -> None:
    total = power_sum(ages_of(entry), entry["d"], min_age=entry["min_age_days"])
    assert math.log(total) == close_to(entry["B_exact"], entry["name"])
    assert vitality_of(total) == close_to(entry["vitality_exact"], entry["name"])


@named(VECTORS)
def test_hybrid_sum(entry: dict[str, Any]) -> None:
    ages = ages_of(entry)
    total = power_sum_hybrid(
        ages[: entry["k"]], entry["n"], ages[-1], entry["d"], min_age=entry["min_age_days"]
    )
    assert math.log(total) == close_to(entry["B_hybrid"], entry["name"])
    assert vitality_of(total) == close_to(entry["vitality_hybrid"], entry["name"])


@named(VECTORS)
def test_optimized_form_where_it_exists(entry: dict[str, Any]) -> None:
    lifetime = max(ages_of(entry)[-1], entry["min_age_days"])
    expected = entry["B_optimized"]
    result = optimized_base_level(entry["n"], lifetime, entry["d"])
    assert result is None if expected is None else result == close_to(expected, entry["name"])


@named(DOCUMENT["sequences"])
def test_update_sequence(entry: dict[str, Any]) -> None:
    first, *later = entry["accesses_epoch_s"]
    summary = AccessSummary.of([first], keep=entry["k"])
    for time in later:
        summary = summary.add(time)
    state = entry["state"]
    assert summary == AccessSummary(
        state["n"], state["first"], tuple(state["recent_newest_first"]), entry["k"]
    )

    now, decay, least = entry["now_epoch_s"], entry["d"], entry["min_age_days"]
    total = summary.power_sum(now, decay, min_age=least)
    assert math.log(total) == close_to(entry["B_hybrid"])
    assert vitality_of(total) == close_to(entry["vitality_hybrid"])
    exact = power_sum([(now - time) / 86_400 for time in entry["accesses_epoch_s"]], decay, min_age=least)
    assert math.log(exact) == close_to(entry["B_exact"])


@named(COMPONENTS["structural_boost"])
def test_stretch_component(entry: dict[str, Any]) -> None:
    assert link_stretch(entry["in_degree"]) == close_to(entry["s"])


@named(COMPONENTS["revival"])
def test_revival_component_with_the_cut_of_the_source(entry: dict[str, Any]) -> None:
    assert revival(entry["days"], PRESETS["seed"].weights) == close_to(entry["r"])


@named(COMPONENTS["boost_decay_half_life_7d"])
def test_spread_decay_component(entry: dict[str, Any]) -> None:
    assert spread_now(entry["boost"], entry["days"]) == close_to(entry["value"])


@named(COMPONENTS["hop_boost_damping_06"])
def test_spread_damping_component(entry: dict[str, Any]) -> None:
    assert spread_at_hop(entry["utility"], entry["hops"]) == close_to(entry["value"])


@named(COMPONENTS["effective_decay"])
def test_effective_decay_component_is_the_preset_seed(entry: dict[str, Any]) -> None:
    rates = PRESETS["seed"].layers[entry["layer"]]
    assert (rates.base_decay, rates.metabolic_rate, rates.clock) == (entry["d"], entry["m"], 1.0)
    assert rates.effective_decay == close_to(entry["d_eff"])


@named(COMPONENTS["zones"])
def test_zone_component(entry: dict[str, Any]) -> None:
    assert DEFAULT_ZONES.zone(entry["vitality"]) == entry["zone"]


def test_no_component_is_left_out() -> None:
    tested = {"structural_boost", "revival", "boost_decay_half_life_7d", "hop_boost_damping_06"}
    assert set(COMPONENTS) == tested | {"effective_decay", "zones"}
