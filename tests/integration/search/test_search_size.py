"""The texts of all hits have a limit together; hits beyond it are left out, which the result says."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from pgrecall import Draft, Memory
from tests.conftest import NOW
from tests.databases import Query

FIND = "SELECT * FROM recall.find(%s, p_now => %s, p_pool => %s, p_max_bytes => %s)"


@pytest.fixture
def pumps(memory: Memory, query: Query) -> Query:
    """Five memories of 20, 30 ... 60 characters, newest last."""
    for size in range(20, 70, 10):
        text = f"pump {size} ".ljust(size, "x")
        memory.remember_many([Draft(text, key=f"k{size}")], now=NOW - timedelta(days=90 - size))
    return query


def find(query: Query, most: int | None, pool: int = 0, **request: Any) -> list[dict[str, Any]]:
    return query(FIND, (json.dumps({"query": "pump", **request}), NOW, pool, most))


@pytest.mark.parametrize("pool", [0, 3])
@pytest.mark.parametrize("k", [2, 5])
def test_the_best_hits_are_kept_while_they_fit(pumps: Query, k: int, pool: int) -> None:
    whole = find(pumps, None, pool, k=k)
    assert whole[0]["summary"]["skipped"] is None
    sizes = [len(row["body"]) for row in whole]
    for most in range(0, sum(sizes) + 2, 5):
        kept = max(1, sum(sum(sizes[:n]) <= most for n in range(1, len(sizes) + 1)))
        rows = find(pumps, most, pool, k=k)
        assert [row["id"] for row in rows] == [row["id"] for row in whole[:kept]], most
        lost = len(whole) - kept
        reason = f"hits: the last {lost} are left out, as the hits would have more than {most} bytes of text"
        assert rows[0]["summary"]["skipped"] == ([reason] if lost else None)


def test_nothing_found_is_nothing_left_out(pumps: Query) -> None:
    [row] = find(pumps, 0, layers=["entity"])
    assert row["id"] is None
    assert row["summary"]["skipped"] is None


def test_the_texts_of_a_past_moment_are_counted(memory: Memory, query: Query) -> None:
    for key in "ab":
        memory.remember_many([Draft(f"pump {key} " + "x" * 100, key=key)], now=NOW)
        memory.remember_many([Draft(f"pump {key}", key=key)], now=NOW + timedelta(days=1))
    request = json.dumps({"query": "pump", "as_of": (NOW + timedelta(hours=1)).isoformat()})
    assert len(query(FIND, (request, NOW + timedelta(days=2), 0, 120))) == 1
    assert len(query(FIND, (json.dumps({"query": "pump"}), NOW + timedelta(days=2), 0, 120))) == 2


def test_a_search_has_sixteen_megabytes_at_most_and_explains_all(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft(f"pump {n} " + "x" * 999_000, key=f"k{n}") for n in range(18)])
    found = memory.search("pump", k=18)
    assert len(found.hits) == 16
    assert found.skipped == (
        "hits: the last 2 are left out, as the hits would have more than 16,000,000 bytes of text",
    )
    ranks = query(
        """SELECT (recall.explain(m.id, '{"query": "pump"}') ->> 'rank')::int AS rank FROM recall.memory m"""
    )
    assert sorted(row["rank"] for row in ranks) == list(range(1, 19))


def test_what_is_longer_in_json_counts_so(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft(f"pump {n} " + "\x01" * 2_000, key=f"k{n}") for n in range(5)])
    assert len(query(FIND, (json.dumps({"query": "pump"}), NOW, 0, 25_000))) == 2
    assert len(query("SELECT * FROM recall.list_memories(p_max_bytes => %s)", (25_000,))) == 2
