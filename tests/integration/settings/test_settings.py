"""Settings from Python: what is in force, whose it is, and what is refused."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest

from pgrecall import InvalidInput, Memory, Setting
from tests.databases import Query

pytestmark = pytest.mark.in_turns


def setting(memory: Memory, name: str) -> Setting:
    return next(found for found in memory.settings.list() if found.name == name)


def test_settings_have_the_value_in_force_and_its_source(memory: Memory, query: Query) -> None:
    name = "prune.grace_days"
    assert (setting(memory, name).value, setting(memory, name).source) == (30, "default")
    query("INSERT INTO recall.setting (tenant, name, value) VALUES ('*', %s, '20')", (name,))
    assert (setting(memory, name).value, setting(memory, name).source) == (20, "database")
    memory.settings.set(name, 12.5)
    assert (setting(memory, name).value, setting(memory, name).source) == (12.5, "tenant")
    memory.settings.reset(name)
    assert (setting(memory, name).value, setting(memory, name).source) == (20, "database")
    assert (setting(memory, name).default, setting(memory, name).low, setting(memory, name).high) == (
        30,
        0,
        36500,
    )


def test_every_setting_is_within_its_own_bounds_and_says_what_it_is(memory: Memory) -> None:
    found = memory.settings.list()
    assert [each.name for each in found] == sorted(each.name for each in found)
    for each in found:
        assert each.low <= each.default <= each.high
        assert each.about.endswith(".")


def test_a_setting_is_its_tenants_alone(memory: Memory, query: Query) -> None:
    memory.settings.set("graph.min_cut", 5)
    ask = "SELECT value FROM recall.settings() WHERE name = 'graph.min_cut'"
    assert query(ask, tenant="other") == [{"value": 3}]
    assert query(ask) == [{"value": 5}]


def test_a_weight_of_vitality_counts_at_once(memory: Memory, now: datetime) -> None:
    old = now - timedelta(days=30)
    memory.remember("a", key="a", occurred_at=old)
    memory.remember("b", key="b", occurred_at=old)
    memory.link("b", "a", now=now - timedelta(days=1))
    before = memory.get("a", now=now).vitality
    memory.settings.set("vitality.revival_weight", 0)
    after = memory.get("a", now=now).vitality
    assert (before.revival > 0.5, after.revival) == (True, 0)
    assert after.recent == before.recent


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("prune.grace", 1.0, "There is no setting 'prune.grace'."),
        ("", 1.0, "There is no setting ''."),
        ("prune.max_share", 1.5, "prune.max_share is 1.5; it must lie between 0.000001 and 1."),
        ("prune.max_share", -1, "prune.max_share is -1; it must lie between 0.000001 and 1."),
        ("prune.grace_days", math.nan, "prune.grace_days is NaN; it must lie between 0 and 36500."),
        ("prune.grace_days", math.inf, "prune.grace_days is Infinity; it must lie between 0 and 36500."),
        ("prune.grace_days", 1e-300, "prune.grace_days is 1e-300; it must be 0 or at least 1e-30 from it."),
        ("prune\0", 1.0, "The name of the setting holds a NUL character."),
        ("embedding.model", 1.0, "There is no setting 'embedding.model'."),
    ],
)
def test_a_wrong_setting_changes_nothing(memory: Memory, name: str, value: float, sentence: str) -> None:
    before = memory.settings.list()
    with pytest.raises(InvalidInput) as caught:
        memory.settings.set(name, value)
    assert caught.value.message == sentence
    assert memory.settings.list() == before
