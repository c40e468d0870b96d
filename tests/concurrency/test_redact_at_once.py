"""Redact plans beside others: no error of Postgres, and what cannot be done is a note of the plan."""

from __future__ import annotations

import json

from pgrecall import Memory
from tests.concurrency.crowd import call, connected, deadlocks, in_background
from tests.databases import Query
from tests.integration.prune.prune_tools import NOW
from tests.integration.redact.test_redact import GITHUB, URL, held
from tests.waiting import blocked

APPLY = "apply_plan(%s, %s)"
APPLY_ALL = "current_tenant(), (SELECT count(*) FROM recall.apply_plan(%s, %s))"
CREATE = "remember('Another.', p_key => %s, p_now => %s)"


def test_a_memory_that_is_deleted_meanwhile_is_not_planned(
    memory: Memory, database_url: str, query: Query
) -> None:
    gone, stays = (memory.remember(f"Token {GITHUB} {number}").id for number in range(2))
    found = (
        "plan_redact((SELECT jsonb_agg(jsonb_build_object('id', memory_id, 'version', version, "
        "'digest', digest, 'places', jsonb_build_array(jsonb_build_object("
        "'path', ARRAY['body'], 'spans', jsonb_build_array(jsonb_build_array(6, 40, 'Key')))))) "
        "FROM recall.stored_texts()), p_now => %s)"
    )
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            call(first, "forget(%s, true, %s)", gone, NOW)
            waiting = in_background(second, found, NOW)
            blocked(first)
        number = waiting()
    assert [item.id for item in memory.plans.get(number).items] == [stays]


def test_a_key_that_another_memory_just_gets_stays_with_it(
    memory: Memory, database_url: str, query: Query
) -> None:
    placeholder = "to [removed: GitHub Token]"
    note = memory.remember("The winch.", key=f"to {GITHUB}").id
    with connected(database_url) as first, connected(database_url) as second:
        refused = memory.plans.redact(now=NOW).id
        with first.transaction():
            other = call(first, CREATE, placeholder, NOW)
            waiting = in_background(second, APPLY, refused, NOW)
            blocked(first)
        waiting()
        [item] = memory.plans.get(refused).items
        assert (item.outcome, item.note) == ("skipped", "another memory has its key with the placeholder")
        memory.forget(other, hard=True, now=NOW)
        applied = memory.plans.redact(now=NOW).id
        assert memory.plans.apply(applied, now=NOW).redacted == (note,)
        with first.transaction():
            other = call(first, CREATE, f"to {GITHUB}", NOW)
            waiting = in_background(second, "undo_plan(%s, %s)", applied, NOW)
            blocked(first)
        assert waiting() == 0
    assert (memory.get(placeholder).id, memory.get(f"to {GITHUB}").id) == (note, other)


def test_an_erasure_that_deletes_imports_comes_first(memory: Memory, database_url: str, query: Query) -> None:
    """Both change an erasure and an import: in one order, or they would wait for each other."""
    note = {"key": "a", "body": "The winch.", "source": URL}
    query(
        "SELECT FROM recall.store_imported(%s, NULL, %s::jsonb, p_now => %s)", (URL, json.dumps([note]), NOW)
    )
    memory.remember(f"Token {GITHUB}.", key="token")
    erasure = memory.erasure.plan(source=URL, asked_by="A person", now=NOW)
    plan = memory.plans.redact(now=NOW).id
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            first.execute("SELECT FROM recall.erasure WHERE id = %s FOR UPDATE", (erasure.id,))
            waiting = in_background(second, APPLY_ALL, plan, NOW)
            blocked(first)
            call(first, "apply_erasure(%s, 'A person', p_now => %s)", erasure.id, NOW)
        waiting()
        assert deadlocks(first) == 0
    assert memory.erasure.get(erasure.id).state == "done"
    assert {item.outcome for item in memory.plans.get(plan).items} == {"redacted"}


def test_an_import_that_goes_on_has_its_memories_first(
    memory: Memory, database_url: str, query: Query
) -> None:
    """Both change the plan of the import and the memory: in one order, or they would wait for each other."""
    note, other = ({"key": key, "body": f"Token {GITHUB} of {key}.", "source": URL} for key in ("a", "b"))
    store = "SELECT FROM recall.store_imported(%s, %s, %s::jsonb, p_now => %s)"
    query(store, (URL, None, json.dumps([note, other]), NOW))
    plan = memory.plans.redact(now=NOW).id
    with connected(database_url) as first, connected(database_url) as second:
        with first.transaction():
            first.execute(store, (URL, 1, json.dumps([{"key": "c", "body": "New."}]), NOW))
            waiting = in_background(second, APPLY_ALL, plan, NOW)
            blocked(first)
            first.execute(store, (URL, 1, json.dumps([note | {"tags": ["new"]}]), NOW))
        assert waiting() == 2
        assert deadlocks(first) == 0
    notes = {item.note for item in memory.plans.get(plan).items}
    assert notes == {None, "rewritten since"}
    assert held(query) == {"memory", "memory_version"}
