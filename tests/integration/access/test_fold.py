"""The fold: whatever arrives in whatever order and however often it is folded, the summary is the log's."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.databases import Query
from tests.integration.access.use_tools import (
    BIRTH,
    KIND_WEIGHTS,
    Use,
    expected_fold,
    fold_all,
    fold_once,
    folded,
    item,
    log_later,
    note,
    notes,
    rebuild,
    record,
    state,
    waiting,
)
from tests.scale import SCALE

LAW = settings(
    max_examples=30 * SCALE,
    deadline=None,
    derandomize=SCALE == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MONTHS = 150 * 86_400
EDGES = [0.0, 599.999999, 600.0, 600.000001, 1199.0, 1200.0]

moments = (
    st.integers(-300, MONTHS) | st.sampled_from(EDGES) | st.integers(0, 40).map(lambda tick: 150.0 * tick)
)
uses = st.builds(Use, moments, st.sampled_from(sorted(KIND_WEIGHTS)), st.sampled_from([None, "s", "t"]))
arrivals = st.tuples(st.just("record"), st.lists(uses, min_size=1, max_size=8)) | st.tuples(
    st.just("show"), st.lists(uses, min_size=1, max_size=4)
)
jobs = st.tuples(st.sampled_from(["fold", "fold one", "rebuild"]), st.lists(uses, max_size=0))
histories = st.lists(arrivals | jobs, min_size=1, max_size=12)
parts = st.sampled_from([0.0, 1e-6, 0.1, 0.25, 1 / 3, 1.0, 1.5, 2.75, 12.0])
weightings = st.just(KIND_WEIGHTS) | st.fixed_dictionaries(dict.fromkeys(KIND_WEIGHTS, parts))
births = st.sampled_from([1.0, 2.0, 2.5, 9.3])
burst_minutes = st.sampled_from([10.0, 10.0, 0.0, 2.5])


def tune(sql: Query, weights: dict[str, float], minutes: float, birth: float) -> None:
    """Gives the tenant these weights, this burst and a layer ``own`` of this birth weight."""
    for kind, weight in weights.items():
        sql("SELECT recall.set_setting(%s, %s)", (f"access.weight_{kind}", weight))
    sql("SELECT recall.set_setting('access.burst_minutes', %s)", (minutes,))
    sql(
        "INSERT INTO recall.layer (tenant, name, metabolic_rate, birth_weight) VALUES ('acme', 'own', 1, %s) "
        "ON CONFLICT (tenant, name) DO UPDATE SET birth_weight = excluded.birth_weight",
        (birth,),
    )


def live(
    sql: Query, memory: int, history: list[tuple[str, list[Use]]], weights: dict[str, float]
) -> list[Use]:
    """Lets all of it happen to a memory; returns its uses in the order in which they arrived."""
    now = BIRTH + timedelta(seconds=MONTHS)
    arrived: list[Use] = []
    for step, happened in history:
        # A batch is logged in order of time.
        batch = sorted(happened, key=lambda use: use.at) if step == "record" else happened
        arrived += batch
        if step == "record":
            assert record(sql, [item(memory, use) for use in happened], now) == len(happened)
        elif step == "show":
            for use in happened:
                log_later(sql, memory, use, weights[use.kind], now)
        elif step == "rebuild":
            rebuild(sql, [memory])
        else:
            fold_once(sql, 1 if step == "fold one" else 1000)
    return arrived


# The law


@LAW
@given(histories, weightings, births, burst_minutes)
def test_the_summary_is_the_fold_of_all_that_was_logged(
    sql: Query,
    history: list[tuple[str, list[Use]]],
    weights: dict[str, float],
    birth: float,
    minutes: float,
) -> None:
    tune(sql, weights, minutes, birth)
    memory = note(sql, uuid.uuid4().hex, layer="own")
    arrived = live(sql, memory, history, weights)
    fold_all(sql, 3)
    expected = expected_fold(arrived, birth=birth, weights=weights, burst_seconds=60 * minutes)
    assert folded(state(sql, memory)) == expected
    before = state(sql, memory)
    assert (rebuild(sql, [memory]), waiting(sql)) == (0, 0)
    assert state(sql, memory) == before


@LAW
@given(st.lists(uses, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(sql: Query, happened: list[Use], random: Any) -> None:
    now = BIRTH + timedelta(seconds=MONTHS)
    # Of repeats at one moment the first to arrive counts, and they weigh the same.
    shuffled = random.sample(happened, len(happened))
    outcomes = []
    for order in (happened, shuffled):
        memory = note(sql, uuid.uuid4().hex)
        for use in order:
            record(sql, [item(memory, use)], now)
        outcomes.append(folded(state(sql, memory)))
    assert outcomes[0] == outcomes[1]


@LAW
@given(st.lists(uses, min_size=1, max_size=15))
def test_folding_everything_again_changes_nothing(sql: Query, happened: list[Use]) -> None:
    now = BIRTH + timedelta(seconds=MONTHS)
    memory = note(sql, uuid.uuid4().hex)
    for use in happened:
        log_later(sql, memory, use, KIND_WEIGHTS[use.kind], now)
    queue = sql("SELECT memory_ids, at FROM recall.access_queue")
    assert fold_all(sql) == len(happened)
    once = state(sql, memory)
    for row in queue:
        sql(
            "INSERT INTO recall.access_queue (tenant, memory_ids, at) "
            "VALUES ('acme', %(memory_ids)s, %(at)s)",
            row,
        )
    assert fold_all(sql, 2) == len(happened)
    assert state(sql, memory) == once
    assert folded(once) == expected_fold(happened)


# Bursts


@pytest.mark.parametrize(
    ("happened", "accesses"),
    [
        ([Use(second, session="s") for second in (1, 1.2, 1.4, 1.6, 1.8)], 1),
        ([Use(1, session="s"), Use(2, session="t")], 2),
        ([Use(1, session="s"), Use(2, "used", "s")], 2),
        ([Use(1, session="s"), Use(601, session="s")], 2),
        ([Use(1, session="s"), Use(600.999999, session="s")], 1),
        ([Use(1, session="s"), Use(500, session="s"), Use(1000, session="s")], 1),
        ([Use(1, session="s"), Use(1000, session="s"), Use(500, session="s")], 1),
        ([Use(1), Use(1), Use(1.5)], 3),
        ([Use(1, session=""), Use(2, session="")], 1),
    ],
)
def test_repeats_of_a_session_within_ten_minutes_count_once(
    sql: Query, now: datetime, happened: list[Use], accesses: int
) -> None:
    one_by_one, at_once, shown = notes(sql, 3)
    for use in happened:
        record(sql, [item(one_by_one, use)], now)
        log_later(sql, shown, use, 1, now)
    record(sql, [item(at_once, use) for use in happened], now)
    fold_all(sql)
    assert [state(sql, memory)["n"] for memory in (one_by_one, at_once, shown)] == [1 + accesses] * 3


def test_without_a_burst_every_repeat_counts(sql: Query, now: datetime) -> None:
    sql("SELECT recall.set_setting('access.burst_minutes', 0)")
    memory = note(sql)
    record(sql, [item(memory, Use(second, session="s")) for second in (1, 1, 2)], now)
    assert state(sql, memory)["n"] == 4


def test_a_burst_of_ten_retrievals_is_a_tenth(sql: Query, now: datetime) -> None:
    memory = note(sql)
    record(sql, [item(memory, Use(second, "retrieval", "s")) for second in range(1, 11)], now)
    assert (state(sql, memory)["n"], state(sql, memory)["credit"]) == (1, pytest.approx(0.1, abs=1e-9))


# The queue


def test_what_a_search_logged_counts_once_it_is_folded(sql: Query, now: datetime) -> None:
    memory = note(sql)
    for second in range(10):
        log_later(sql, memory, Use(second, "retrieval"), 0.1, now)
    assert state(sql, memory)["n"] == 1
    assert fold_once(sql, 4) == 4
    assert state(sql, memory)["credit"] == pytest.approx(0.4, abs=1e-9)
    assert [fold_once(sql, 4) for _ in range(3)] == [4, 2, 0]
    assert (state(sql, memory)["n"], state(sql, memory)["credit"]) == (2, 0)


def test_a_fold_takes_only_what_its_tenant_logged(sql: Query, now: datetime) -> None:
    ours = note(sql)
    theirs = note(sql, tenant="other")
    for tenant, memory in (("acme", ours), ("other", theirs)):
        sql("INSERT INTO recall.access (tenant, memory_id, kind, weight, at) VALUES (%s, %s, 'used', 1, %s)",
            (tenant, memory, now))  # fmt: skip
        sql("INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES (%s, ARRAY[%s, %s], %s)",
            (tenant, ours, theirs, now))  # fmt: skip
    assert fold_all(sql) == 1
    assert (state(sql, ours)["n"], state(sql, theirs)["n"]) == (2, 1)
    assert sql("SELECT tenant FROM recall.access_queue") == [{"tenant": "other"}]


def test_a_search_that_found_what_was_forgotten_since_is_folded(sql: Query, now: datetime) -> None:
    gone, kept = notes(sql, 2)
    for memory in (gone, kept):
        log_later(sql, memory, Use(60), 1, now)
    sql("SELECT recall.forget(%s, true)", (gone,))
    assert fold_all(sql) == 2
    assert state(sql, kept)["n"] == 2
