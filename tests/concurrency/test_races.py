"""Races of two or a few: whoever wins, nothing is lost, and nobody is told of an error that is not his."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.concurrency.crowd import (
    Connection,
    call,
    connected,
    create_the_same,
    deadlocks,
    in_background,
    in_processes,
    together,
)
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.prune.prune_tools import LONG_AGO, note, notes, plan
from tests.scale import SCALE
from tests.waiting import blocked

REMEMBER = "SELECT recall.remember_many(%s::jsonb, p_now => %s)"
Part = Callable[[Connection], Any]


def sound(query: Query) -> None:
    """Everything folded, and nothing to find fault with."""
    while query("SELECT recall.fold_accesses() AS folded")[0]["folded"]:
        pass
    [row] = query("SELECT recall.verify(%s) AS found", (NOW,))
    assert [check for check in row["found"]["checks"] if check["problems"]] == []
    assert query("SELECT recall.rebuild() AS changed")[0]["changed"] == 0


# One after the other, in an order that is forced


def test_a_rewriting_that_waited_for_another_is_a_write(database_url: str, query: Query) -> None:
    """Both change the text; in whatever order, each is logged."""
    memory = note(query, "k")
    with connected(database_url) as first, connected(database_url) as second:
        text = "remember(%s, p_key => 'k', p_now => %s)"
        with first.transaction():
            call(first, text, "one", NOW)
            waiting = in_background(second, text, "two", NOW)
            blocked(first)
        waiting()
    [row] = query("SELECT count(*) FROM recall.access WHERE memory_id = %s AND at = %s", (memory, NOW))
    assert row["count"] == 2
    sound(query)


def test_a_key_that_another_is_just_creating_is_not_given_to_a_second_memory(
    database_url: str, query: Query
) -> None:
    drafts = '[{"key": "old", "source": "notes", "body": "one"}]'
    query("SELECT recall.remember_many(%s::jsonb, p_now => %s)", (drafts, LONG_AGO))
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            call(first, "remember(%s, p_key => 'new', p_now => %s)", "two", NOW)
            waiting = in_background(second, "rename_keys('notes', %s::jsonb, %s)", '{"old": "new"}', NOW)
            blocked(first)
        assert waiting() == 0
    rows = query("SELECT key, body FROM recall.memory ORDER BY id")
    assert [(row["key"], row["body"]) for row in rows] == [("old", "one"), ("new", "two")]
    sound(query)


def test_a_key_that_a_memory_is_just_given_is_rewritten(database_url: str, query: Query) -> None:
    drafts = '[{"key": "old", "source": "notes", "body": "one"}]'
    query("SELECT recall.remember_many(%s::jsonb, p_now => %s)", (drafts, LONG_AGO))
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            assert call(first, "rename_keys('notes', %s::jsonb, %s)", '{"old": "new"}', NOW) == 1
            waiting = in_background(second, "remember(%s, p_key => 'new', p_now => %s)", "two", NOW)
            blocked(first)
        waiting()
    rows = query("SELECT key, body FROM recall.memory")
    assert [(row["key"], row["body"]) for row in rows] == [("new", "two")]
    sound(query)


def test_a_key_that_another_is_just_creating_is_rewritten(database_url: str, query: Query) -> None:
    with connected(database_url) as first, connected(database_url) as second:
        text = "remember(%s, p_key => 'k', p_now => %s)"
        with first.transaction():
            memory = call(first, text, "one", LONG_AGO)
            waiting = in_background(second, text, "two", NOW)
            blocked(first)
        assert waiting() == memory
    [row] = query("SELECT count(*) FROM recall.access WHERE memory_id = %s", (memory,))
    assert row["count"] == 2, "the second one changed the text, and that is a write"
    sound(query)


def test_what_a_draft_links_to_while_it_is_being_stored_is_linked(database_url: str, query: Query) -> None:
    """Neither sees the other: the link waits for its target, which is there."""
    with connected(database_url) as first, connected(database_url) as second:
        links = json.dumps([{"target": "Far away"}])
        with first.transaction():
            call(first, "remember('b', p_key => 'source', p_links => %s::jsonb, p_now => %s)", links, NOW)
            call(second, "remember('b', p_title => 'Far Away', p_key => 'target', p_now => %s)", NOW)
    assert query("SELECT recall.resolve_pending_links() AS made") == [{"made": 1}]
    assert query("SELECT recall.count_pending_links() AS waiting") == [{"waiting": 0}]
    [row] = query("SELECT in_degree FROM recall.activation JOIN recall.memory ON id = memory_id "
                  "WHERE key = 'target'")  # fmt: skip
    assert row["in_degree"] == 1
    assert query("SELECT recall.resolve_pending_links() AS made") == [{"made": 0}]
    sound(query)


def test_a_pin_taken_away_while_the_memory_becomes_protected_leaves_its_floor(
    database_url: str, query: Query
) -> None:
    memory = note(query, "k", pinned=True)
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            first.execute(
                "SELECT recall_private.store_cut_sizes(%s::bigint[], %s::int[], %s)", ([memory], [9], NOW)
            )
            waiting = in_background(second, "pin(%s, false, %s)", memory, NOW)
            blocked(first)
        waiting()
    sound(query)


@pytest.mark.parametrize("late", [timedelta(seconds=-1), timedelta(0)])
def test_a_pin_that_waited_is_the_last_word_however_early_it_was_asked(
    database_url: str, query: Query, late: timedelta
) -> None:
    memory = note(query, "k", pinned=True)
    with connected(database_url) as connection:
        call(connection, "pin(%s, false, %s)", memory, NOW)
        call(connection, "pin(%s, true, %s)", memory, NOW + late)
    sound(query)


def test_uses_that_overtake_each_other_lend_what_the_log_says(database_url: str, query: Query) -> None:
    """Boosts are capped, so their order counts: it is that of the log, whoever came first to the memory."""
    hub = note(query, "hub")
    leaves = [note(query, f"leaf{place}", "hub") for place in range(3)]
    use = "record_access(%s, 'used', %s, NULL, NULL, %s)"
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            # Holds the hub's activation, and nothing of the leaves.
            first.execute("SELECT FROM recall.activation WHERE memory_id = %s FOR UPDATE", (hub,))
            early = in_background(second, use, leaves[0], NOW - timedelta(days=8), NOW)
            blocked(first)
            for _ in range(4):
                call(first, use, leaves[1], NOW - timedelta(days=4), NOW)
        early()
        call(second, use, leaves[2], NOW, NOW)
    sound(query)


# Over and over, in whatever order


def test_many_processes_that_create_the_same_keys_make_each_once(database_url: str, query: Query) -> None:
    rounds = 20 * SCALE
    told = in_processes(create_the_same, [(database_url, worker, rounds) for worker in range(3)])
    assert all(ids == told[0] for ids in told)
    assert len(set(told[0])) == rounds
    [row] = query("SELECT count(*) FROM recall.access")
    assert row["count"] == 3 * rounds, "one birth and two rewritings each"
    query("SELECT recall.resolve_pending_links()")
    assert query("SELECT recall.count_pending_links() AS waiting") == [{"waiting": 0}]
    assert query("SELECT count(*) FROM recall.link") == [{"count": rounds}]
    sound(query)


def planning(memories: list[int]) -> Part:
    def part(connection: Connection) -> None:
        for _ in range(15 * SCALE):
            number = call(connection, "plan_prune(p_max_share => 1, p_now => %s)", NOW)
            try:
                connection.execute("SELECT * FROM recall.apply_plan(%s, %s)", (number, NOW))
                call(connection, "undo_plan(%s, %s)", number, NOW)
            except psycopg.errors.InvalidParameterValue:
                continue

    return part


def changing(memories: list[int], seed: int) -> Part:
    """Supersedes, rewrites and forgets, in an order of its own."""

    def part(connection: Connection) -> None:
        chance = random.Random(seed)
        for turn in range(60 * SCALE):
            one, two = chance.sample(memories, 2)
            try:
                if chance.random() < 0.5:
                    call(connection, "supersede(%s, %s, %s)", one, two, NOW)
                else:
                    keys = chance.sample([f"n{place}" for place in range(12)], 3)
                    drafts = [{"key": key, "body": f"{seed} {turn}"} for key in keys]
                    connection.execute(REMEMBER, (json.dumps(drafts), LONG_AGO))
            except psycopg.errors.InvalidParameterValue:
                continue  # it would be a circle

    return part


def forgetting(seed: int) -> Part:
    """Stores memories that others replace, link to and use, and forgets them for good."""

    def part(connection: Connection) -> None:
        chance = random.Random(seed)
        for turn in range(25 * SCALE):
            key = f"passing {seed} {turn}"
            memory = call(connection, "remember('b', p_key => %s, p_now => %s)", key, LONG_AGO)
            old = call(connection, "id_of(%s)", f"n{chance.randrange(12)}")
            call(connection, "link(%s, %s, 'links_to', 1, %s)", memory, old, NOW)
            call(connection, "record_access(%s, 'used', p_session_id => 's', p_now => %s)", memory, NOW)
            call(connection, "log_shown(%s, 's', %s, 'who?')", [memory, old], NOW)
            call(connection, "forget(%s, true, %s)", memory, NOW)

    return part


def test_plans_supersessions_and_forgetting_never_wait_for_each_other_in_a_circle(
    database_url: str, query: Query
) -> None:
    # The keys in another order than the ids: both are orders in which rows are locked.
    drafts = [{"key": f"n{place}", "layer": "activity"} for place in reversed(range(12))]
    memories = list(notes(query, drafts, at=LONG_AGO).values())
    parts = [planning(memories), planning(memories)]
    parts += [changing(memories, seed) for seed in range(4)] + [forgetting(seed) for seed in range(4)]
    together(database_url, parts)
    with connected(database_url) as connection:
        assert deadlocks(connection) == 0
    sound(query)


def test_a_plan_does_not_wait_for_deletions_of_its_memories(database_url: str, query: Query) -> None:
    """A memory forgotten for good while a plan is made is not in the plan; the plan is made."""
    memories = [note(query, f"n{place}") for place in range(6)]
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            call(first, "forget(%s, true, %s)", memories[2], NOW)
            waiting = in_background(second, "plan_prune(p_max_share => 1, p_now => %s)", NOW)
            blocked(first)
        number = waiting()
    rows = query("SELECT memory_id FROM recall.plan_item WHERE plan_id = %s", (number,))
    assert {row["memory_id"] for row in rows} == set(memories) - {memories[2]}
    assert plan(query) > number
    sound(query)
