"""What is kept of spreading: boosts that add up, halve and are told by the log again."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.databases import Query
from tests.integration.access.use_tools import (
    BIRTH,
    Use,
    item,
    join,
    note,
    notes,
    rebuild,
    record,
    stored,
    use,
)
from tests.model.spreading import add_spread
from tests.scale import SCALE

LAW = settings(
    max_examples=20 * SCALE,
    deadline=None,
    derandomize=SCALE == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
DAY = timedelta(days=1)

steps = st.tuples(
    st.integers(0, 30 * 86_400), st.sampled_from(["used", "read"]), st.sampled_from([None, "s"])
)
near = st.tuples(st.integers(0, 3000), st.sampled_from(["used", "read"]), st.sampled_from([None, "s"]))


@LAW
@given(
    st.lists(steps | near, min_size=1, max_size=12), st.sampled_from([0.2, 1.0]), st.sampled_from([0.5, 7.0])
)
def test_boosts_add_up_and_can_be_rebuilt_from_the_log(
    sql: Query, happened: list[tuple[int, str, str | None]], weight: float, half_life: float
) -> None:
    sql("SELECT recall.set_setting('vitality.spread_half_life_days', %s)", (half_life,))
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
