"""Nothing waits in a circle: hard forget beside pin, forget, rewriting, supersession, use and maintenance."""

from __future__ import annotations

import json

import psycopg
import pytest

from tests.concurrency.crowd import call, connected, deadlocks, in_background
from tests.concurrency.stress import digest_of, stress
from tests.concurrency.test_races import sound
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.prune.prune_tools import note
from tests.scale import SCALE, tell
from tests.waiting import blocked, until

WAITING = "SELECT count(*) AS waiting FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"


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


def test_a_draft_without_links_gives_its_memory_up_for_a_link_that_came_while_it_waited(
    database_url: str, query: Query
) -> None:
    """Or it would hold a memory while it waits for an older one."""
    end, memory = note(query, "end"), note(query, "k")
    text = "remember('b', p_key => 'k', p_links => %s::jsonb, p_now => %s)"
    with (
        connected(database_url) as first,
        connected(database_url) as second,
        connected(database_url) as third,
        connected(database_url) as fourth,
    ):
        fourth.execute("BEGIN")
        with first.transaction():
            call(first, text, json.dumps([{"target": "end"}]), NOW)
            # Stands before the draft, until the end is taken.
            standing = in_background(fourth, "forget(%s, false, %s)", memory, NOW)
            blocked(first)
            rewriting = in_background(second, text, None, NOW)
            blocked(first, 2)
        assert standing() is True
        third.execute("BEGIN")
        third.execute("SELECT FROM recall.memory WHERE id = %s FOR UPDATE", (end,))
        fourth.execute("ROLLBACK")
        waits = "SELECT %s = ANY (pg_blocking_pids(%s)) AS so"
        pids = (third.info.backend_pid, second.info.backend_pid)
        until(lambda: fourth.execute(waits, pids).fetchall() == [{"so": True}], "the draft waits for the end")
        call(third, "forget(%s, false, %s)", memory, NOW)
        third.execute("COMMIT")
        rewriting()
    sound(query)


def test_a_rebuild_locks_memories_before_their_activations(database_url: str, query: Query) -> None:
    """As all that changes a memory does: whoever waits for a memory must not hold its activation."""
    memory = note(query, "k")
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            first.execute("SELECT FROM recall.memory WHERE id = %s FOR UPDATE", (memory,))
            rebuilding = in_background(second, "rebuild(ARRAY[%s::bigint])", memory)
            blocked(first)
            held = "SELECT FROM recall.activation WHERE memory_id = %s FOR UPDATE NOWAIT"
            assert len(first.execute(held, (memory,)).fetchall()) == 1
        rebuilding()
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


def test_a_use_that_waited_for_a_plan_locks_what_the_returning_memory_refers_to(
    database_url: str, query: Query
) -> None:
    """It changes that activation twice: by what the use spreads, and because the link is live again."""
    query("SELECT recall.set_setting('prune.grace_days', 0)")
    end = note(query, "end", at=NOW)
    memory = note(query, "k", "end")
    other = note(query, "other", at=NOW)
    items = json.dumps([{"memory_id": used, "kind": "used"} for used in (memory, other)])
    with (
        connected(database_url) as first,
        connected(database_url) as second,
        connected(database_url) as third,
        connected(database_url) as fourth,
    ):
        # The use will get the activation of the end, and wait for that of the other.
        fourth.execute("BEGIN")
        fourth.execute("SELECT FROM recall.activation WHERE memory_id = %s FOR UPDATE", (other,))
        with first.transaction():
            number = call(first, "plan_prune(p_max_share => 1, p_now => %s)", NOW)
            applied = first.execute(
                "SELECT memory_id, outcome FROM recall.apply_plan(%s, %s)", (number, NOW)
            ).fetchall()
            using = in_background(second, "record_accesses(%s::jsonb, %s)", items, NOW)
            blocked(first)
        assert applied == [{"memory_id": memory, "outcome": "archived"}]
        forgetting = in_background(third, "forget(%s, true, %s)", end, NOW)
        blocked(fourth, 2)
        fourth.execute("COMMIT")
        assert (using(), forgetting(), deadlocks(fourth)) == (2, True, 0)
    assert query("SELECT archived_at FROM recall.get(%s)", (memory,)) == [{"archived_at": None}]
    sound(query)


def test_an_edit_with_a_vector_locks_what_superseded_the_memory(database_url: str, query: Query) -> None:
    """Its row changes twice, by the text and by the vector; the second time its keys are checked."""
    later, memory = note(query, "later"), note(query, "k")
    query("SELECT recall.supersede(%s, %s, %s)", (memory, later, NOW))
    query(
        "INSERT INTO recall.token_signs (tenant, memory_id, model, signs) "
        "VALUES ('acme', %s, 'model', ARRAY[B'1010']::bit varying[])",
        (memory,),
    )
    embedded = json.dumps({"content_hash": digest_of("new"), "embedding": str([1.0] + [0.0] * 63)})
    with (
        connected(database_url) as first,
        connected(database_url) as second,
        connected(database_url) as third,
    ):
        # The edit will get its memory, and wait for its token signs.
        third.execute("BEGIN")
        third.execute("SELECT FROM recall.token_signs WHERE memory_id = %s FOR UPDATE", (memory,))
        text = "edit(%s, %s::jsonb, %s::jsonb, 'model', %s)"
        editing = in_background(first, text, memory, json.dumps({"body": "new", "title": ""}), embedded, NOW)
        blocked(third)
        forgetting = in_background(second, "forget(%s, true, %s)", later, NOW)
        blocked(third, 2)
        third.execute("COMMIT")
        editing()
        assert (forgetting(), deadlocks(third)) == (True, 0)
    sound(query)


def test_two_that_embed_a_memory_lock_it_once(database_url: str, query: Query) -> None:
    """While somebody refers to it, and another edits it: both have waited, and know its old version."""
    memory, last = note(query, "k"), note(query, "last")
    rows = query("SELECT id, content_hash FROM recall.unembedded(0)")
    items = json.dumps([{**row, "embedding": str([1.0] + [0.0] * 63)} for row in rows])
    text = "store_embeddings(%s::jsonb, 'model')"
    query(f"SELECT recall.{text}", ("[]",))  # the first one writes down the name of the model
    with (
        connected(database_url) as first,
        connected(database_url) as second,
        connected(database_url) as third,
        connected(database_url) as fourth,
        connected(database_url) as fifth,
    ):
        first.execute("BEGIN")
        first.execute("SELECT FROM recall.memory WHERE id = %s FOR KEY SHARE", (memory,))
        second.execute("BEGIN")
        second.execute("SELECT FROM recall.memory WHERE id = %s FOR NO KEY UPDATE", (last,))
        with third.transaction():
            call(third, "edit(%s, %s::jsonb, p_now => %s)", memory, json.dumps({"author": "Ann"}), NOW)
            embedding = in_background(fourth, text, items)
            blocked(third)
            again = in_background(fifth, text, items)
            blocked(third, 2)
        # One of them has got the memory and waits for the last; the other waits for it.
        until(lambda: third.execute(WAITING).fetchall() == [{"waiting": 2}], "two waits for transactions")
        second.execute("COMMIT")
        assert sorted((embedding(), again())) == [0, 2]
        assert deadlocks(third) == 0
    sound(query)
