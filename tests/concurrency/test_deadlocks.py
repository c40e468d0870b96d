"""Nothing waits in a circle: hard forget beside pin, forget, rewriting, supersession, use and upkeep."""

from __future__ import annotations

import json

import psycopg
import pytest

from tests.concurrency.crowd import call, connected, deadlocks, in_background
from tests.concurrency.stress import stress
from tests.concurrency.test_races import sound
from tests.conftest import NOW, Query
from tests.integration.prune.prune_tools import note
from tests.scale import SCALE, tell
from tests.waiting import blocked


@pytest.mark.timeout(600 * SCALE)
def test_whatever_is_done_to_a_few_memories_at_once_no_two_wait_for_each_other(
    database_url: str, query: Query
) -> None:
    found = stress(database_url, 1_200 * SCALE)
    with connected(database_url) as connection:
        assert (found.errors, deadlocks(connection)) == ([], 0)
    assert min(found.counts.values()) > 0
    query("SELECT recall.resolve_pending_links()")
    sound(query)
    tell(f"{found.counts.total():,} operations without a deadlock: {found.counts}")


def test_a_link_that_came_while_a_rewriting_waited_is_locked_before_it_goes(
    database_url: str, query: Query
) -> None:
    """The rewriting removes the link, which locks the other end; late, that is against the order."""
    end = note(query, "end")
    memory = note(query, "k")
    text = "remember('b', p_key => 'k', p_links => %s::jsonb, p_now => %s)"
    with (
        connected(database_url) as first,
        connected(database_url) as second,
        connected(database_url) as third,
    ):
        with first.transaction():
            call(first, text, json.dumps([{"target": "end"}]), NOW)
            rewriting = in_background(second, text, "[]", NOW)
            blocked(first)
            third.execute("BEGIN")
            third.execute("SELECT FROM recall.memory WHERE id = %s FOR NO KEY UPDATE", (end,))
        # The first has committed: the rewriting has got its memory, and waits for nobody or for the third.
        call(third, "forget(%s, false, %s)", end, NOW)
        call(third, "forget(%s, false, %s)", memory, NOW)
        third.execute("COMMIT")
        rewriting()
    sound(query)


def test_a_verdict_on_a_memory_that_was_just_forgotten_is_refused(database_url: str, query: Query) -> None:
    """A search that is logged while its memory is forgotten still shows it, until the next fold."""
    memory = note(query, "k")
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            search = call(first, "log_shown(ARRAY[%s::bigint], 's', %s, 'who?')", memory, NOW)
            call(second, "forget(%s, true, %s)", memory, NOW)
        with pytest.raises(psycopg.errors.NoDataFound, match=f"no memory with id {memory}"):
            call(first, "rejected(%s, ARRAY[%s::bigint], %s)", search, memory, NOW)
    sound(query)


def test_an_edit_of_a_memory_that_is_deleted_meanwhile_is_refused(database_url: str, query: Query) -> None:
    memory = note(query, "k")
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            call(first, "forget(%s, true, %s)", memory, NOW)
            editing = in_background(second, "edit(%s, %s::jsonb, p_now => %s)", memory, '{"body": "x"}', NOW)
            blocked(first)
        with pytest.raises(psycopg.errors.NoDataFound, match=f"no memory with id {memory}"):
            editing()
    sound(query)
