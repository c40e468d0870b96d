"""The pictures of the page, as numbers: reasons add up, areas stand on each other, names have room."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.faces.page.charts import columns, over_time, zone_bars
from pgrecall.faces.page.score_steps import WIDTH, score_steps
from pgrecall.faces.page.templating import duration_words, signed, url
from pgrecall.models.charts import OverviewLayer, ZoneShare
from pgrecall.models.search import Hit
from pgrecall.vitality.parameters import DEFAULT_ZONES

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
LOG_ODDS = st.floats(-12, 12)


def hit(explanation: dict[str, Any]) -> Hit:
    return Hit(
        1, None, "knowledge", "A title", "A body.", None, None, (), NOW, 0.5, 0.5, 0.5, "stale", 1,
        explanation=explanation,
    )  # fmt: skip


@settings(max_examples=40)
@given(LOG_ODDS, LOG_ODDS, LOG_ODDS, LOG_ODDS, st.floats(-3, 0))
def test_the_reasons_add_up_to_the_log_odds(
    intercept: float, meaning: float, reread: float, vitality: float, held: float
) -> None:
    relevance = {"intercept": intercept, "similarity": meaning, "logit": intercept + meaning}
    relevance |= {"probability": 0.5, "form": "logistic", "features": {"similarity": 0.4}}
    score = {"vitality": vitality, "held_back": held, "log_odds": reread + vitality + held}
    [why] = score_steps([hit({"relevance": relevance, "rerank": {"logit": reread}, "score": score})])
    *steps, whole = why.steps
    assert whole.direction == "sum"
    # What is too small to be drawn is left out.
    assert whole.value == pytest.approx(score["log_odds"], abs=0.005 * 3)
    assert sum(step.value for step in steps) == pytest.approx(whole.value)
    for step in why.steps:
        assert -0.1 <= step.left <= step.left + step.width <= WIDTH + 1.1
    assert whole.width == pytest.approx(max(abs(steps[-1].joint - why.zero), 1.0), abs=0.2)


def test_a_hit_that_explains_nothing_has_no_score_steps() -> None:
    [why] = score_steps([hit({})])
    assert (why.sentence, [step.name for step in why.steps]) == ("", ["total"])
    [named] = score_steps([hit({"score": {"vitality": 0.0, "exempt": True}})])
    assert (named.steps[0].name, named.steps[0].direction) == ("vitality: named in the query", "none")


def test_zones_stand_on_each_other_as_high_as_they_are_large() -> None:
    shares = [
        ZoneShare(NOW + timedelta(days=day), layer, zone, many)
        for day in range(3)
        for layer, zone, many in (("a", "active", 10.0), ("a", "archived", 30.0), ("b", "fading", 60.0 - day))
    ]
    whole, large, small = over_time(shares, NOW + timedelta(days=2))
    assert (whole.name, large.name, small.name) == ("", "b", "a")
    assert [band.zone for band in whole.bands] == ["archived", "fading", "active"]
    assert [instant.memories for instant in whole.instants] == [100, 99, 98]
    assert [rule.name for rule in whole.levels] == ["0", "25", "50", "75", "100"]
    for one, next_one in pairwise(whole.instants):
        assert one.x + one.width == pytest.approx(next_one.x, abs=0.2)
    assert over_time(shares[:3], NOW) == ()


def test_columns_hold_every_memory_and_know_their_zone() -> None:
    layers = [
        OverviewLayer("a", 5, 0, {"active": 5}, (0, 0, 0, 0, 5)),
        OverviewLayer("b", 2, 0, {}, (1, 1, 0, 0, 0)),
    ]
    drawn = columns(layers, DEFAULT_ZONES)
    assert [column.memories for column in drawn.columns] == [1, 1, 0, 0, 5]
    assert [column.zone for column in drawn.columns][-1] == "active"
    assert {column.zone for column in columns(layers, None).columns} == {None}
    assert [piece.memories for piece in zone_bars(layers)[0]] == [5]
    assert columns([], None).columns == ()


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(seconds=3), "a moment"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(days=13.6), "2 weeks"),
        (timedelta(days=-800), "2.2 years"),
        (timedelta(days=36525), "100 years"),
    ],
)
def test_lengths_of_time_are_said_as_people_say_them(length: timedelta, said: str) -> None:
    assert duration_words(length) == said


def test_numbers_keep_their_sign_and_addresses_leave_out_what_is_empty() -> None:
    assert [signed(value) for value in (1.0, -0.004, -2.5)] == ["+1.00", "+0.00", "−2.50"]
    assert (
        url("/", {"q": "a b&c", "k": "", "used": ["1", "2"], "rerank": True})
        == "/?q=a+b%26c&used=1&used=2&rerank=1"
    )
