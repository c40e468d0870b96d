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

from pgrecall.vitality import add_spread, spread_targets
from tests.conftest import Query
from tests.integration.use_tools import (
    BIRTH,
    Use,
    fold_all,
    item,
    log_later,
    note,
    notes,
    rebuild,
    record,
    state,
)

LAW = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
DAY = timedelta(days=1)
CARRYING = ("links_to", "next", "mentions", "part_of", "implies", "supports")
OTHERS = ("contradicts", "supersedes", "co_access")


@dataclass(frozen=True)
class Edge:
    src: int
    dst: int
    relation: str
    weight: float
    late: bool


def join(
    sql: Query, src: int, dst: int, relation: str = "links_to", weight: float = 1, at: datetime = BIRTH
) -> None:
    sql("SELECT recall.link(%s, %s, %s, %s, %s)", (src, dst, relation, weight, at))


def use(sql: Query, memory: int, now: datetime, kind: str = "used", **options: Any) -> None:
    record(sql, [{"memory_id": memory, "kind": kind} | options], now)


def configure(sql: Query, **rules: float) -> None:
    for name, value in rules.items():
        sql("SELECT recall.configure(%s, %s)", (f"spread.{name}", value))


def targets(sql: Query, memory: int, utility: float, at: datetime) -> dict[int, float]:
    rows = sql("SELECT * FROM recall.spread_targets('acme', %s, %s, %s)", (memory, utility, at))
    return {row["id"]: row["amount"] for row in rows}


def stored(sql: Query, memory: int) -> tuple[float, float | None]:
    row = state(sql, memory)
    return row["spread"], row["spread_at"]


# Whom it reaches

places = st.integers(0, 7)
edges = st.builds(
    Edge,
    places,
    places,
    st.sampled_from(CARRYING * 3 + OTHERS),
    st.sampled_from([0.05, 0.3, 1.0, 7.0]),
    st.sampled_from([False, False, False, True]),
)
rules = st.fixed_dictionaries(
    {
        "damping": st.floats(0.05, 1),
        "hops": st.integers(0, 2),
        "fan_out": st.integers(1, 10),
        "fan_exponent": st.floats(0, 2),
        "limit": st.integers(1, 10),
    }
)


@LAW
@given(st.lists(edges, max_size=24), rules, st.sets(st.integers(1, 7), max_size=2), st.floats(0.01, 1))
def test_an_access_reaches_whom_the_mathematics_says(
    sql: Query, graph: list[Edge], rule: dict[str, Any], archived: set[int], utility: float
) -> None:
    configure(sql, **rule)
    at = BIRTH + 5 * DAY
    ids = [note(sql, uuid.uuid4().hex) for _ in range(8)]
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
    sql("SELECT recall.configure('access.weight_used', %s)", (weight,))
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
    sql("SELECT recall.configure('vitality.spread_half_life_days', 20)")
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
    sql("SELECT recall.configure('vitality.spread_half_life_days', 0.01)")
    for day in range(3):
        use(sql, a, now + 30 * day * DAY)
        use(sql, b, now + 30 * day * DAY, at=now - 0.05 * DAY)
    for memory in (a, b, c):
        [terms] = sql("SELECT * FROM recall.explain_vitality(%s, %s)", (memory, now + 4000 * DAY))
        assert 0 < terms["vitality"] < 1


# What is stored

steps = st.tuples(
    st.integers(0, 30 * 86_400), st.sampled_from(["used", "read"]), st.sampled_from([None, "s"])
)
near = st.tuples(st.integers(0, 3000), st.sampled_from(["used", "read"]), st.sampled_from([None, "s"]))


@LAW
@given(
    st.lists(steps | near, min_size=1, max_size=12), st.sampled_from([0.2, 1.0]), st.sampled_from([0.5, 7.0])
)
def test_boosts_add_up_as_they_arrive_and_the_log_tells_them_again(
    sql: Query, happened: list[tuple[int, str, str | None]], weight: float, half_life: float
) -> None:
    sql("SELECT recall.configure('vitality.spread_half_life_days', %s)", (half_life,))
    now = BIRTH + timedelta(seconds=86_400 * 10 * half_life)
    used, linked = (note(sql, uuid.uuid4().hex) for _ in range(2))
    join(sql, used, linked, weight=weight)
    boost: float = 0.0
    boosted_at: float | None = None
    seen: list[tuple[int, str, str | None]] = []
    for second, kind, session in happened:
        seconds = second % int(86_400 * 10 * half_life) + 1
        record(sql, [item(used, Use(seconds, kind, session))], now)
        repeats = session and any(
            (kind, session) == (k, s) and seconds - 600 < earlier <= seconds for earlier, k, s in seen
        )
        if not repeats:
            moment = BIRTH.timestamp() + seconds
            boost, boosted_at = add_spread(boost, boosted_at, 0.6 * weight, moment, half_life)
        seen.append((seconds, kind, session))
    value, at = stored(sql, linked)
    assert (value, at) == (pytest.approx(boost, rel=1e-12), boosted_at)
    assert 0 <= value <= 1
    assert rebuild(sql, [used, linked]) == 0
    assert stored(sql, linked) == (value, at)


def test_the_stored_boost_is_capped_at_one_and_halves_in_a_week(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    join(sql, a, b)
    for _ in range(3):
        use(sql, a, now)
    assert stored(sql, b) == (1, now.timestamp())
    for weeks in (0, 1, 2):
        [terms] = sql("SELECT spread FROM recall.explain_vitality(%s, %s)", (b, now + weeks * 7 * DAY))
        assert terms["spread"] == pytest.approx(0.1 * 0.5**weeks, rel=1e-12)


def test_repeats_of_a_burst_spread_once(sql: Query, now: datetime) -> None:
    a, b, c = notes(sql, 3)
    join(sql, a, b)
    join(sql, c, b)
    record(sql, [item(a, Use(second, "used", "s")) for second in (0, 1, 2)], BIRTH + DAY)
    use(sql, a, BIRTH + DAY, at=BIRTH + timedelta(seconds=3), session_id="s")
    assert stored(sql, b)[0] == pytest.approx(0.6)
    use(sql, c, BIRTH + DAY, at=BIRTH + timedelta(seconds=3), session_id="s")
    assert stored(sql, b)[0] == pytest.approx(1)


def test_one_batch_is_the_same_as_one_by_one(sql: Query, now: datetime) -> None:
    chance_links = [(0, 2), (1, 2), (1, 3), (3, 4)]
    outcomes = []
    for batched in (True, False):
        ids = [note(sql, uuid.uuid4().hex) for _ in range(5)]
        for src, dst in chance_links:
            join(sql, ids[src], ids[dst], weight=0.4)
        items = [item(ids[place], Use(3600 * hour, "used")) for hour, place in enumerate((0, 1, 1, 3, 4, 0))]
        for batch in [items] if batched else [[single] for single in items]:
            record(sql, batch, BIRTH + DAY)
        outcomes.append([stored(sql, memory) for memory in ids])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "damage", ["spread = 0.1", "spread_at = spread_at - 5", "spread = 0, spread_at = NULL"]
)
def test_rebuilding_brings_a_boost_back(sql: Query, now: datetime, damage: str) -> None:
    a, b, _ = notes(sql, 3)
    join(sql, a, b)
    use(sql, a, now - 3 * DAY)
    use(sql, a, now)
    before = stored(sql, b)
    sql(f"UPDATE recall.activation SET {damage} WHERE memory_id = %s", (b,))
    assert rebuild(sql) == 1
    assert stored(sql, b) == before
    assert rebuild(sql) == 0


def test_what_was_spread_stays_when_its_link_or_source_goes(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    join(sql, a, b)
    use(sql, a, now)
    sql("SELECT recall.forget(%s, p_now => %s)", (a, now))
    assert stored(sql, b)[0] == pytest.approx(0.6)
    assert rebuild(sql) == 0


def test_what_was_spread_goes_with_a_source_that_is_forgotten_for_good(sql: Query, now: datetime) -> None:
    a, b, c = notes(sql, 3)
    join(sql, a, b)
    join(sql, b, c)
    use(sql, a, now - DAY)
    use(sql, c, now)
    sql("SELECT recall.forget(%s, true, %s)", (a, now))
    assert stored(sql, b) == (pytest.approx(0.6), now.timestamp())
    assert stored(sql, c) == (0, None)
    assert rebuild(sql) == 0
