"""Dedupe plans are made, applied and undone while others write and forget the same memories."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import Memory
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import problems, store

pytestmark = pytest.mark.timeout(300)

ROUNDS = 12
TEXT = "The key of shed {} hangs behind the clock in the office of the harbour master of Alden"


def _write(url: str, ids: list[int], seed: int, stop: threading.Event, failed: list[BaseException]) -> None:
    rng = random.Random(seed)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            while not stop.is_set():
                one, other = rng.sample(ids, 2)
                statement, parameters = rng.choice(
                    [
                        ("SELECT recall.record_access(%s, 'used', p_session_id => 's')", (one,)),
                        ("SELECT recall.link(%s, %s)", (one, other)),
                        ("SELECT recall.pin(%s, %s)", (one, rng.random() < 0.1)),
                        ("SELECT recall.supersede(%s, %s)", (one, other)),
                        ("SELECT recall.forget(%s)", (one,)),
                        ("SELECT recall.forget(%s, true)", (one if rng.random() < 0.1 else -1,)),
                        ("SELECT recall.remember(%s, p_key => %s)", (TEXT.format(one), f"key of {one}")),
                        ("SELECT recall.fold_accesses()", ()),
                    ]
                )
                # Forgotten meanwhile, or a circle.
                with suppress(psycopg.errors.NoDataFound, psycopg.errors.InvalidParameterValue):
                    connection.execute(statement.encode(), parameters)
    except psycopg.Error as error:
        failed.append(error)


def _alike(memory: Memory, number: int) -> list[int]:
    return [
        store(memory, TEXT.format(number) + mark, at=NOW - timedelta(days=30))
        for mark in (".", "!", " there")
    ]


def test_plans_hold_while_others_write(memory: Memory, database_url: str, query: Query) -> None:
    """No deadlock, and at the end everything adds up; undone as well."""
    ids = [stored for number in range(12) for stored in _alike(memory, number)]
    stop, failed = threading.Event(), list[BaseException]()
    writers = [
        threading.Thread(target=_write, args=(database_url, ids, seed, stop, failed)) for seed in range(3)
    ]
    for writer in writers:
        writer.start()
    applied: list[Any] = []
    merged = 0
    try:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            for turn in range(ROUNDS):
                ids += _alike(memory, 100 + turn)  # the writers soon leave nothing of the others to merge
                connection.execute("SELECT recall.find_duplicates()")
                row = connection.execute("SELECT recall.plan_dedupe()").fetchone()
                assert row is not None
                done = connection.execute("SELECT outcome FROM recall.apply_plan(%s)", row).fetchall()
                merged += sum(outcome == "merged" for (outcome,) in done)
                applied.append(row)
                if turn % 2:
                    connection.execute("SELECT recall.undo_plan(%s)", applied.pop())
            stop.set()
            for writer in writers:
                writer.join()
            assert failed == []
            assert merged > 2
            connection.execute("SELECT recall.fold_accesses(1000000)")
            assert problems(query) == []
            for plan in reversed(applied):
                connection.execute("SELECT recall.undo_plan(%s)", plan)
            assert problems(query) == []
    finally:
        stop.set()
        for writer in writers:
            writer.join()
