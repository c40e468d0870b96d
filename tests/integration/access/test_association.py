"""Co-access: what is used together in a session is associated, counted once a session and fading."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.databases import Query
from tests.integration.access.use_tools import Use, fold_all, log_later, note, notes, rebuild, record, state
from tests.scale import SCALE

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
HALF_LIFE = 30 * DAY


def use(
    sql: Query, memory: int, session: str | None, at: datetime, now: datetime, kind: str = "used"
) -> None:
    record(sql, [{"memory_id": memory, "kind": kind, "session_id": session, "at": at}], now)


def pairs(sql: Query) -> dict[tuple[int, int], float]:
    rows = sql("SELECT src, dst, weight FROM recall.link WHERE relation = 'co_access'")
    return {(row["src"], row["dst"]): row["weight"] for row in rows}


def associates(sql: Query, memory: int, now: datetime, limit: int = 32) -> list[dict[str, Any]]:
    return sql("SELECT * FROM recall.associates(%s, %s, %s)", (memory, limit, now))


# What is counted


def test_two_memories_of_a_session_get_one_link(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    use(sql, b, "s", now - MINUTE, now)
    assert pairs(sql) == {}
    use(sql, a, "s", now, now)
    [link] = sql("SELECT * FROM recall.link")
    assert (link["src"], link["dst"], link["relation"], link["weight"]) == (a, b, "co_access", 1)
    assert (link["created_at"], link["strengthened_at"], link["drafted"]) == (now, now, False)


def test_a_second_session_adds_and_the_first_has_faded(sql: Query, now: datetime) -> None:
    sql("SELECT recall.set_setting('association.half_life_days', 30)")
    a, b = notes(sql, 2)
    for session, at in (("s", now - HALF_LIFE), ("t", now)):
        use(sql, a, session, at, now)
        use(sql, b, session, at, now)
    assert pairs(sql) == {(a, b): pytest.approx(1.5, rel=1e-12)}
    assert [state(sql, memory)["sessions"] for memory in (a, b)] == [pytest.approx(1.5, rel=1e-12)] * 2


def test_repeated_use_in_a_session_adds_nothing(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    for minutes in range(9, 0, -1):
        for memory, kind in ((a, "used"), (b, "read"), (a, "reference")):
            use(sql, memory, "s", now - 15 * minutes * MINUTE, now, kind)
    assert pairs(sql) == {(a, b): 1}
    assert [state(sql, memory)["sessions"] for memory in (a, b)] == [1, 1]


@pytest.mark.parametrize(
    ("sessions", "kinds", "apart"),
    [
        (("s", "t"), ("used", "used"), 0),
        ((None, None), ("used", "used"), 0),
        (("s", "s"), ("used", "retrieval"), 0),
        (("s", "s"), ("write", "used"), 0),
        (("s", "s"), ("used", "used"), 61),
    ],
)
def test_what_is_not_used_together_is_not_associated(
    sql: Query, now: datetime, sessions: tuple[str | None, ...], kinds: tuple[str, str], apart: int
) -> None:
    a, b = notes(sql, 2)
    use(sql, a, sessions[0], now - apart * MINUTE, now, kinds[0])
    use(sql, b, sessions[1], now, now, kinds[1])
    assert pairs(sql) == {}


def test_what_a_search_showed_is_not_associated(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    for memory in (a, b):
        log_later(sql, memory, Use(60, "retrieval", "s"), 0.1, now)
    fold_all(sql)
    assert (pairs(sql), state(sql, a)["sessions"]) == ({}, 0)


def test_a_kind_that_counts_nothing_is_not_associated(sql: Query, now: datetime) -> None:
    sql("SELECT recall.set_setting('access.weight_read', 0)")
    a, b = notes(sql, 2)
    use(sql, a, "s", now, now)
    use(sql, b, "s", now, now, "read")
    assert pairs(sql) == {}


@pytest.mark.parametrize(("window", "associated"), [(30, True), (29, False)])
def test_the_window_is_a_setting(sql: Query, now: datetime, window: float, associated: bool) -> None:
    sql("SELECT recall.set_setting('association.window_minutes', %s)", (window,))
    a, b = notes(sql, 2)
    use(sql, a, "s", now - 30 * MINUTE, now)
    use(sql, b, "s", now, now)
    assert bool(pairs(sql)) == associated


def test_sessions_of_another_tenant_are_others(sql: Query, now: datetime) -> None:
    ours, theirs = note(sql), note(sql, tenant="other")
    call = "SELECT recall.record_access(%s, 'used', p_session_id => 's', p_now => %s)"
    sql(call, (theirs, now), tenant="other")
    sql(call, (ours, now))
    assert pairs(sql) == {}


@settings(
    max_examples=20 * SCALE,
    deadline=None,
    derandomize=SCALE == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 59)), min_size=2, max_size=8), st.data())
def test_late_and_batched_uses_of_a_session_count_once(
    sql: Query, happened: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Whatever the order and batching in which the uses of a short session arrive."""
    now = datetime.fromisoformat("2026-06-01T12:00Z")
    session = uuid.uuid4().hex
    ids = [note(sql, f"{session} {place}") for place in range(4)]
    items = [
        {"memory_id": ids[place], "kind": "used", "session_id": session, "at": now - minute * MINUTE}
        for place, minute in happened
    ]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(items) - 1))))
    for start, end in pairwise([0, *cuts, len(items)]):
        record(sql, items[start:end], now)
    used = sorted({ids[place] for place, _ in happened})
    ours = {pair: weight for pair, weight in pairs(sql).items() if set(pair) <= set(ids)}
    assert ours == dict.fromkeys(combinations(used, 2), 1)
    assert [state(sql, memory)["sessions"] for memory in used] == [1] * len(used)


def test_sessions_of_one_batch_fade_as_if_they_came_one_by_one(sql: Query, now: datetime) -> None:
    sql("SELECT recall.set_setting('association.half_life_days', 30)")
    outcomes = []
    for batched in (True, False):
        ids = [note(sql, f"{place} {batched}") for place in range(2)]
        items = [
            {"memory_id": memory, "session_id": f"{batched} {days}", "at": now - days * DAY}
            for days in (90, 60, 30, 0)
            for memory in ids
        ]
        for batch in [items] if batched else [[single] for single in items]:
            record(sql, batch, now)
        outcomes.append((pairs(sql)[(ids[0], ids[1])], [state(sql, memory)["sessions"] for memory in ids]))
    expected = pytest.approx(1 + 1 / 2 + 1 / 4 + 1 / 8, rel=1e-12)
    assert outcomes == [(expected, [expected] * 2)] * 2


def test_an_idempotency_key_seen_before_associates_nothing(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    item = {"memory_id": a, "kind": "used", "session_id": "s", "idempotency_key": "x"}
    record(sql, [item], now)
    record(sql, [item | {"memory_id": b}], now)
    assert pairs(sql) == {}


# Bounds


def test_a_crowded_session_joins_each_memory_to_its_eight_nearest_in_time(sql: Query, now: datetime) -> None:
    ids = notes(sql, 12)
    for minute, memory in enumerate(ids):
        use(sql, memory, "s", now - (20 - minute) * MINUTE, now)
    assert set(pairs(sql)) == {(ids[i], ids[j]) for i, j in combinations(range(12), 2) if j - i <= 8}


def test_all_that_is_used_at_one_moment_is_associated_with_something(sql: Query, now: datetime) -> None:
    ids = notes(sql, 30)
    record(sql, [{"memory_id": memory, "session_id": "s"} for memory in ids], now)
    circle = {tuple(sorted((ids[i], ids[(i + step) % 30]))) for i in range(30) for step in range(1, 9)}
    assert set(pairs(sql)) == circle


def test_a_memory_keeps_its_strongest_associates(sql: Query, now: datetime) -> None:
    sql("SELECT recall.set_setting('association.fan_out', 3)")
    hub, *others = notes(sql, 6)
    for place, other in enumerate(others):
        sessions = 1 if place == 2 else 2
        for turn in range(sessions):
            at = now - (30 - place) * DAY
            record(
                sql,
                [{"memory_id": memory, "session_id": f"{place} {turn}", "at": at} for memory in (hub, other)],
                now,
            )
    # The third is the weakest; among equals the older ones have faded more. The last came when all was full.
    assert set(pairs(sql)) == {(hub, others[place]) for place in (1, 3, 4)}


def test_a_count_never_exceeds_what_a_link_can_hold(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    items = [{"memory_id": memory, "session_id": str(turn)} for turn in range(120) for memory in (a, b)]
    record(sql, items, now)
    assert pairs(sql) == {(a, b): 100}
    use(sql, a, "last", now, now)
    use(sql, b, "last", now, now)
    assert pairs(sql) == {(a, b): 100}


def test_association_is_no_reference_and_carries_no_spreading(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    for session in ("s", "t"):
        use(sql, a, session, now, now)
        use(sql, b, session, now, now)
    rebuild(sql)
    for memory in (a, b):
        row = state(sql, memory)
        assert (row["in_degree"], row["last_linked_at"], row["spread"]) == (0, None, 0)


def test_one_of_the_session_may_have_been_forgotten(sql: Query, now: datetime) -> None:
    a, b, c = notes(sql, 3)
    for memory in (a, b):
        use(sql, memory, "s", now, now)
    sql("SELECT recall.forget(%s, true)", (a,))
    use(sql, c, "s", now, now)
    assert pairs(sql) == {(b, c): 1}


# What it comes to


def test_the_association_is_the_share_of_its_own_sessions_by_hand(sql: Query, now: datetime) -> None:
    """a in sessions 1 2 3, b in 1 2, c in 3 4 5 6: c_ab = 2, c_ac = 1."""
    a, b, c = notes(sql, 3)
    sessions = {"1": (a, b), "2": (a, b), "3": (a, c), "4": (c,), "5": (c,), "6": (c,)}
    for session, members in sessions.items():
        record(sql, [{"memory_id": memory, "session_id": session} for memory in members], now)
    assert associates(sql, a, now) == [
        {"memory_id": b, "sessions": 2, "association": pytest.approx(2 / (3 + 1), rel=1e-12)},
        {"memory_id": c, "sessions": 1, "association": pytest.approx(1 / (3 + 1), rel=1e-12)},
    ]
    assert associates(sql, b, now) == [
        {"memory_id": a, "sessions": 2, "association": pytest.approx(2 / (2 + 1), rel=1e-12)}
    ]
    assert [row["memory_id"] for row in associates(sql, a, now, 1)] == [b]


def test_an_association_fades_with_its_counts(sql: Query, now: datetime) -> None:
    sql("SELECT recall.set_setting('association.half_life_days', 30)")
    a, b = notes(sql, 2)
    for session, members in (("1", (a, b)), ("2", (a,))):
        record(sql, [{"memory_id": memory, "session_id": session} for memory in members], now)
    for half_lives in (0, 1, 12):
        [row] = associates(sql, a, now + half_lives * HALF_LIFE)
        assert row["sessions"] == pytest.approx(0.5**half_lives, rel=1e-9)
        left = 0.5**half_lives
        assert row["association"] == pytest.approx(left / (2 * left + 1), rel=1e-9)


def test_sessions_apart_in_time_by_hand(sql: Query, now: datetime) -> None:
    """One session together a half-life ago; since then a alone, once."""
    sql("SELECT recall.set_setting('association.half_life_days', 30)")
    a, b = notes(sql, 2)
    for memory in (a, b):
        use(sql, memory, "old", now - HALF_LIFE, now)
    use(sql, a, "new", now, now)
    [row] = associates(sql, b, now)
    assert row == {
        "memory_id": a,
        "sessions": pytest.approx(0.5, rel=1e-12),
        "association": pytest.approx(0.5 / (0.5 + 1), rel=1e-12),
    }


def test_the_half_life_is_a_setting(sql: Query, now: datetime) -> None:
    sql("SELECT recall.set_setting('association.half_life_days', 2)")
    a, b = notes(sql, 2)
    for memory in (a, b):
        use(sql, memory, "s", now - 4 * DAY, now)
    assert associates(sql, a, now)[0]["sessions"] == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("years", [0, 10, 200, 5000])
def test_no_distance_in_time_raises(sql: Query, now: datetime, years: int) -> None:
    sql("SELECT recall.set_setting('association.half_life_days', 0.01)")
    a, b = notes(sql, 2)
    for turn in range(2):
        for memory in (a, b):
            use(sql, memory, f"{turn}", now + turn * years * 365 * DAY, now + turn * years * 365 * DAY)
    for later in (0, 1, 100, 2000):
        [row] = associates(sql, a, now + (turn * years + later) * 365 * DAY)
        assert 0 <= row["association"] < 1


def test_associated_by_hand_and_never_used_is_no_association(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    sql("SELECT recall.link(%s, %s, 'co_access', 1e-300, %s)", (b, a, now))
    assert associates(sql, a, now) == [{"memory_id": b, "sessions": 0, "association": None}]
    for memory in (a, b):
        use(sql, memory, "s", now + DAY, now + DAY)
    assert {row["memory_id"] for row in associates(sql, a, now + DAY)} == {b}


def test_no_session_no_associates(sql: Query, now: datetime) -> None:
    memory = note(sql)
    assert associates(sql, memory, now) == []
    assert associates(sql, 4711, now) == []
