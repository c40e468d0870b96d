"""Spreading on use: whom it reaches, what is stored of it, and that the log tells it all again."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.databases import Query
from tests.integration.access.use_tools import BIRTH, Use, fold_all, join, log_later, note, notes, stored, use
from tests.model.spreading import spread_targets
from tests.scale import SCALE

LAW = settings(
    max_examples=25 * SCALE,
    deadline=None,
    derandomize=SCALE == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
DAY = timedelta(days=1)
CARRYING = ("links_to", "next", "mentions", "part_of", "implies", "supports", "derived_from")
OTHERS = ("contradicts", "supersedes", "co_access")


@dataclass(frozen=True)
class Edge:
    src: int
    dst: int
    relation: str
    weight: float
    late: bool


def configure(sql: Query, **rules: float) -> None:
    for name, value in rules.items():
        sql("SELECT recall.set_setting(%s, %s)", (f"spread.{name}", value))


def targets(sql: Query, memory: int, utility: float, at: datetime) -> dict[int, float]:
    rows = sql("SELECT * FROM recall_private.spread_targets('acme', %s, %s, %s)", (memory, utility, at))
    found = {row["id"]: row["amount"] for row in rows}
    assert len(found) == len(rows)
    return found


# Whom it reaches

places = st.integers(0, 5)
edges = st.builds(
    Edge,
    places,
    places,
    st.sampled_from(CARRYING * 4 + OTHERS),
    st.sampled_from([0.05, 0.3, 1.0, 7.0]),
    st.sampled_from([False] * 7 + [True]),
)
rules = st.fixed_dictionaries(
    {
        "damping": st.floats(0.05, 1),
        "hops": st.sampled_from([0, 1, 2, 2, 2, 2]),
        "fan_out": st.integers(1, 6),
        "fan_exponent": st.just(0.0) | st.floats(1e-9, 2),
        "limit": st.sampled_from([1, 3, 32]),
    }
)


@LAW
@given(
    st.lists(edges, min_size=6, max_size=24),
    rules,
    st.sets(st.integers(1, 5), max_size=1),
    st.floats(0.01, 1),
)
def test_an_access_reaches_whom_the_mathematics_says(
    sql: Query, graph: list[Edge], rule: dict[str, Any], archived: set[int], utility: float
) -> None:
    configure(sql, **rule)
    at = BIRTH + 5 * DAY
    ids = [note(sql, uuid.uuid4().hex) for _ in range(6)]
    # A link made twice keeps its last weight and its first time.
    links: dict[tuple[int, int, str], tuple[float, bool]] = {}
    for edge in graph:
        if edge.src != edge.dst:
            join(sql, ids[edge.src], ids[edge.dst], edge.relation, edge.weight, at + DAY * edge.late)
            place = (edge.src, edge.dst, edge.relation)
            links[place] = (edge.weight, links.get(place, (0, edge.late))[1])
    for place in archived:
        sql("SELECT recall.forget(%s, p_now => %s)", (ids[place], at))

    def neighbours(place: int) -> list[tuple[int, float]]:
        best: dict[int, float] = {}
        for (src, dst, relation), (weight, late) in links.items():
            other = {src: dst, dst: src}.get(place)
            if other is not None and relation in CARRYING and not late and other not in archived:
                best[other] = max(weight, best.get(other, 0.0))
        return sorted(best.items(), key=lambda entry: (-entry[1], entry[0]))

    expected = spread_targets(0, neighbours, utility, **rule)
    found = targets(sql, ids[0], utility, at)
    assert found == pytest.approx({ids[place]: amount for place, amount in expected.items()}, rel=1e-12)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_two_hops_each_damped_and_divided_by_the_root_of_the_fan(sql: Query, now: datetime) -> None:
    a, b, c, d = notes(sql, 4)
    join(sql, a, b)
    join(sql, c, b, "mentions")
    join(sql, c, d)
    use(sql, a, now)
    moment = now.timestamp()
    assert stored(sql, b) == (pytest.approx(0.6, rel=1e-12), moment)
    assert stored(sql, c) == (pytest.approx(0.36 / math.sqrt(2), rel=1e-12), moment)
    assert stored(sql, d) == stored(sql, a) == (0, None)


def test_what_is_near_is_not_reached_again_by_a_richer_detour(sql: Query, now: datetime) -> None:
    a, b, c = notes(sql, 3)
    join(sql, a, b)
    join(sql, b, c)
    join(sql, a, c, weight=0.01)
    found = targets(sql, a, 1, now)
    assert found == {b: pytest.approx(0.6 / math.sqrt(2)), c: pytest.approx(0.006 / math.sqrt(2))}


@pytest.mark.parametrize("relation", OTHERS)
def test_correction_and_habit_do_not_carry(sql: Query, now: datetime, relation: str) -> None:
    a, b = notes(sql, 2)
    join(sql, a, b, relation)
    use(sql, a, now)
    use(sql, b, now)
    assert (stored(sql, a), stored(sql, b)) == ((0, None), (0, None))


def test_a_late_access_spreads_over_the_links_there_were(sql: Query, now: datetime) -> None:
    a, b, c = notes(sql, 3)
    join(sql, a, b, at=now - 4 * DAY)
    join(sql, a, c, at=now - 2 * DAY)
    use(sql, a, now, at=now - 3 * DAY)
    assert stored(sql, b) == (pytest.approx(0.6), (now - 3 * DAY).timestamp())
    assert stored(sql, c) == (0, None)


# What spreads


@pytest.mark.parametrize(
    ("kind", "spreads"),
    [("read", True), ("reference", True), ("used", True), ("write", False), ("retrieval", False)],
)
def test_only_uses_spread(sql: Query, now: datetime, kind: str, spreads: bool) -> None:
    a, b = notes(sql, 2)
    join(sql, a, b)
    use(sql, a, now, kind)
    assert stored(sql, b)[0] == (pytest.approx(0.6) if spreads else 0)


def test_what_a_search_shows_does_not_spread(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    join(sql, a, b)
    log_later(sql, a, Use(60, "retrieval"), 0.1, now)
    fold_all(sql)
    assert stored(sql, b) == (0, None)


@pytest.mark.parametrize(("weight", "share"), [(0, 0), (0.5, 0.3), (1, 0.6), (20, 0.6)])
def test_an_access_spreads_as_much_as_it_counts_and_no_more_than_one(
    sql: Query, now: datetime, weight: float, share: float
) -> None:
    sql("SELECT recall.set_setting('access.weight_used', %s)", (weight,))
    a, b = notes(sql, 2)
    join(sql, a, b)
    use(sql, a, now)
    assert stored(sql, b)[0] == pytest.approx(share)


@pytest.mark.parametrize(("days", "spreads"), [(69.99, True), (70.01, False), (140, False)])
def test_an_access_of_ten_half_lives_ago_does_not_spread(
    sql: Query, now: datetime, days: float, spreads: bool
) -> None:
    a, b = notes(sql, 2)
    join(sql, a, b)
    use(sql, a, now, at=now - days * DAY)
    assert (stored(sql, b)[0] > 0) == spreads


def test_a_longer_half_life_has_a_longer_reach(sql: Query, now: datetime) -> None:
    sql("SELECT recall.set_setting('vitality.spread_half_life_days', 20)")
    a, b = notes(sql, 2)
    join(sql, a, b)
    use(sql, a, now, at=now - 140 * DAY)
    assert stored(sql, b)[0] == pytest.approx(0.6)


@pytest.mark.parametrize("rule", [{"hops": 0}, {"damping": 0}])
def test_spreading_can_be_switched_off(sql: Query, now: datetime, rule: dict[str, float]) -> None:
    configure(sql, **rule)
    a, b = notes(sql, 2)
    join(sql, a, b)
    use(sql, a, now)
    assert stored(sql, b) == (0, None)
    assert sql("SELECT spread_to FROM recall.access WHERE kind = 'used'") == [{"spread_to": None}]


@pytest.mark.parametrize("weight", [1e-300, 1e-160, 100.0])
def test_extreme_links_never_raise(sql: Query, now: datetime, weight: float) -> None:
    a, b, c = notes(sql, 3)
    join(sql, a, b, weight=weight)
    join(sql, b, c, weight=weight)
    sql("SELECT recall.set_setting('vitality.spread_half_life_days', 0.01)")
    for day in range(3):
        use(sql, a, now + 30 * day * DAY)
        use(sql, b, now + 30 * day * DAY, at=now - 0.05 * DAY)
    for memory in (a, b, c):
        [terms] = sql("SELECT * FROM recall.explain_vitality(%s, %s)", (memory, now + 4000 * DAY))
        assert 0 < terms["vitality"] < 1
