"""record_access: what cannot be logged is refused in one sentence, and nothing of its batch is logged."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.databases import Query
from tests.integration.access.use_tools import BIRTH, logged, note, rebuild, record, state


@pytest.mark.parametrize(
    ("item", "error", "sentence"),
    [
        ({"kind": "glance"}, psycopg.errors.InvalidParameterValue, "The access kind 'glance' is unknown."),
        ({"at": "2026-06-01T12:06Z"}, psycopg.errors.InvalidParameterValue,
         "The access time 2026-06-01 12:06:00+00 lies in the future or is infinite."),
        ({"at": "-infinity"}, psycopg.errors.InvalidParameterValue,
         "The access time -infinity lies in the future or is infinite."),
        ({"at": "infinity"}, psycopg.errors.InvalidParameterValue,
         "The access time infinity lies in the future or is infinite."),
        ({"at": "2025-12-31T23:54:59Z"}, psycopg.errors.InvalidParameterValue,
         "The access time 2025-12-31 23:54:59+00 lies before memory 1 was created, 2026-01-01 00:00:00+00."),
        ({"idempotency_key": "x" * 1001}, psycopg.errors.InvalidParameterValue,
         "The idempotency key has 1001 bytes; the limit is 1,000."),
        ({"session_id": "ü" * 501}, psycopg.errors.InvalidParameterValue,
         "The session id has 1002 bytes; the limit is 1,000."),
        ({"memory_id": 4711}, psycopg.errors.NoDataFound, "There is no memory '4711' in this tenant."),
        ({"memory_id": None}, psycopg.errors.NoDataFound, "There is no memory NULL in this tenant."),
        ({"key": "nobody"}, psycopg.errors.NoDataFound, "There is no memory 'nobody' in this tenant."),
    ],
)  # fmt: skip
def test_a_wrong_access_refuses_its_whole_batch(
    sql: Query, now: datetime, item: dict[str, Any], error: type[psycopg.Error], sentence: str
) -> None:
    sql("SET LOCAL timezone = 'UTC'")
    memory, other = note(sql), note(sql, "other")
    sql("SELECT recall.link(%s, %s, p_now => %s)", (memory, other, now))
    before = (state(sql, memory), state(sql, other))
    good = {"memory_id": memory, "session_id": "s"}
    keyed = {"memory_id": other, "session_id": "s", "idempotency_key": "turn 1"}
    with pytest.raises(error) as caught:
        record(sql, [keyed, good, good | item, good], now)
    said = caught.value.diag.message_primary or ""
    assert said.replace(f"memory {memory} was", "memory 1 was") == sentence
    assert ((state(sql, memory), state(sql, other)), logged(sql)) == (before, 0)
    assert sql("SELECT 1 FROM recall.link WHERE relation = 'co_access'") == []
    assert record(sql, [keyed], now) == 1


@pytest.mark.parametrize("value", [{"at": "yesterday noonish"}, {"memory_id": "first"}, {"memory_id": 1.5}])
def test_a_value_of_the_wrong_form_refuses_its_whole_batch(
    sql: Query, now: datetime, value: dict[str, Any]
) -> None:
    memory = note(sql)
    with pytest.raises(psycopg.DataError, match=str(next(iter(value.values())))):
        record(sql, [{"memory_id": memory}, {"memory_id": memory} | value], now)
    assert state(sql, memory)["n"] == 1


@pytest.mark.parametrize("items", ["{}", "1", "null", "[1]", "[[]]", '[{"memory_id": 1}, "x"]'])
def test_accesses_that_are_no_array_of_objects(sql: Query, items: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="must be a JSON array of objects"):
        sql("SELECT recall.record_accesses(%s::jsonb)", (items,))


def test_a_clock_five_minutes_off_is_forgiven(sql: Query, now: datetime) -> None:
    memory = note(sql)
    skew = timedelta(minutes=5)
    assert record(sql, [{"memory_id": memory, "at": at} for at in (now + skew, BIRTH - skew)], now) == 2
    assert rebuild(sql) == 0


def test_what_happened_long_ago_can_be_used_since(sql: Query, now: datetime) -> None:
    [row] = sql(
        "SELECT recall.remember('b', p_occurred_at => %s, p_now => %s) AS id", (now - timedelta(days=90), now)
    )
    assert record(sql, [{"memory_id": row["id"], "at": now - timedelta(days=89)}], now) == 1
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="lies before memory"):
        record(sql, [{"memory_id": row["id"], "at": now - timedelta(days=91)}], now)


@pytest.mark.parametrize("moment", ["infinity", "-infinity", None])
def test_recording_needs_a_moment(sql: Query, moment: str | None) -> None:
    memory = note(sql)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="it must be a moment"):
        sql("SELECT recall.record_access(%s, p_now => %s)", (memory, moment))


def test_another_tenants_memory_is_unknown(sql: Query, now: datetime) -> None:
    theirs = note(sql, "theirs", tenant="other")
    for item in ({"memory_id": theirs}, {"key": "theirs"}):
        with pytest.raises(psycopg.errors.NoDataFound, match="in this tenant"):
            record(sql, [item], now)
    assert logged(sql) == 0


def test_no_tenant_is_a_clear_error(sql: Query) -> None:
    memory = note(sql)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="No tenant is set"):
        sql("SELECT recall.record_access(%s)", (memory,), tenant="")
