"""Tables that fill faster than autovacuum looks: what is stored does not read all that was stored before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import NOW

BATCH = 300
"""Four of them, and no fewer, are more than the thousand rows from which on tables are analysed."""
READ = """
SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
WHERE schemaname = 'recall'
"""
TABLES = ("memory", "activation", "link", "name", "pending_link")


@pytest.fixture
def writer(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that keeps its plans, the first of which were made while there was nothing."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        for number in range(7):
            store(connection, [{"key": f"early{number}", "body": "One of a few.", "links": []}])
        yield connection


def store(connection: psycopg.Connection[Any], drafts: list[dict[str, Any]]) -> dict[str, int]:
    """Stores drafts in one call; how many rows of each table that read.

    What it wrote is reported with its commit: a session that commits quickly would do so once a second, and
    what it has not reported yet when it analyses a table counts as written after that.
    """
    with connection.transaction():
        connection.execute("SELECT pg_stat_force_next_flush()")
        before = dict(connection.execute(READ).fetchall())
        connection.execute("SELECT recall.remember_many(%s::jsonb, p_now => %s)", (json.dumps(drafts), NOW))
        return {name: read - before.get(name, 0) for name, read in connection.execute(READ).fetchall()}


def batch(number: int, **fields: Any) -> list[dict[str, Any]]:
    """Notes that refer to the one before each, and to one that is still to come."""
    return [
        {
            "key": f"n{place}",
            "title": f"Note {place}",
            "body": f"What note {place} says.",
            "links": [{"target": f"n{place - 1}"}, {"target": f"n{place + BATCH}"}],
            **fields,
        }
        for place in range(number * BATCH, (number + 1) * BATCH)
    ]


def fill(connection: psycopg.Connection[Any], batches: range, **fields: Any) -> dict[str, int]:
    """Stores these batches; how many rows of each table the last of them read."""
    return [store(connection, batch(number, **fields)) for number in batches][-1]


def sparing(read: dict[str, int], batches: int) -> bool:
    """Whether statements may have read each table whole, where it is small, but not for each draft."""
    return all(read.get(table, 0) < 20 * batches * BATCH for table in TABLES)


def known(connection: psycopg.Connection[Any]) -> float:
    """How many memories the planner believes there are."""
    [(rows,)] = connection.execute(
        "SELECT reltuples FROM pg_class WHERE oid = 'recall.memory'::regclass"
    ).fetchall()
    return float(rows)


def test_a_database_that_was_never_analysed_fills_without_reading_itself(
    writer: psycopg.Connection[Any],
) -> None:
    read = fill(writer, range(6))
    assert sparing(read, 6), read
    again = store(writer, batch(5))
    assert sparing(again, 6), again


def test_so_does_one_that_was_analysed_when_all_in_it_was_gone(writer: psycopg.Connection[Any]) -> None:
    fill(writer, range(1))
    for table in ("link", "pending_link", "name", "floor_change", "activation", "memory"):
        writer.execute(f"DELETE FROM recall.{table}")
    writer.execute("SELECT pg_stat_force_next_flush()")
    writer.execute("ANALYZE")
    assert known(writer) == 0
    read = fill(writer, range(1), pinned=True)
    assert max(read["activation"], read["floor_change"]) < 20 * BATCH, read
    read = fill(writer, range(1, 6), pinned=True)
    assert sparing(read, 6), read


def test_only_what_has_doubled_is_analysed_again(writer: psycopg.Connection[Any]) -> None:
    fill(writer, range(5))
    then = known(writer)
    assert then > 1000
    fill(writer, range(5, 8))
    assert known(writer) == then
    fill(writer, range(8, 14))
    assert known(writer) > 2 * then


def test_a_few_at_a_time_are_analysed_when_a_thousand_have_come(writer: psycopg.Connection[Any]) -> None:
    for place in range(0, 5 * BATCH, 50):
        store(writer, batch(place // BATCH)[place % BATCH :][:50])
        if place < 400:
            assert known(writer) == -1
    assert known(writer) > 1000


def test_the_rows_of_a_transaction_that_goes_on_count_too(writer: psycopg.Connection[Any]) -> None:
    with writer.transaction():
        fill(writer, range(5))
        assert known(writer) > 1000


def test_no_transaction_waits_for_another_analysis(
    writer: psycopg.Connection[Any], database_url: str
) -> None:
    with psycopg.connect(database_url) as other:
        other.execute("LOCK TABLE recall.memory IN SHARE UPDATE EXCLUSIVE MODE")
        fill(writer, range(5))
        assert known(writer) == -1
    fill(writer, range(5, 6))
    assert known(writer) > 1000
