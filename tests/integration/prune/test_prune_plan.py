"""Prune plans: who is a candidate, what the whole set would cut off, the caps, and what the report says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.conftest import NOW
from tests.databases import Query
from tests.integration.prune.prune_tools import LONG_AGO, document, note, notes, plan, planned, ring

A_DAY = timedelta(days=1)
YEARS = NOW + timedelta(days=3000)


def candidates(sql: Query, now: datetime = NOW, **options: Any) -> list[int]:
    given = {**options, "p_now": now}
    arguments = ", ".join(f"{name} => %({name})s" for name in given)
    return [row["memory_id"] for row in sql(f"SELECT * FROM recall.prune_candidates({arguments})", given)]


# Candidates


def test_a_new_note_is_no_candidate_the_minute_it_is_written(sql: Query) -> None:
    old, new = note(sql, "old"), note(sql, "new", at=NOW)
    assert candidates(sql) == [old]
    assert candidates(sql, now=NOW + timedelta(minutes=1), p_grace_days=0) == [old]
    assert candidates(sql, now=NOW + timedelta(days=29)) == [old]
    assert candidates(sql, now=NOW + timedelta(days=31)) == [old, new]


def test_a_new_note_about_old_times_is_not_a_candidate(sql: Query) -> None:
    note(sql, "diary", at=NOW, occurred_at=str(LONG_AGO))
    assert candidates(sql) == []
    sql(
        "SELECT recall.record_access(recall.id_of('diary'), 'retrieval', p_now => %s)",
        (NOW + timedelta(minutes=9),),
    )
    assert len(candidates(sql, p_grace_days=0, now=NOW + timedelta(hours=1))) == 1


def test_old_notes_that_nobody_could_have_used_yet_are_no_candidates(sql: Query) -> None:
    """An import makes them dormant at once. Grace begins when the memory is used at all."""
    old = note(sql, "imported", at=NOW, occurred_at=str(LONG_AGO))
    note(sql, "yesterday", at=NOW, occurred_at=str(NOW - timedelta(hours=20)))
    other = note(sql, "looked up", at=NOW, occurred_at=str(LONG_AGO))

    def kept(days: int) -> bool:
        return old not in candidates(sql, now=NOW + timedelta(days=days))

    assert kept(40)
    assert kept(4000)
    assert len(candidates(sql, now=NOW + timedelta(days=4000))) == 1  # what was new faded by itself
    sql("SELECT recall.record_access(%s, 'retrieval', p_now => %s)", (other, NOW + timedelta(days=50)))
    assert kept(79)
    assert not kept(81)


def test_a_use_keeps_a_note_for_the_days_of_grace(sql: Query) -> None:
    old = note(sql, "old")
    used = "SELECT recall.record_access(%s, 'used', p_at => %s, p_now => %s)"
    sql(used, (old, NOW - 70 * A_DAY, NOW))
    assert candidates(sql, p_grace_days=71) == []
    assert candidates(sql, p_grace_days=69) == [old]


def test_lively_layers_are_no_candidates(sql: Query) -> None:
    note(sql, "person", layer="entity")
    old = note(sql, "chore")
    assert candidates(sql) == [old]


def test_zones_are_computed_now_not_read_from_the_cache(sql: Query) -> None:
    old = note(sql, "old")
    sql("UPDATE recall.activation SET vitality = 0.99, computed_at = now()")
    assert candidates(sql) == [old]
    sql("UPDATE recall.activation SET vitality = 0.01")
    assert candidates(sql, now=LONG_AGO + timedelta(hours=2), p_grace_days=0) == []


def test_the_bounds_of_a_layer_are_its_own(sql: Query) -> None:
    own = "INSERT INTO recall.layer (tenant, name, metabolic_rate, fading) VALUES ('acme', 'activity', 3, %s)"
    sql(own, (0.001,))
    note(sql, "old")
    assert candidates(sql) == []


def test_pinned_protected_and_newly_linked_notes_are_no_candidates(sql: Query) -> None:
    note(sql, "pinned", pinned=True)
    protected, linked, free = note(sql, "protected"), note(sql, "linked"), note(sql, "free")
    sql("UPDATE recall.activation SET protected = true, cut_size = 3 WHERE memory_id = %s", (protected,))
    note(sql, "new", "linked", at=NOW - 13 * A_DAY)
    assert candidates(sql) == [free]
    # A reference slows ageing, hence a moment at which both are long past.
    assert set(candidates(sql, now=YEARS)) >= {linked, free}


def test_a_pin_counts_even_without_a_floor(sql: Query) -> None:
    sql("SELECT recall.set_setting('vitality.protection_floor', 0)")
    note(sql, "pinned", pinned=True)
    assert candidates(sql) == []


def test_superseded_and_archived_notes(sql: Query) -> None:
    old, new, gone = note(sql, "old"), note(sql, "new"), note(sql, "gone")
    sql("SELECT recall.supersede(%s, %s, %s)", (old, new, NOW))
    sql("SELECT recall.forget(%s, p_now => %s)", (gone, NOW))
    assert candidates(sql) == [old, new]
    items = document(sql, plan(sql))["items"]
    assert items[0]["reason"].endswith(f"stored 400 days ago; superseded by memory {new}.")


def test_only_the_layers_asked_for(sql: Query) -> None:
    note(sql, "slow", layer="knowledge", at=NOW - 3000 * A_DAY)
    fast = note(sql, "fast")
    assert candidates(sql, p_layers=["activity", "episodic"]) == [fast]
    assert planned(sql, plan(sql, p_layers=["activity"])) == ["fast"]


def test_tenants_have_plans_of_their_own(sql: Query) -> None:
    note(sql, "ours")
    note(sql, "theirs", tenant="other")
    assert planned(sql, plan(sql)) == ["ours"]
    assert planned(sql, plan(sql, tenant="other"), tenant="other") == ["theirs"]


# The whole set


def test_two_opposite_notes_of_a_ring_do_not_go_together(sql: Query) -> None:
    ids = ring(sql)
    made = document(sql, plan(sql))
    assert [item["id"] for item in made["items"]] == [ids[3]]
    report = made["report"]
    assert (report["eligible"], report["would_cut_off"]) == (2, 2)
    [kept] = report["kept_back"]
    assert (kept["id"], kept["key"], kept["title"], kept["cut_size"]) == (ids[0], "r0", "Note r0", 2)
    side = [{"id": ids[i], "title": f"Note r{i}"} for i in (1, 2)]
    other = [{"id": ids[i], "title": f"Note r{i}"} for i in (4, 5)]
    assert kept["examples"] in (side, other)


def test_a_component_may_go_whole(sql: Query) -> None:
    ring(sql, 5, old=range(5))
    made = document(sql, plan(sql))
    assert len(made["items"]) == 5
    assert (made["report"]["would_cut_off"], made["report"]["kept_back"]) == (0, [])


def test_links_that_are_no_references_hold_nothing_together(sql: Query) -> None:
    ids = notes(sql, [{"key": key, "pinned": key != "b"} for key in "abc"])
    for relation in ("next", "part_of", "contradicts"):
        sql("SELECT recall.link(%s, %s, %s, p_now => %s)", (ids["a"], ids["b"], relation, LONG_AGO))
        sql("SELECT recall.link(%s, %s, %s, p_now => %s)", (ids["b"], ids["c"], relation, LONG_AGO))
    made = document(sql, plan(sql))
    assert [item["key"] for item in made["items"]] == ["b"]
    assert made["report"]["links_ending"] == 0


# Caps


def test_at_most_so_many_the_least_lively_first(sql: Query) -> None:
    for age in (300, 500, 400, 700, 600):
        note(sql, f"n{age}", at=NOW - age * A_DAY)
    made = document(sql, plan(sql, p_max_count=2))
    assert [item["key"] for item in made["items"]] == ["n700", "n600"]
    assert [item["place"] for item in made["items"]] == [1, 2]
    assert (made["report"]["eligible"], made["report"]["capped"], made["report"]["planned"]) == (5, 3, 2)


@pytest.mark.parametrize(("share", "most"), [(0.29, 29), (0.5, 50), (0.005, 0), (1.0, 100)])
def test_at_most_a_share_of_the_live_memories(sql: Query, share: float, most: int) -> None:
    notes(sql, [{"key": f"n{i}"} for i in range(100)])
    assert len(planned(sql, plan(sql, p_max_share=share))) == most


def test_a_cap_takes_no_note_without_what_hangs_on_it(sql: Query) -> None:
    # Down a chain from a kept note, the least lively stands nearest to it and would cut off the rest.
    notes(sql, [{"key": "root", "pinned": True}])
    for place, age in enumerate((900, 800, 300)):
        at = NOW - age * A_DAY
        note(sql, f"c{place}", at=at)
        before = "root" if place == 0 else f"c{place - 1}"
        sql(
            "SELECT recall.link(recall.id_of(%s), recall.id_of(%s), p_now => %s)",
            (before, f"c{place}", LONG_AGO),
        )
    assert planned(sql, plan(sql, p_max_count=1)) == ["c2"]
    assert set(planned(sql, plan(sql, p_max_count=2))) == {"c2", "c1"}


def test_settings_are_the_defaults(sql: Query) -> None:
    notes(sql, [{"key": f"n{i}"} for i in range(30)])
    [row] = sql("SELECT recall.plan_prune(p_now => %s) AS id", (NOW,))
    made = document(sql, row["id"])
    assert made["options"] == {
        "max_count": 1000, "max_share": 0.1, "grace_days": 30, "revival_days": 14, "layers": None,
    }  # fmt: skip
    assert len(made["items"]) == 3
    sql("SELECT recall.set_setting('prune.max_count', 2)")
    [row] = sql("SELECT recall.plan_prune(p_now => %s) AS id", (NOW,))
    assert len(document(sql, row["id"])["items"]) == 2


# Bad input


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"p_max_share": 0.0}, "prune.max_share is 0; it must lie between"),
        ({"p_max_share": 1.01}, "prune.max_share is 1.01; it must lie between"),
        ({"p_max_share": float("nan")}, "prune.max_share is NaN; it must lie between"),
        ({"p_max_count": 0}, "prune.max_count is 0; it must lie between 1 and"),
        ({"p_max_count": -3}, "prune.max_count is -3; it must lie between 1 and"),
        ({"p_grace_days": -1.0}, "prune.grace_days is -1; it must lie between 0 and"),
        ({"p_grace_days": float("inf")}, "prune.grace_days is Infinity; it must lie between 0 and"),
        ({"p_layers": ["activity", "dreams"]}, "There is no layer 'dreams'."),
        ({"p_layers": [None]}, "There is no layer 'NULL'."),
        ({"p_layers": []}, "p_layers is empty."),
        ({"now": "infinity"}, "p_now is infinity; it must be a moment."),
        ({"now": None}, "p_now is NULL; it must be a moment."),
    ],
)
def test_bad_options_are_refused(sql: Query, options: dict[str, Any], sentence: str) -> None:
    note(sql, "old")
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        plan(sql, **options)
    assert sentence in str(refused.value)
    assert sql("SELECT id FROM recall.plan") == []


@pytest.mark.parametrize(("limit", "offset"), [(-1, 0), (10_001, 0), (None, 0), (10, -1), (10, None)])
def test_a_page_that_cannot_be_read(sql: Query, limit: int | None, offset: int | None) -> None:
    number = plan(sql)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="cannot be read"):
        sql("SELECT recall.get_plan(%s, %s, %s)", (number, limit, offset))


@pytest.mark.parametrize("call", ["get_plan(%s)", "apply_plan(%s)", "undo_plan(%s)", "drop_plan(%s)"])
def test_an_unknown_plan(sql: Query, call: str) -> None:
    for unknown in (4711, None):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="There is no plan"):
            sql(f"SELECT recall.{call}", (unknown,))


@pytest.mark.parametrize("call", ["get_plan(%s)", "apply_plan(%s)", "undo_plan(%s)", "drop_plan(%s)"])
def test_another_tenants_plan(sql: Query, call: str) -> None:
    note(sql, "theirs", tenant="other")
    number = plan(sql, tenant="other")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=f"There is no plan {number}"):
        sql(f"SELECT recall.{call}", (number,))
