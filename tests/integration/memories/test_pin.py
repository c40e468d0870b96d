"""Pins, and the moments at which what is noted down must lie."""

from __future__ import annotations

from datetime import datetime

import psycopg
import pytest

from pgrecall import Memory
from tests.databases import Query
from tests.integration.access.use_tools import note


def test_pinning_says_whether_it_changed_anything(sql: Query, now: datetime) -> None:
    memory = note(sql)
    call = "SELECT recall.pin(%s, %s, %s) AS changed"
    changes = [sql(call, (memory, pinned, now))[0]["changed"] for pinned in (False, True, True, False)]
    assert changes == [False, True, False, True]
    floors = sql("SELECT floored FROM recall.floor_change ORDER BY id")
    assert [row["floored"] for row in floors] == [True, False]


def test_pinning_needs_a_memory_of_this_tenant_and_a_yes_or_no(sql: Query) -> None:
    memory, theirs = note(sql), note(sql, tenant="other")
    for unknown in (theirs, 4711, None):
        with pytest.raises(psycopg.errors.NoDataFound, match="There is no memory with id"):
            sql("SELECT recall.pin(%s::bigint)", (unknown,))
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="p_pinned is NULL"):
        sql("SELECT recall.pin(%s, NULL)", (memory,))


@pytest.mark.parametrize(
    "call",
    [
        "recall.pin(%s, true, %s)", "recall.forget(%s, false, %s)",
        "recall.link(%s, recall.id_of('b'), p_now => %s)", "recall.supersede(%s, recall.id_of('b'), %s)",
        "greatest(%s, (SELECT g.memories FROM recall.refresh_graph(%s) g))",
        "recall.remember('c', %s::text, p_now => %s)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("moment", ["infinity", "-infinity", None])
def test_what_is_noted_down_needs_a_moment(sql: Query, call: str, moment: str | None) -> None:
    memory = note(sql)
    note(sql, "b")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="it must be a moment"):
        sql(f"SELECT {call}", (memory, moment))
    assert sql("SELECT 1 FROM recall.memory WHERE pinned OR archived_at IS NOT NULL") == []
    assert sql("SELECT 1 FROM recall.link") == []


def test_importing_a_note_again_leaves_its_pin(memory: Memory) -> None:
    memory.remember("a", key="pinned-note")
    memory.pin("pinned-note")
    for body in ("a", "rewritten"):
        memory.remember(body, key="pinned-note")
        assert memory.get("pinned-note").pinned
    memory.pin("pinned-note", False)
    assert not memory.get("pinned-note").pinned
