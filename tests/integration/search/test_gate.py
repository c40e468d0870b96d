"""By which words the lexical arm reads, and that what it reads is bounded however common they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.databases import Query

ALONE, FIRST, READ = 100, 2_000, 300
"""How many memories hold the words taken alone; the first word at most; all that the gate reads by."""


def gate(sql: Query, *documents: int) -> tuple[str | None, int]:
    words = [f"w{place}" for place in range(1, len(documents) + 1)]
    [row] = sql(
        "SELECT g.gate::text, g.rest FROM recall_private.lexical_gate(%s::text[]::tsquery[], %s::bigint[]) g",
        (words, list(documents)),
    )
    return row["gate"], row["rest"]


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([5], ("'w1'", 2)),
        ([0, 7], ("'w1' | 'w2'", 3)),
        ([60, 60, 3_000], ("'w1' | 'w2' & 'w3'", 2)),
        ([60, 100, 120, 40_000], ("'w1' | 'w2' & ( 'w3' | 'w4' ) | 'w3' & 'w4'", 2)),
        ([60, 200, 950, 40_000], ("'w1' | 'w2' & ( 'w3' | 'w4' )", 2)),
        ([1_600, 1_600, 3_000], ("'w1' & ( 'w2' | 'w3' )", 1)),
        ([600, 3_000, 9_000, 9_500], ("'w1' & ( 'w2' | 'w3' )", 1)),
        ([600], (None, 1)),
        ([2_001, 2_002], (None, 1)),
        ([90, 2_500], ("'w1'", 2)),
    ],
)
def test_rare_words_are_taken_alone_and_the_next_two_by_two(
    sql: Query, documents: Sequence[int], expected: tuple[str | None, int]
) -> None:
    assert gate(sql, *documents) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # nothing is stored
@given(documents=st.lists(st.integers(0, 5_000), min_size=1, max_size=16).map(sorted))
def test_what_a_gate_reads_by_is_bounded(sql: Query, documents: list[int]) -> None:
    taken, rest = gate(sql, *documents)

    affordable = sum(
        reached <= (READ if place else FIRST) for place, reached in enumerate(accumulate(documents))
    )
    mentioned = {int(place) for place in re.findall(r"'w(\d+)'", taken or "")}
    assert sum(documents[: rest - 1]) <= ALONE
    assert mentioned <= set(range(1, affordable + 3))
    assert bool(mentioned) == (affordable > 0 and (rest > 1 or len(documents) > 1))


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([60, 200, 3_000, 7_000], "'w1' | 'w2'"),
        ([60, 100, 120, 40_000], "'w1' | 'w2' | 'w3'"),
        ([200, 6_000], "'w1'"),
        ([60, 6_000], None),
        ([60, 200, 3_000, 5_000], None),
        ([400, 6_000, 7_000], None),
    ],
)
def test_an_index_reads_no_common_words_beside_rare_ones(
    sql: Query, documents: Sequence[int], expected: str | None
) -> None:
    words = [f"w{place}" for place in range(1, len(documents) + 1)]
    [row] = sql(
        "SELECT g.wide::text FROM recall_private.lexical_gate(%s::text[]::tsquery[], %s::bigint[]) g",
        (words, list(documents)),
    )

    assert row["wide"] == expected
