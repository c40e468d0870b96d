"""Forgetting for good: nothing of a memory is left in any table, log, plan, answer or dump."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pgrecall import Draft, DraftLink, Memory
from pgrecall.errors import MemoryNotFound
from tests.databases import Query
from tests.integration.access.use_tools import as_tenant
from tests.integration.memories.privacy_world import (
    JOBS,
    KEY,
    MARK,
    NOW,
    OLD,
    answers,
    fill,
    import_conversation,
)
from tests.migration.test_dump import program, run
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

COLUMNS = "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'r'"
OF_ONE = (
    "access", "access_key", "activation", "archival", "floor_change", "judgement", "name", "plan_item",
)  # fmt: skip
"""Tables whose rows are about one memory each."""


def places(query: Query, text: str) -> set[str]:
    """The tables that hold a text anywhere, by every row as it is written out."""
    tables = [row["relname"] for row in query(COLUMNS)]
    holds = "SELECT FROM recall.{} r WHERE r::text ILIKE %s LIMIT 1"
    return {table for table in tables if query(holds.format(table), (f"%{text}%",))}


def about(query: Query, number: int) -> set[str]:
    """The tables with rows about the memory of this number."""
    held = "SELECT FROM recall.{} WHERE tenant = 'acme' AND memory_id = %s LIMIT 1"
    return {table for table in OF_ONE if query(held.format(table), (number,))}


def clean(memory: Memory) -> bool:
    return not any(check.problems for check in memory.maintenance.verify())


def test_nothing_is_left_of_a_memory_that_was_everywhere(
    memory: Memory, query: Query, database_url: str
) -> None:
    number = fill(memory, query)
    assert places(query, MARK) >= {"memory", "name", "pending_link", "access_key", "lexeme"}
    assert about(query, number) == set(OF_ONE)
    assert MARK in "".join(answers(memory))
    [vector] = query(
        "SELECT embedding::text AS written FROM recall.vector_shared WHERE memory_id = %s", (number,)
    )
    assert vector["written"] in run([program("pg_dump"), database_url])

    assert memory.forget(KEY, hard=True, now=NOW)

    assert places(query, MARK) == set()
    dump = run([program("pg_dump"), database_url])
    assert MARK not in dump.lower()
    assert vector["written"] not in dump
    assert MARK not in "".join(answers(memory))
    assert about(query, number) == set()
    assert clean(memory)
    for job in JOBS:
        assert [outcome.error for outcome in memory.jobs.run(job, now=NOW)] == [None]
    assert MARK not in repr([memory.jobs.runs(job) for job in JOBS])


def test_words_of_an_earlier_wording_go_when_words_are_counted_again(memory: Memory, query: Query) -> None:
    memory.remember(f"the {MARK}former harbour", key=KEY)
    memory.jobs.run("statistics")
    memory.remember(f"the {MARK}later harbour", key=KEY)
    memory.forget(KEY, hard=True)
    assert places(query, MARK) == {"lexeme"}
    memory.jobs.run("statistics")
    assert places(query, MARK) == set()


def test_what_others_hold_as_well_stays_theirs(memory: Memory, query: Query) -> None:
    """A question stays its asker's; so do links and words that others have written."""
    memory.remember("the harbour contract", key=KEY, links=[DraftLink("nobody yet")])
    memory.remember("a contract elsewhere", key="other", links=[DraftLink(KEY), DraftLink("nobody yet")])
    memory.jobs.run("statistics")
    shown = memory.search(f"harbour contract {MARK}")

    memory.forget(KEY, hard=True)

    assert query("SELECT query, shown FROM recall.search_log WHERE id = %s", (shown.search_id,)) == [
        {"query": f"harbour contract {MARK}", "shown": [None, memory.get("other").id]}
    ]
    assert query("SELECT src, target FROM recall.pending_link") == [
        {"src": memory.get("other").id, "target": "nobody yet"}
    ]
    words = {row["word"] for row in query("SELECT word FROM recall.lexeme WHERE word <> ''")}
    assert "contract" in words
    assert "harbour" not in words
    # What was asked goes by the setting that keeps it.
    memory.settings.set("search.log_days", 0)
    memory.jobs.run("expire")
    assert query("SELECT FROM recall.search_log") == []
    assert clean(memory)


def test_a_turn_is_taken_out_of_the_context_of_the_next(memory: Memory, query: Query, tmp_path: Path) -> None:
    key = import_conversation(memory, tmp_path)
    following = memory.get("talk/3").id
    assert MARK in memory.get(following).context
    memory.jobs.run("statistics")

    memory.forget(key, hard=True)

    assert places(query, MARK) == set()
    assert (memory.get(following).context, memory.get(following).body) == ("", "thank you for that")
    assert "where is it" not in memory.get(following).context
    assert clean(memory)


def test_a_context_that_says_something_else_is_left_alone(memory: Memory) -> None:
    memory.remember_many(
        [
            Draft("yes", key="a", author="Mira", links=(DraftLink("b", "next"),)),
            Draft("no", key="b", context="8 May 2023\nBram: yes or no"),
            Draft("so", key="c", context="8 May 2023\nMira: yes"),
        ]
    )
    memory.forget("a", hard=True)
    assert memory.get("b").context == "8 May 2023\nBram: yes or no"
    assert memory.get("c").context == "8 May 2023\nMira: yes"  # nothing says that it follows


def test_of_a_dated_conversation_the_date_stays(memory: Memory) -> None:
    memory.remember_many(
        [
            Draft("yes", key="a", author="Mira", links=(DraftLink("b", "next"),)),
            Draft("no", key="b", context="8 May 2023\nMira: yes"),
        ]
    )
    memory.forget("a", hard=True)
    assert memory.get("b").context == "8 May 2023"


def test_many_are_forgotten_and_those_that_are_not_there_are_named(memory: Memory) -> None:
    drafts = [Draft(f"{MARK} number {n}", key=f"k{n}", links=(DraftLink(f"k{n + 1}"),)) for n in range(20)]
    memory.remember_many(drafts)
    assert [memory.forget(f"k{n}", hard=True) for n in range(20)] == [True] * 20
    for again in ("k0", "never there", 4711):
        with pytest.raises(MemoryNotFound, match=str(again)):
            memory.forget(again, hard=True)
    assert clean(memory)


@pytest.mark.parametrize("which", ["earlier", "later"])
def test_either_side_of_a_supersession_can_go(memory: Memory, which: str) -> None:
    memory.remember("the harbour opens at nine", key="earlier")
    memory.remember("the harbour opens at ten", key="later")
    memory.supersede("earlier", "later")

    memory.forget(which, hard=True)

    [hit] = memory.search("harbour opens", log=False).hits
    assert hit.key == ({"earlier", "later"} - {which}).pop()
    assert hit.superseded_by is None
    assert clean(memory)


def test_what_held_the_graph_together_can_go(memory: Memory, query: Query) -> None:
    keys = [f"left-{n}" for n in range(4)] + ["middle"] + [f"right-{n}" for n in range(4)]
    for before, after in zip(keys, [*keys[1:], ""], strict=True):
        memory.remember(f"note {before}", key=before, links=[DraftLink(after)] if after else [])
    protected = (
        "SELECT m.key FROM recall.memory m JOIN recall.activation a ON a.memory_id = m.id WHERE protected"
    )
    memory.maintenance.refresh_graph()
    assert {"key": "middle"} in query(protected)

    memory.forget("middle", hard=True)

    memory.maintenance.refresh_graph()
    assert query(protected) == []
    assert clean(memory)


@pytest.mark.parametrize("undo", [True, False])
def test_an_open_plan_goes_on_without_it(memory: Memory, query: Query, undo: bool) -> None:
    later = NOW.replace(year=NOW.year + 11)
    memory.remember_many(
        [Draft(f"the {MARK} note {n}", key=f"k{n}", layer="activity", occurred_at=OLD) for n in range(4)],
        now=OLD,
    )
    plan = memory.plans.prune(now=later, max_share=1.0, grace_days=0.0)
    assert len(plan.items) == 4
    memory.forget("k1", hard=True, now=later)
    assert len(memory.plans.get(plan.id).items) == 3
    assert clean(memory)

    done = memory.plans.apply(plan.id, now=later)
    assert len(done.archived) == 3
    memory.forget("k2", hard=True, now=later)  # archived by the plan
    assert clean(memory)
    if undo:
        assert memory.plans.undo(plan.id, now=later).restored == 2
        assert clean(memory)


def test_it_waits_for_what_it_had_superseded_before_it_holds_anything(
    memory: Memory, database_url: str
) -> None:
    """Deleting changes the row of what was superseded: locked late, it deadlocks with who archives that."""
    for key in ("shared", "earlier", "later"):
        memory.remember(f"note {key}", key=key, links=[] if key == "shared" else [DraftLink("shared")])
    memory.supersede("earlier", "later")
    earlier = memory.get("earlier").id
    with as_tenant(database_url, autocommit=False) as other, ThreadPoolExecutor(1) as thread:
        other.execute("SELECT FROM recall.memory WHERE id = %s FOR UPDATE", (earlier,))
        deleted = thread.submit(memory.forget, "later", hard=True)
        blocked(other)
        other.execute("SELECT recall.forget(%s)", (earlier,))
        other.commit()
        assert deleted.result(timeout=PATIENCE)
    assert clean(memory)
