"""The fold of many memories at once, by reading through the log: it comes to what the fold of few does."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from tests.databases import Query
from tests.integration.access.use_tools import (
    BIRTH,
    Use,
    fold_of_log,
    folded,
    log_later,
    notes,
    rebuild,
    state,
    states,
)

DAY = 86_400
_ADD = (
    "SELECT recall_private.fold_by_scan('acme', array_agg(memory_id), array_agg(folded_until), "
    "array_agg('infinity'::timestamptz), array_agg(recall_private.weight_in_millionths(credit)), false) "
    "AS changed "
    "FROM recall.activation WHERE tenant = 'acme'"
)
_ANEW = (
    "SELECT recall_private.fold_by_scan('acme', array_agg(memory_id), array_agg('-infinity'::timestamptz), "
    "array_agg('infinity'::timestamptz), array_agg(0), true) AS changed "
    "FROM recall.activation WHERE tenant = 'acme'"
)


def show(sql: Query, memories: list[int], chance: Random, since: float, until: float) -> None:
    """Logs uses of every kind in these seconds: in bursts and not, heavy and light, some at one moment."""
    for memory in memories:
        for _ in range(chance.randrange(30)):
            seconds = since + chance.choice([chance.random(), chance.randrange(8) / 400]) * (until - since)
            kind = chance.choice(["retrieval", "retrieval", "retrieval", "used"])
            use = Use(seconds, kind, chance.choice([None, "s", "t"]))
            weight = chance.choice([0.1, 0.1, 1 / 3, 2.75])
            log_later(sql, memory, use, weight, BIRTH + timedelta(seconds=until))


@pytest.mark.parametrize("seed", range(3))
def test_a_scan_adds_what_the_log_says(sql: Query, seed: int) -> None:
    chance = Random(seed)
    memories = [*notes(sql, 12)]
    for since in (0.0, DAY, 2 * DAY):
        show(sql, memories, chance, since + 1, since + DAY / 2)
        seen = sql("SELECT count(DISTINCT memory_id) FROM recall.access WHERE at > %s",
                   (BIRTH + timedelta(seconds=since),))  # fmt: skip
        assert sql(_ADD)[0]["changed"] == seen[0]["count"] > 6
        assert [folded(state(sql, memory)) for memory in memories] == [
            fold_of_log(sql, memory) for memory in memories
        ]
    assert rebuild(sql) == 0


def test_a_scan_mends_what_is_wrong_and_nothing_else(sql: Query) -> None:
    memories = notes(sql, 12)
    show(sql, memories, Random(7), 1, DAY)
    sql(_ADD)
    right = states(sql)
    sql(
        "UPDATE recall.activation SET n = 99, t1 = 1, t2 = 1, t8 = 1 WHERE memory_id = ANY (%s)",
        (memories[:4],),
    )
    assert sql(_ANEW)[0]["changed"] == 4
    assert states(sql) == right


@pytest.mark.parametrize("since", ["now", "-infinity"])
def test_a_scan_is_worth_it_for_many_memories_of_a_short_log(sql: Query, since: str) -> None:
    sql("INSERT INTO recall.access (tenant, memory_id, kind, weight, at) "
        "SELECT 'acme', i, 'used', 1, now() FROM generate_series(1, 2000) i")  # fmt: skip
    few, many = (
        sql("SELECT recall_private.is_scan_cheaper(%s, %s) AS worth", (memories, since))[0]["worth"]
        for memories in (5, 2000)
    )
    assert (few, many) == (False, True)
