"""What feedback adds up to: by memory, by rank, and as judged questions for calibration."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall import InvalidInput, Memory
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.access.use_tools import note, notes
from tests.integration.feedback.test_feedback import BIRTH, judge, show

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)


def by_memory(sql: Query, *arguments: Any, **options: Any) -> list[tuple[Any, ...]]:
    given = ", ".join(map(str, arguments))
    rows = sql(f"SELECT id, shown, used, rejected FROM recall.feedback_by_memory({given})", **options)
    return [tuple(row.values()) for row in rows]


def by_rank(sql: Query, **options: Any) -> list[dict[str, Any]]:
    return sql("SELECT * FROM recall.feedback_by_rank()", **options)


def propensities(sql: Query) -> list[float]:
    return [row["propensity"] for row in by_rank(sql)]


def fill(sql: Query, shown: int, uses: Sequence[int]) -> None:
    """A log of ``shown`` searches, each judged, in which the memory at rank r was used ``uses[r]`` times."""
    there = [row["id"] for row in sql("SELECT id FROM recall.memory ORDER BY id")]
    ids = [*there, *(note(sql, f"m{rank}", at=BIRTH) for rank in range(len(there), len(uses)))][: len(uses)]
    sql(
        "INSERT INTO recall.search_log (tenant, at, query, profile, shown) "
        "SELECT 'acme', %s, 'q', 'balanced', %s FROM generate_series(1, %s)",
        (NOW, ids, shown),
    )
    if shown > 1000:  # or every verdict's key is checked by the plan for an almost empty log
        sql("ANALYZE recall.search_log")
    sql(
        "INSERT INTO recall.judgement (tenant, search_id, memory_id, verdict, at) "
        "SELECT 'acme', s.id, u.id, CASE WHEN s.place <= u.uses THEN 'used' ELSE 'rejected' END, %s "
        "FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM recall.search_log) s "
        "CROSS JOIN unnest(%s::int[], %s::bigint[]) u(uses, id)",
        (NOW, [*uses], ids),
    )


def expected(shown: int, uses: Sequence[int], bias: float) -> list[float]:
    """The documented formula: 50 more shown at each rank, used as 1 / rank^bias says; relative to rank 1."""
    prior = [max(rank**-bias, 0.1) for rank in range(1, len(uses) + 1)]
    base = sum(uses) / (shown * sum(prior))
    rates = [(used + 50 * base * p) / (shown + 50) for used, p in zip(uses, prior, strict=True)]
    raw = [rate / rates[0] for rate in rates] if rates[0] else prior
    return [min(max(value, 0.1), 1.0) for value in raw]


# By memory


def test_shown_used_and_rejected_of_each_memory(sql: Query) -> None:
    a, b, c, d = notes(sql, 4, at=BIRTH)
    first, second = show(sql, [a, b, c]), show(sql, [b, a], at=NOW + DAY)
    show(sql, [b])
    judge(sql, "used", first, [a])
    judge(sql, "used", second, [a], NOW + DAY)
    judge(sql, "rejected", second, [b], NOW + DAY)
    assert by_memory(sql) == [(b, 3, 0, 1), (a, 2, 2, 0), (c, 1, 0, 0)]
    assert by_memory(sql, 50, True) == [(b, 3, 0, 1), (c, 1, 0, 0)]
    assert by_memory(sql, 1) == [(b, 3, 0, 1)]
    assert by_memory(sql, 50, False, f"'{(NOW + DAY).isoformat()}'") == [(b, 1, 0, 1), (a, 1, 1, 0)]
    assert by_memory(sql, tenant="other") == []
    [row] = sql("SELECT last_shown_at, key FROM recall.feedback_by_memory(1)")
    assert row == {"last_shown_at": NOW + DAY, "key": "k1"}
    assert d not in {row[0] for row in by_memory(sql)}


@pytest.mark.parametrize("limit", [0, -1, 10_001, "NULL"])
def test_limits_are_bounded(sql: Query, limit: Any) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=r"The limit is .* between 1 and 10,000"):
        by_memory(sql, limit)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=r"The limit is .* between 1 and 100,000"):
        sql(f"SELECT recall.feedback_qrels(p_limit => {limit if limit != 10_001 else 100_001})")


def test_the_client_refuses_what_no_integer_holds(memory: Memory) -> None:
    for limit in (0, 2**31, -(2**70)):
        with pytest.raises(InvalidInput, match="between 1 and 10,000"):
            memory.quality.feedback(limit=limit)
        with pytest.raises(InvalidInput, match="between 1 and 100,000"):
            memory.quality.qrels(limit=limit)


# By rank


def test_a_rank_counts_the_memories_shown_there(sql: Query) -> None:
    a, b, c = notes(sql, 3, at=BIRTH)
    first, second = show(sql, [a, b, c]), show(sql, [b, a])
    show(sql, [c, b, a])  # never judged
    judge(sql, "used", first, [b])
    judge(sql, "used", second, [a])
    judge(sql, "rejected", second, [b])
    told = [(r["shown"], r["judged"], r["used"], r["rejected"], r["use_rate"]) for r in by_rank(sql)]
    assert told == [(3, 2, 0, 1, 0.0), (3, 2, 2, 0, 1.0), (2, 1, 0, 0, 0.0)]
    assert by_rank(sql, tenant="other") == []


def test_without_verdicts_the_propensity_is_the_prior(sql: Query) -> None:
    show(sql, notes(sql, 15, at=BIRTH))
    assert propensities(sql) == pytest.approx([max(1 / rank, 0.1) for rank in range(1, 16)])
    assert {(row["judged"], row["use_rate"]) for row in by_rank(sql)} == {(0, None)}
    sql("SELECT recall.set_setting('feedback.position_bias', 0)")
    assert set(propensities(sql)) == {1.0}


def test_few_uses_say_little_and_many_say_all(sql: Query) -> None:
    fill(sql, 2, [1, 1, 1, 1])
    few = propensities(sql)
    sql("DELETE FROM recall.search_log")
    fill(sql, 5000, [2500, 2500, 2500, 2500])
    many = propensities(sql)
    assert few[3] == pytest.approx(0.25, abs=0.05)
    assert many[3] == pytest.approx(1, abs=0.02)


def test_rates_are_found_again(sql: Query) -> None:
    """Everything is equally relevant, and ranks are looked at as told: the estimate says how."""
    looked_at = [1.0, 0.8, 0.4, 0.3, 0.05]
    fill(sql, 20_000, [round(20_000 * 0.5 * share) for share in looked_at])
    assert propensities(sql) == pytest.approx([1.0, 0.8, 0.4, 0.3, 0.1], abs=0.01)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shown=st.integers(1, 60),
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=14),
    bias=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
def test_the_propensity_is_the_documented_formula(
    sql: Query, shown: int, shares: list[float], bias: float
) -> None:
    uses = [round(shown * share) for share in shares]
    sql("DELETE FROM recall.search_log")
    fill(sql, shown, uses)
    sql("SELECT recall.set_setting('feedback.position_bias', %s)", (bias,))
    found = propensities(sql)
    assert found == pytest.approx(expected(shown, uses, bias))
    assert all(0.1 <= value <= 1 for value in found)


# Judged questions


def qrels(sql: Query, arguments: str = "", **options: Any) -> list[dict[str, Any]]:
    return sql(f"SELECT * FROM recall.feedback_qrels({arguments})", **options)


def test_used_rejected_and_passed_over(sql: Query) -> None:
    ids = notes(sql, 5, at=BIRTH)
    search = show(sql, ids, "who?")
    judge(sql, "used", search, [ids[2]])
    judge(sql, "rejected", search, [ids[0], ids[4]])
    [told] = qrels(sql)
    assert (told["search_id"], told["query"], told["queries"], told["at"]) == (search, "who?", None, NOW)
    facts = ("id", "key", "rank", "verdict", "relevant")
    assert [tuple(one[fact] for fact in facts) for one in told["judgements"]] == [
        (ids[0], "k0", 1, "rejected", False),
        (ids[1], "k1", 2, "skipped", False),
        (ids[2], "k2", 3, "used", True),
        (ids[4], "k4", 5, "rejected", False),
    ]
    by_place = {row["rank"]: row["propensity"] for row in by_rank(sql)}
    assert all(one["propensity"] == pytest.approx(by_place[one["rank"]]) for one in told["judgements"])
    [strict] = qrels(sql, "p_skipped => false")
    assert [one["rank"] for one in strict["judgements"]] == [1, 3, 5]


def test_rejected_alone_passes_nothing_over(sql: Query) -> None:
    ids = notes(sql, 3, at=BIRTH)
    judge(sql, "rejected", show(sql, ids), [ids[2]])
    [told] = qrels(sql)
    assert [one["rank"] for one in told["judgements"]] == [3]


def test_only_judged_searches_with_words_are_exported(sql: Query) -> None:
    [a] = notes(sql, 1, at=BIRTH)
    show(sql, [a], "never judged")
    judge(sql, "used", show(sql, [a], ""), [a])
    assert qrels(sql) == []
    call = "SELECT recall.log_shown(%s, NULL, %s, '', NULL, ARRAY['x', 'y']) AS id"
    judge(sql, "used", sql(call, ([a], NOW))[0]["id"], [a])
    assert [(told["query"], told["queries"]) for told in qrels(sql)] == [("x", ["x", "y"])]
    assert qrels(sql, tenant="other") == []


def test_the_newest_searches_come_oldest_first(sql: Query) -> None:
    [a] = notes(sql, 1, at=BIRTH)
    for day in (3, 1, 2):
        judge(sql, "used", show(sql, [a], f"day {day}", NOW + day * DAY), [a], NOW + 9 * DAY)
    assert [told["query"] for told in qrels(sql)] == ["day 1", "day 2", "day 3"]
    assert [told["query"] for told in qrels(sql, "p_limit => 2")] == ["day 2", "day 3"]
    since = (NOW + 3 * DAY).isoformat()
    assert [told["query"] for told in qrels(sql, f"'{since}'")] == ["day 3"]


def test_the_client_returns_the_same(memory: Memory, query: Query) -> None:
    stored = [memory.remember(f"harbour {name}", key=name).id for name in ("a", "b")]
    search = memory.context("harbour").search_id
    memory.used(search, "b")
    told = memory.quality.feedback()
    assert {(one.id, one.shown, one.used) for one in told.memories} == {(stored[0], 1, 0), (stored[1], 1, 1)}
    assert [rank.judged for rank in told.ranks] == [1, 1]
    assert [one.key for one in memory.quality.feedback(unused=True).memories] == ["a"]
    [judged] = memory.quality.qrels()
    assert (judged.search_id, judged.query, judged.queries) == (search, "harbour", None)
    assert {one.key: one.relevant for one in judged.judgements}["b"] is True
    assert [one.verdict for one in memory.quality.qrels(skipped=False)[0].judgements] == ["used"]
