"""Layers as data: presets, a tenant's own rates and thresholds, and what follows them at once."""

from __future__ import annotations

import dataclasses
import math
from datetime import datetime, timedelta

import psycopg
import pytest

from pgrecall import InvalidInput, Layer, Memory
from pgrecall.vitality.parameters import DEFAULT_ZONES, PRESETS, LayerRates, Preset, ZoneThresholds
from pgrecall.vitality.score import activation_terms
from tests.databases import Query
from tests.integration.access.use_tools import Use, item, note, record, state, summary
from tests.integration.prune import prune_tools
from tests.integration.settings.layer_tools import OWN, OWN_RATES, drop_layer, layers, pace, rates, set_layer

pytestmark = pytest.mark.in_turns


def weights(memory: Memory) -> dict[str, float]:
    """The settings of vitality's terms in force, named as in Python."""
    return {
        setting.name.removeprefix("vitality."): setting.value
        for setting in memory.settings.list()
        if setting.name.startswith("vitality.") and setting.name != "vitality.weight"
    }


# Presets


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_the_same_in_sql_and_python(memory: Memory, preset: Preset) -> None:
    expected = PRESETS[preset]
    memory.layers.use_preset(preset)
    assert {layer.name: layer.rates for layer in memory.layers.list()} == dict(expected.layers)
    assert weights(memory) == dataclasses.asdict(expected.weights)
    assert {layer.source for layer in memory.layers.list()} == {"tenant"}


def test_sql_knows_the_presets_of_python_and_no_others(sql: Query) -> None:
    rows = sql("SELECT DISTINCT preset FROM recall.presets()")
    assert {row["preset"] for row in rows} == set(PRESETS)


def test_what_ships_is_the_default_preset(memory: Memory) -> None:
    expected = PRESETS["default"]
    assert {layer.name: layer.rates for layer in memory.layers.list()} == dict(expected.layers)
    assert {layer.source for layer in memory.layers.list()} == {"database"}
    assert weights(memory) == dataclasses.asdict(expected.weights)


def test_one_preset_leaves_nothing_of_another_behind(memory: Memory) -> None:
    before = {layer.name: layer.rates for layer in memory.layers.list()}, weights(memory)
    memory.layers.set("knowledge", active=0.9)
    memory.layers.use_preset("seed")
    assert weights(memory)["revival_days"] == 14
    memory.layers.use_preset("default")
    assert ({layer.name: layer.rates for layer in memory.layers.list()}, weights(memory)) == before


def test_a_preset_retunes_memories_and_leaves_other_layers_alone(sql: Query) -> None:
    set_layer(sql, "own", **OWN)
    entity, own = note(sql, "e", layer="entity"), note(sql, "o", layer="own")
    note(sql, "k")
    # Knowledge is the same in both readings.
    assert sql("SELECT recall.use_preset('seed') AS changed") == [{"changed": 1}]
    assert pace(sql, entity) == (1, 0.05)
    assert pace(sql, own) == (4, 0.7)
    assert rates(layers(sql)["own"]) == OWN_RATES


def test_an_unknown_preset_changes_nothing(memory: Memory) -> None:
    before = memory.layers.list(), memory.settings.list()
    with pytest.raises(
        InvalidInput, match=r"^There is no preset 'fast'\. Choose one of: calibrated, default, seed\.$"
    ):
        memory.layers.use_preset("fast")  # type: ignore[arg-type]
    assert (memory.layers.list(), memory.settings.list()) == before


# A layer of one's own


def test_a_new_layer_has_the_defaults_for_what_is_not_given(memory: Memory) -> None:
    assert memory.layers.set("code") == 0
    [code] = [layer for layer in memory.layers.list() if layer.name == "code"]
    assert code == Layer("code", LayerRates(), "balanced", pytest.approx(math.log(0.1)), "tenant")
    assert code.rates.zones == DEFAULT_ZONES


def test_what_is_not_given_stays_as_it_applies(memory: Memory) -> None:
    memory.layers.set("entity", stale=0.25)
    memory.layers.set("entity", base_decay=0.4)
    [entity] = [layer for layer in memory.layers.list() if layer.name == "entity"]
    assert entity.rates == LayerRates(0.1, "clock", 0.4, 2.0, ZoneThresholds(0.6, 0.25, 0.1))
    assert (entity.profile, entity.source) == ("identity", "tenant")


def test_a_layer_is_its_tenants_alone(sql: Query) -> None:
    theirs = note(sql, "theirs", tenant="other")
    note(sql, "ours")
    assert set_layer(sql, "knowledge", metabolic_rate=9) == 1
    assert set_layer(sql, "code") == 0
    assert pace(sql, theirs) == (1, 0.5)
    assert "code" not in layers(sql, tenant="other")
    assert layers(sql, tenant="other")["knowledge"]["source"] == "database"
    assert layers(sql)["knowledge"]["source"] == "tenant"
    set_layer(sql, "knowledge", tenant="other", metabolic_rate=2)
    assert drop_layer(sql, "knowledge")
    assert layers(sql, tenant="other")["knowledge"]["metabolic_rate"] == 2


def test_memories_age_by_the_new_rates_at_once(sql: Query, now: datetime) -> None:
    live, archived, other = note(sql, "a"), note(sql, "b"), note(sql, "c", layer="episodic")
    record(sql, [item(live, Use(day * 86_400)) for day in (3, 20, 21)], now)
    sql("SELECT recall.forget(%s)", (archived,))
    assert set_layer(sql, "knowledge", reading="exponent", metabolic_rate=1.6) == 2
    assert set_layer(sql, "knowledge", reading="exponent", metabolic_rate=1.6) == 0
    assert pace(sql, live) == pace(sql, archived) == (1, 0.8)
    assert pace(sql, other) == (2, 0.5)
    [told] = sql("SELECT * FROM recall.explain_vitality(%s, %s)", (live, now))
    expected = activation_terms(summary(sql, live), LayerRates(1.6, "exponent"), now.timestamp())
    assert told["base"] == pytest.approx(expected.base, abs=1e-11)


def test_the_medians_of_search_follow(sql: Query, now: datetime) -> None:
    for day in (1, 5, 9):
        note(sql, f"k{day}", at=now - timedelta(days=day))
    sql("SELECT recall.refresh_medians(%s)", (now,))
    before = layers(sql)["knowledge"]["median_base"]
    sql("SELECT recall.set_layer('knowledge', 4, p_now => %s)", (now,))
    assert before == pytest.approx(math.log(5**-0.5))
    assert layers(sql)["knowledge"]["median_base"] == pytest.approx(math.log((4 * 5) ** -0.5))


def test_a_layer_whose_memories_are_all_archived_forgets_its_old_median(sql: Query, now: datetime) -> None:
    memory = note(sql, "k", at=now - timedelta(days=5))
    sql("SELECT recall.refresh_medians(%s)", (now,))
    sql("SELECT recall.forget(%s)", (memory,))
    set_layer(sql, "knowledge", metabolic_rate=4)
    assert layers(sql)["knowledge"]["median_base"] == pytest.approx(math.log(400**-0.5))


def test_a_birth_weight_counts_for_new_memories(sql: Query) -> None:
    old = note(sql, "old")
    set_layer(sql, "knowledge", birth_weight=3.5)
    new = note(sql, "new")
    assert [(state(sql, memory)["n"], state(sql, memory)["credit"]) for memory in (old, new)] == [
        (1, 0),
        (3, 0.5),
    ]


def test_thresholds_hold_at_once(sql: Query, now: datetime) -> None:
    memory = note(sql, "k", at=now - timedelta(days=5))
    ask = "SELECT zone FROM recall.explain_vitality(%s, %s)"
    assert sql(ask, (memory, now)) == [{"zone": "stale"}]
    assert set_layer(sql, "knowledge", active=0.3, stale=0.2) == 0
    assert sql(ask, (memory, now)) == [{"zone": "active"}]


# Everywhere


def test_a_layer_of_ones_own_works_everywhere(memory: Memory, query: Query, now: datetime) -> None:
    memory.layers.set("code", **OWN)
    born = now - timedelta(days=40)
    for place in range(3):
        memory.remember(f"the tide table, part {place}", key=f"t{place}", layer="code", occurred_at=born)
    memory.remember("another tide table", key="other")
    memory.record_access("t0", at=now - timedelta(days=2), now=now)

    expected = activation_terms(summary(query, memory.get("t0").id), OWN_RATES, now.timestamp())
    told = memory.get("t0", now=now).vitality
    assert told.base == pytest.approx(expected.base, abs=1e-11)
    assert told.zone == OWN_RATES.zones.zone(expected.vitality) == "stale"
    found = memory.search("tide table", layers=("code",), now=now, log=False).hits
    assert (found[0].key, found[0].layer) == ("t0", "code")
    assert {hit.key for hit in found} == {"t0", "t1", "t2"}

    memory.maintenance.refresh_statistics(now=now)
    [code] = [layer for layer in memory.layers.list() if layer.name == "code"]
    bases = sorted(memory.get(f"t{place}", now=now).vitality.base for place in range(3))
    assert code.median_base == pytest.approx(bases[1])
    [held] = [layer for layer in memory.status(now=now).layers if layer.layer == "code"]
    assert (held.memories, held.zones) == (3, {"stale": 1, "fading": 2})
    assert [layer for layer in memory.history.zones(now) if layer.layer == "code"] == [held]
    assert memory.history.vitality("t0", now) == told
    before_use = memory.history.vitality("t0", now - timedelta(days=3))
    assert (before_use.accesses, before_use.zone) == (1, "fading")
    assert [outcome.state for outcome in memory.jobs.run("vitality", now=now)] == ["done"]
    assert state(query, memory.get("t0").id)["vitality"] == pytest.approx(told.vitality)


def test_a_layer_of_ones_own_is_pruned_by_its_own_thresholds(sql: Query) -> None:
    set_layer(sql, "code", **OWN)
    prune_tools.notes(sql, [{"key": "old", "layer": "code"}])
    assert prune_tools.planned(sql, prune_tools.plan(sql, p_layers=["code"])) == ["old"]
    set_layer(sql, "code", active=0.03, stale=0.02, fading=0.001)
    assert prune_tools.planned(sql, prune_tools.plan(sql, p_layers=["code"])) == []


# Dropped


def test_dropping_a_layer_brings_the_databases_back(memory: Memory, query: Query) -> None:
    stored = memory.remember("a", layer="entity").id
    memory.layers.set("entity", metabolic_rate=7, active=0.7)
    assert pace(query, stored) == (7, 0.5)
    assert memory.layers.drop("entity")
    assert pace(query, stored) == (0.1, 0.5)
    assert {layer.name: layer.rates for layer in memory.layers.list()} == dict(PRESETS["default"].layers)
    assert not memory.layers.drop("entity")


def test_a_layer_that_memories_need_cannot_be_dropped(sql: Query) -> None:
    set_layer(sql, "code", **OWN)
    memory = note(sql, "c", layer="code")
    sql("SELECT recall.forget(%s)", (memory,))
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        drop_layer(sql, "code")
    assert caught.value.diag.message_primary == (
        "Layer 'code' cannot be deleted: 1 memory is in it, and the database has no layer with this name."
    )
    assert rates(layers(sql)["code"]) == OWN_RATES
    note(sql, "c", layer="knowledge")
    assert drop_layer(sql, "code")
    assert "code" not in layers(sql)
    assert sql("SELECT FROM recall.layer_median WHERE layer = 'code'") == []


@pytest.mark.parametrize("name", ["nobody", "", None])
def test_dropping_a_layer_that_is_not_there(sql: Query, name: str | None) -> None:
    with pytest.raises(
        psycopg.errors.InvalidParameterValue, match=r"^There is no layer (''|NULL|'nobody')\."
    ):
        drop_layer(sql, name)  # type: ignore[arg-type]
