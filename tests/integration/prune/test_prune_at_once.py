"""Pruning while others apply, use and link: one after the other, and nothing is lost or cut."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.conftest import NOW
from tests.databases import Query
from tests.integration.prune.prune_tools import apply, archived, document, note, plan, ring
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

APPLY = "SELECT * FROM recall.apply_plan(%s, %s)"


@contextmanager
def session(url: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A connection in an open transaction of tenant ``acme``."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', true)")
        yield connection


def meanwhile(url: str, statement: str, parameters: tuple[Any, ...], pool: ThreadPoolExecutor) -> Future[Any]:
    """Runs a statement in a session of its own, in another thread."""

    def run() -> list[dict[str, Any]]:
        with session(url) as connection:
            return connection.execute(statement, parameters).fetchall()

    return pool.submit(run)


def test_two_who_apply_one_plan_archive_once(query: Query, database_url: str) -> None:
    old = note(query, "old")
    number = plan(query)
    with ThreadPoolExecutor() as pool, session(database_url) as first:
        first.execute(APPLY, (number, NOW))
        second = meanwhile(database_url, APPLY, (number, NOW), pool)
        blocked(first)
        first.commit()
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="was already applied"):
            second.result(timeout=PATIENCE)
    assert [row["memory_id"] for row in query("SELECT memory_id FROM recall.archival")] == [old]


def test_the_second_applies_when_the_first_gives_up(query: Query, database_url: str) -> None:
    old = note(query, "old")
    number = plan(query)
    with ThreadPoolExecutor() as pool, session(database_url) as first:
        first.execute(APPLY, (number, NOW))
        second = meanwhile(database_url, APPLY, (number, NOW), pool)
        blocked(first)
        first.rollback()
        assert [row["outcome"] for row in second.result(timeout=PATIENCE)] == ["archived"]
    assert archived(query) == {old}


def test_two_plans_that_together_would_cut_a_ring(query: Query, database_url: str) -> None:
    ids = ring(query)
    one, two = plan(query, p_layers=["knowledge"]), plan(query, p_layers=["activity"])
    assert [len(document(query, number)["items"]) for number in (one, two)] == [1, 1]
    with ThreadPoolExecutor() as pool, session(database_url) as first:
        first.execute(APPLY, (one, NOW))
        second = meanwhile(database_url, APPLY, (two, NOW), pool)
        blocked(first)
        first.commit()
        assert [row["note"] for row in second.result(timeout=PATIENCE)] == [
            "2 memories would be disconnected without it"
        ]
    assert archived(query) == {ids[0]}


def test_a_use_that_waits_for_the_plan_brings_its_memory_back(query: Query, database_url: str) -> None:
    old, other = note(query, "old"), note(query, "other")
    number = plan(query)
    with ThreadPoolExecutor() as pool, session(database_url) as first:
        first.execute(APPLY, (number, NOW))
        use = "SELECT recall.record_access(%s, 'used', p_now => %s)"
        used = meanwhile(database_url, use, (old, NOW), pool)
        blocked(first)
        first.commit()
        used.result(timeout=PATIENCE)
    assert archived(query) == {other}


def test_a_plan_that_waits_for_a_use_skips_its_memory(query: Query, database_url: str) -> None:
    old, other = note(query, "old"), note(query, "other")
    number = plan(query)
    with ThreadPoolExecutor() as pool, session(database_url) as user:
        user.execute("SELECT recall.record_access(%s, 'used', p_now => %s)", (old, NOW))
        applied = meanwhile(database_url, APPLY, (number, NOW), pool)
        blocked(user)
        user.commit()
        told = {row["memory_id"]: row["note"] or row["outcome"] for row in applied.result(timeout=PATIENCE)}
    assert told == {old: "used since", other: "archived"}


def test_a_link_that_waits_for_the_plan_is_made(query: Query, database_url: str) -> None:
    old, new = note(query, "old"), note(query, "new", at=NOW)
    number = plan(query)
    with ThreadPoolExecutor() as pool, session(database_url) as first:
        first.execute(APPLY, (number, NOW))
        linked = meanwhile(database_url, "SELECT recall.link(%s, %s)", (new, old), pool)
        blocked(first)
        first.commit()
        linked.result(timeout=PATIENCE)
    assert archived(query) == {old}
    assert query("SELECT src, dst FROM recall.link") == [{"src": new, "dst": old}]
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="was already applied"):
        apply(query, number)
