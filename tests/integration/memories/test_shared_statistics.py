"""The planner's statistics are those of all tenants, whoever makes them be computed."""

from __future__ import annotations

import pytest

from pgrecall import Draft, Memory
from tests.databases import Query
from tests.waiting import until

HELD = """SELECT coalesce(array_length(histogram_bounds, 1), 0) AS held
          FROM pg_stats WHERE schemaname = 'recall' AND tablename = 'memory' AND attname = 'id'"""

REPORTED = """SELECT pg_stat_get_mod_since_analyze(c.oid) > 1000 + greatest(c.reltuples, 0)
                     OR EXISTS (SELECT FROM pg_stats WHERE schemaname = 'recall' AND tablename = 'memory')
                     AS reported
              FROM pg_class c WHERE c.oid = 'recall.memory'::regclass"""


@pytest.mark.parametrize(
    "call", ["recall_private.analyze_places('default')", "recall_private.analyze_grown_tables(100000)"]
)
def test_a_setting_of_the_session_does_not_thin_them(memory: Memory, query: Query, call: str) -> None:
    memory.remember_many([Draft(f"Rope {number} is new.") for number in range(2_000)])
    # A session reports its rows up to a second later.
    until(lambda: query(REPORTED)[0]["reported"], "the report of the new rows")
    query("SELECT set_config('default_statistics_target', '1', false)")
    query(f"SELECT {call}")
    [found] = query(HELD)
    assert found["held"] > 50


def test_nor_those_of_a_table_of_its_own(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft(f"Rope {number} is new.") for number in range(500)])
    query("SELECT set_config('default_statistics_target', '1', false)")
    assert query("SELECT recall.move_vectors_to_own_table(0) AS moved") == [{"moved": 500}]
    [found] = query(
        "SELECT array_length(histogram_bounds, 1) AS held FROM pg_stats s JOIN recall.vector_home h "
        "ON s.tablename = 'vector_' || h.number WHERE s.schemaname = 'recall' AND s.attname = 'memory_id'"
    )
    assert found["held"] > 50
