"""Laws of vitality in SQL: what must hold for every history, as it does in the Python module."""

from __future__ import annotations

import math
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pgrecall.vitality.activation import AccessSummary
from pgrecall.vitality.parameters import LayerRates, VitalityWeights
from pgrecall.vitality.score import link_stretch
from pgrecall.vitality.use import CUE_MIN_AGE_DAYS, MIN_AGE_DAYS, fresh_activation, use_term
from tests.databases import Query
from tests.integration.access.use_tools import BIRTH, Use, item, note, record
from tests.integration.vitality.vitality_cases import DAY, TERMS, USE, Case, ask, sums
from tests.scale import SCALE

LAW = settings(
    max_examples=60 * SCALE,
    deadline=None,
    derandomize=SCALE == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
NOW = 1_780_000_000.0
YEAR_1, YEAR_9999 = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1, 9999))
HAIR = 1 + 1e-12
"""Room for the last bits of a float."""

moments = st.floats(NOW - 20 * 365 * DAY, NOW + 60)
histories = st.lists(moments, min_size=1, max_size=20).map(AccessSummary.of)
decays = st.floats(0.001, 10)
rates = st.builds(LayerRates, st.floats(0.001, 1000), st.just("clock"), decays) | st.builds(
    LayerRates, st.floats(0.1, 10), st.just("exponent"), st.floats(0.001, 1)
)
surroundings = st.fixed_dictionaries(
    {
        "in_degree": st.integers(0, 2**31 - 1),
        "spread": st.just(0.0) | st.floats(1e-9, 1),
        "spread_at": st.none() | moments,
        "last_linked_at": st.none() | moments,
    }
)


def zero_or(low: float, high: float) -> st.SearchStrategy[float]:
    return st.just(0.0) | st.floats(low, high)


weights = st.builds(
    VitalityWeights,
    zero_or(1e-9, 10),
    st.floats(0.01, 3650),
    zero_or(1e-9, 100),
    st.floats(1e-6, 100),
    zero_or(1e-9, 3650),
    zero_or(1e-9, 1),
    zero_or(1e-9, 1000),
    zero_or(1e-9, 0.999),
)
cases = st.builds(Case, histories, st.just(NOW), rates, weights, surroundings)


@LAW
@given(cases, st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_vitality_never_rises_with_time_alone(sql: Query, case: Case, wait: float, more: float) -> None:
    early, late = sums(sql, replace(case, now=NOW + wait), replace(case, now=NOW + wait + more))
    assert late <= early * HAIR


@LAW
@given(cases, st.floats(0, 1e9))
def test_vitality_never_falls_by_an_access_made_now(sql: Query, case: Case, wait: float) -> None:
    now = NOW + wait
    before, after = sums(sql, replace(case, now=now), replace(case, now=now, summary=case.summary.add(now)))
    assert after * HAIR >= before


@LAW
@given(st.lists(st.floats(1, 10_000), min_size=1, max_size=20), decays, decays, surroundings, weights)
def test_vitality_never_rises_with_decay_when_every_age_is_a_day_or_more(
    sql: Query, ages: list[float], one: float, other: float, around: dict[str, Any], tuned: VitalityWeights
) -> None:
    assume(around["in_degree"] == 0 or tuned.stretch_per_link * tuned.stretch_links == 0)
    # The subtraction may lose the last microseconds of a day.
    summary = AccessSummary.of(NOW - age * DAY - 1e-3 for age in ages)
    slow, fast = (
        Case(summary, NOW, LayerRates(base_decay=decay), tuned, around) for decay in sorted((one, other))
    )
    slower, faster = sums(sql, slow, fast)
    assert faster <= slower * HAIR


@LAW
@given(cases, st.sampled_from([MIN_AGE_DAYS, CUE_MIN_AGE_DAYS]), st.floats(1e-80, 1e80))
def test_what_use_adds_is_that_of_the_python_module_and_bounded(
    sql: Query, case: Case, min_age: float, median: float
) -> None:
    terms, decay = case.terms(), case.rates.effective_decay
    clock = case.rates.clock / link_stretch(case.around["in_degree"], case.weights)
    accesses = case.summary.power_sum(case.now, decay, clock, min_age=min_age)
    expected = accesses + terms.spread + terms.revival
    [row] = ask(sql, USE, [case], min_age * DAY, math.log(median))
    assert row["total"] == pytest.approx(expected, rel=1e-9)
    newest = fresh_activation(case.rates.clock, decay, case.rates.birth_weight)
    assert row["term"] == pytest.approx(use_term(expected, median, newest), rel=1e-9, abs=1e-9)
    assert -1.6 * math.log(2) * HAIR <= row["term"] <= 1.6 * math.log(32) * HAIR


@LAW
@given(cases)
def test_vitality_lies_between_0_and_1_and_is_1_only_where_floats_saturate(sql: Query, case: Case) -> None:
    [row] = ask(sql, TERMS, [case])
    assert 0 < row["vitality"] <= 1
    assert (row["vitality"] < 1) == (row["activation"] < 2**53)
    assert min(row[name] for name in ("recent", "tail", "spread", "revival")) >= 0
    assert row["tail"] == 0 or case.summary.count > len(case.summary.recent)


@LAW
@given(
    st.lists(st.sampled_from([YEAR_1, 0.0, NOW, YEAR_9999]) | st.floats(YEAR_1, YEAR_9999), min_size=1),
    st.integers(0, 2**62),
    st.sampled_from([YEAR_1, NOW, YEAR_9999]) | st.floats(YEAR_1, YEAR_9999),
    st.sampled_from([LayerRates(1000, "clock", 10), LayerRates(0.001, "clock", 10), LayerRates(0.001)])
    | rates,
    surroundings,
    weights | st.just(VitalityWeights(10, 0.01, 100, 100, 3650, 1, 1000, 0)),
    st.booleans(),
)
def test_extreme_input_never_raises(
    sql: Query,
    times: list[float],
    evicted: int,
    now: float,
    layer: LayerRates,
    around: dict[str, Any],
    tuned: VitalityWeights,
    pinned: bool,
) -> None:
    summary = AccessSummary.of(times)
    summary = AccessSummary(summary.count + evicted, summary.first, summary.recent)
    [row] = ask(sql, TERMS, [Case(summary, now, layer, tuned, around, pinned)])
    assert 0 < row["vitality"] <= 1
    assert 0 < row["retention"] <= 1
    assert math.isfinite(row["base"])


# The same of what is stored

uses = st.builds(
    Use,
    st.integers(0, 100 * 86_400) | st.integers(0, 900),
    st.sampled_from(["write", "read", "used", "retrieval"]),
    st.sampled_from([None, "s"]),
)


def vitality(sql: Query, memory: int, now: datetime) -> float:
    return float(sql("SELECT recall.vitality(%s, %s) AS v", (memory, now))[0]["v"])


@LAW
@given(st.lists(uses, max_size=12), uses)
def test_using_a_memory_now_never_makes_it_less_lively(sql: Query, happened: list[Use], last: Use) -> None:
    memory = note(sql, uuid.uuid4().hex)
    now = BIRTH + timedelta(days=100, seconds=1000)
    record(sql, [item(memory, use) for use in happened], now)
    before = vitality(sql, memory, now)
    use = {"memory_id": memory, "kind": last.kind, "session_id": last.session, "at": now}
    record(sql, [use], now)
    after = vitality(sql, memory, now)
    assert after * HAIR >= before
    record(sql, [use | {"kind": "used", "session_id": None}], now)
    assert vitality(sql, memory, now) > after


@pytest.mark.parametrize("burst", [0, 10])
def test_a_late_use_that_joins_two_bursts_is_the_one_that_can_lower(sql: Query, burst: float) -> None:
    """What it closes was counted as two before: the log now says it was one run of uses."""
    sql("SELECT recall.set_setting('access.burst_minutes', %s)", (burst,))
    memory = note(sql)
    now = BIRTH + timedelta(days=1)
    record(sql, [item(memory, Use(second, "used", "s")) for second in (1000, 2000)], now)
    before = vitality(sql, memory, now)
    record(sql, [item(memory, Use(1500, "used", "s"))], now)
    assert (vitality(sql, memory, now) < before) == (burst > 0)
