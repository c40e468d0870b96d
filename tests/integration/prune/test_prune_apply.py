"""Applying and undoing prune plans: every item looked at again, all or nothing, and back as it was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.conftest import NOW
from tests.databases import Query
from tests.integration.prune.prune_tools import (
    LONG_AGO,
    apply,
    archived,
    document,
    note,
    notes,
    plan,
    ring,
    undo,
)

LATER = NOW + timedelta(days=2)


def rows(sql: Query) -> dict[str, list[Any]]:
    """Every column of what a plan touches."""
    return {
        table: sql(f"SELECT to_jsonb(t) AS row FROM recall.{table} t ORDER BY to_jsonb(t)::text")
        for table in ("memory", "activation", "link", "name", "floor_change")
    }


def test_what_a_plan_is_for_is_archived_and_the_rest_stays(sql: Query) -> None:
    ids = ring(sql)
    number = plan(sql)
    assert apply(sql, number, now=LATER) == {ids[3]: "archived"}
    assert archived(sql) == {ids[3]}
    made = document(sql, number)
    assert (made["state"], made["items"][0]["outcome"], made["items"][0]["note"]) == (
        "applied", "archived", None,
    )  # fmt: skip
    [told] = sql("SELECT * FROM recall.archival")
    assert (told["memory_id"], told["reason"], told["plan_id"]) == (ids[3], "pruned", number)
    assert (told["archived_at"], told["restored_at"]) == (LATER, None)


def test_undoing_restores_every_column(sql: Query) -> None:
    ring(sql, 8, old=(0, 2, 3, 5))
    note(sql, "leaf", "r1")
    before = rows(sql)
    number = plan(sql)
    assert "archived" in apply(sql, number).values()
    assert rows(sql) != before
    count = len(archived(sql))
    assert undo(sql, number, now=LATER) == count
    assert rows(sql) == before
    assert {row["restored_at"] for row in sql("SELECT restored_at FROM recall.archival")} == {LATER}
    assert document(sql, number)["state"] == "undone"


# What happened since the plan

Since = Callable[[Query, int], object]


def used(sql: Query, memory: int) -> None:
    sql("SELECT recall.record_access(%s, 'used', p_now => %s)", (memory, NOW))


def used_long_ago_and_told_now(sql: Query, memory: int) -> None:
    at = LONG_AGO + timedelta(hours=1)
    sql("SELECT recall.record_access(%s, 'read', p_at => %s, p_now => %s)", (memory, at, LATER))


def shown(sql: Query, memory: int) -> None:
    sql("SELECT recall.record_access(%s, 'retrieval', p_now => %s)", (memory, LATER))


def linked(sql: Query, memory: int) -> None:
    other = note(sql, "citing", at=LATER)
    sql("SELECT recall.link(%s, %s, p_now => %s)", (other, memory, LATER))


def linked_as_of_long_ago(sql: Query, memory: int) -> None:
    other = note(sql, "citing", at=LATER)
    sql("SELECT recall.link(%s, %s, p_now => %s)", (other, memory, LONG_AGO))


def pinned(sql: Query, memory: int) -> None:
    sql("SELECT recall.pin(%s, p_now => %s)", (memory, LATER))


def protected(sql: Query, memory: int) -> None:
    sql("SELECT recall_private.store_cut_sizes(ARRAY[%s::bigint], ARRAY[4])", (memory,))


def forgotten(sql: Query, memory: int) -> None:
    sql("SELECT recall.forget(%s, p_now => %s)", (memory, LATER))


def expired(sql: Query, memory: int) -> None:
    sql("UPDATE recall.memory SET expires_at = %s WHERE id = %s", (LATER, memory))
    sql("SELECT recall.expire_memories(p_now => %s)", (LATER,))


def pruned_by_another_plan(sql: Query, memory: int) -> None:
    apply(sql, plan(sql, p_layers=["activity"]), now=LATER)


def rewritten(sql: Query, memory: int) -> None:
    note(sql, "old", body="something else", at=LATER)


def slower(sql: Query, memory: int) -> None:
    sql("UPDATE recall.activation SET clock = 0.1 WHERE memory_id = %s", (memory,))


@pytest.mark.parametrize(
    ("since", "note_about"),
    [
        (used, "used since"),
        (used_long_ago_and_told_now, "used since"),
        (shown, "shown in results since"),
        (linked, "linked since"),
        (linked_as_of_long_ago, "linked since"),
        (pinned, "pinned since"),
        (protected, "protected now: 4 memories would be disconnected without it"),
        (forgotten, "forgotten already"),
        (expired, "expired already"),
        (pruned_by_another_plan, "archived by plan {other} already"),
        (rewritten, "rewritten since"),
        (slower, "in the zone fading now"),
    ],
)
def test_what_changed_since_the_plan_is_skipped_and_says_why(
    sql: Query, since: Since, note_about: str
) -> None:
    old, other = note(sql, "old"), note(sql, "other", layer="knowledge", at=NOW - timedelta(days=900))
    number = plan(sql)
    assert {item["id"] for item in document(sql, number)["items"]} == {old, other}
    since(sql, old)
    told = apply(sql, number, now=LATER)
    assert told == {other: "archived", old: note_about.format(other=number + 1)}
    item = next(item for item in document(sql, number)["items"] if item["id"] == old)
    assert (item["outcome"], item["note"]) == ("skipped", told[old])


def test_a_deleted_memory_is_no_longer_in_the_plan(sql: Query) -> None:
    old, other = note(sql, "old"), note(sql, "other")
    number = plan(sql)
    sql("SELECT recall.forget(%s, p_hard => true)", (old,))
    assert apply(sql, number) == {other: "archived"}


def test_what_would_now_cut_something_off_is_skipped(sql: Query) -> None:
    ids = ring(sql)
    number = plan(sql)
    sql("SELECT recall.forget(%s, p_now => %s)", (ids[0], NOW))  # the ring is a chain now
    assert apply(sql, number) == {ids[3]: "2 memories would be disconnected without it"}
    assert archived(sql) == {ids[0]}


def test_items_that_stay_count_as_staying_in_the_joint_check(sql: Query) -> None:
    # A chain of candidates off a kept note: while the last stays, those before it have to.
    ids = notes(sql, [{"key": "root", "pinned": True, "links": ["a"]}, {"key": "a", "links": ["b"]},
                      {"key": "b", "links": ["c"]}, {"key": "c"}, {"key": "free"}])  # fmt: skip
    number = plan(sql)
    assert len(document(sql, number)["items"]) == 4
    sql("SELECT recall.pin(%s, p_now => %s)", (ids["c"], NOW))
    assert apply(sql, number) == {
        ids["free"]: "archived",
        ids["c"]: "pinned since",
        ids["a"]: "1 memory would be disconnected without it",
        ids["b"]: "1 memory would be disconnected without it",
    }


# Plans that cannot be applied or undone


def refused(sql: Query, sentence: str, call: Callable[[], object]) -> None:
    before = archived(sql)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=sentence):
        call()
    assert archived(sql) == before


def test_a_plan_is_applied_once_and_undone_once(sql: Query) -> None:
    note(sql, "old")
    number = plan(sql)
    refused(sql, "has not been applied", lambda: undo(sql, number))
    apply(sql, number)
    refused(sql, f"Prune plan {number} was already applied", lambda: apply(sql, number))
    undo(sql, number)
    refused(sql, f"Prune plan {number} was already undone", lambda: undo(sql, number))
    refused(sql, f"Prune plan {number} was already undone", lambda: apply(sql, number))


def test_a_stale_plan_is_refused(sql: Query) -> None:
    note(sql, "old")
    number = plan(sql)
    late = NOW + timedelta(days=7, seconds=1)
    refused(sql, f"Prune plan {number} has expired", lambda: apply(sql, number, now=late))
    sql("SELECT recall.set_setting('prune.plan_days', 8)")
    assert "archived" in apply(sql, number, now=late).values()


def test_a_plan_for_later_waits(sql: Query) -> None:
    note(sql, "old")
    number = plan(sql, now=NOW + timedelta(days=1))
    refused(sql, "which is in the future", lambda: apply(sql, number))


def test_a_plan_that_grew_beyond_its_share_is_refused(sql: Query) -> None:
    ids = notes(sql, [{"key": f"n{i}", "pinned": i >= 5} for i in range(10)])
    number = plan(sql, p_max_share=0.5)
    assert len(document(sql, number)["items"]) == 5
    sql("SELECT recall.forget(%s, p_now => %s)", (ids["n9"], NOW))
    refused(sql, "would archive 5 of 9 live memories, more than its share of 0.5", lambda: apply(sql, number))
    assert document(sql, number)["state"] == "planned"
    assert {item["outcome"] for item in document(sql, number)["items"]} == {None}


def test_what_is_skipped_does_not_count_towards_the_share(sql: Query) -> None:
    ids = notes(sql, [{"key": f"n{i}", "pinned": i >= 5} for i in range(10)])
    number = plan(sql, p_max_share=0.5)
    sql("SELECT recall.forget(%s, p_now => %s)", (ids["n0"], NOW))
    assert sorted(apply(sql, number).values()) == ["archived"] * 4 + ["forgotten already"]


@pytest.mark.parametrize("call", ["apply_plan", "undo_plan"])
@pytest.mark.parametrize("moment", ["infinity", "-infinity", None])
def test_a_moment_that_is_none(sql: Query, call: str, moment: str | None) -> None:
    note(sql, "old")
    number = plan(sql)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="it must be a moment"):
        sql(f"SELECT recall.{call}(%s, %s)", (number, moment))


def test_an_empty_plan_may_be_applied(sql: Query) -> None:
    number = plan(sql)
    assert apply(sql, number) == {}
    assert undo(sql, number) == 0


# All or nothing, and what came back meanwhile


def test_a_failure_halfway_leaves_nothing_behind(sql: Query) -> None:
    ids = notes(sql, [{"key": f"n{i}"} for i in range(5)])
    number = plan(sql)
    sql(f"ALTER TABLE recall.archival ADD CONSTRAINT broken CHECK (memory_id <> {ids['n3']})")
    with pytest.raises(psycopg.errors.CheckViolation):
        apply(sql, number)
    assert archived(sql) == set()
    assert sql("SELECT id FROM recall.archival") == []
    made = document(sql, number)
    assert (made["state"], {item["outcome"] for item in made["items"]}) == ("planned", {None})


def test_undo_leaves_alone_what_came_back_or_went_by_itself(sql: Query) -> None:
    ids = notes(sql, [{"key": key} for key in ("stays", "used", "forgotten", "deleted")])
    number = plan(sql)
    apply(sql, number)
    for key in ("used", "forgotten"):
        sql("SELECT recall.record_access(%s, 'used', p_now => %s)", (ids[key], LATER))
    assert archived(sql) == {ids["stays"], ids["deleted"]}
    sql("SELECT recall.forget(%s, p_now => %s)", (ids["forgotten"], LATER))
    sql("SELECT recall.forget(%s, p_hard => true)", (ids["deleted"],))
    assert undo(sql, number) == 1
    assert archived(sql) == {ids["forgotten"]}


def test_a_plan_may_follow_the_undone_one(sql: Query) -> None:
    old = note(sql, "old")
    for _ in range(3):
        number = plan(sql)
        assert apply(sql, number) == {old: "archived"}
        assert undo(sql, number) == 1
    assert len(sql("SELECT id FROM recall.archival WHERE restored_at IS NOT NULL")) == 3


def test_what_refers_to_an_archived_memory_counts_again_after_undo(sql: Query) -> None:
    kept, old = note(sql, "kept", pinned=True), note(sql, "old", "kept")

    def in_degree() -> int:
        [row] = sql("SELECT in_degree FROM recall.activation WHERE memory_id = %s", (kept,))
        return int(row["in_degree"])

    number = plan(sql)
    assert in_degree() == 1
    assert apply(sql, number) == {old: "archived"}
    assert in_degree() == 0
    undo(sql, number)
    assert in_degree() == 1


# A part of a plan


def test_only_what_was_chosen_is_archived(sql: Query) -> None:
    ids = notes(sql, [{"key": key} for key in "abc"])
    before = rows(sql)
    number = plan(sql)
    call = "SELECT * FROM recall.apply_plan(%s, %s, %s::bigint[])"
    became = {
        row["memory_id"]: row["note"] or row["outcome"] for row in sql(call, (number, LATER, [ids["b"]]))
    }
    assert became == {ids["a"]: "not chosen", ids["b"]: "archived", ids["c"]: "not chosen"}
    assert archived(sql) == {ids["b"]}
    assert undo(sql, number, now=LATER) == 1
    assert rows(sql) == before


@pytest.mark.parametrize("strange", [[-1], [None]])
def test_a_part_that_the_plan_does_not_have_is_refused(sql: Query, strange: list[int | None]) -> None:
    ids = notes(sql, [{"key": key} for key in "ab"])
    number = plan(sql)
    call = "SELECT * FROM recall.apply_plan(%s, %s, %s::bigint[])"
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="has no memory"):
        sql(call, (number, LATER, [ids["a"], *strange]))
    assert archived(sql) == set()
    assert {row["note"] for row in sql(call, (number, LATER, []))} == {"not chosen"}
