"""What a prune plan reports, how it is read and listed, and what stays of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.conftest import NOW
from tests.databases import Query
from tests.integration.prune.prune_tools import archived, document, note, notes, plan, ring

A_DAY = timedelta(days=1)


def test_the_report_says_what_would_happen(sql: Query) -> None:
    hub = note(sql, "hub", layer="entity")
    leaf = note(sql, "leaf", "hub")
    pair = [note(sql, "one", at=NOW - 450 * A_DAY), note(sql, "two", "one")]
    made = document(sql, plan(sql))
    report = made["report"]
    assert (made["state"], made["applied_at"], made["undone_at"]) == ("planned", None, None)
    assert datetime.fromisoformat(made["created_at"]) == NOW
    assert report["live"] == 4
    assert report["zones"] == {"activity": {"dormant": 3}, "entity": {"fading": 1}}
    assert sum(report["histogram"]) == 4
    assert (len(report["histogram"]), report["histogram"][0]) == (20, 3)
    assert report["links_ending"] == 2
    assert report["links"] == [[pair[1], pair[0], "links_to"], [leaf, hub, "links_to"]]
    [neighbour] = report["neighbours"]
    assert (neighbour["id"], neighbour["key"], neighbour["layer"]) == (hub, "hub", "entity")
    assert (neighbour["zone"], neighbour["protected"]) == ("fading", False)
    dead, alive = report["communities"]
    assert (dead["memories"], dead["planned"], dead["examples"]) == (2, 2, ["Note one", "Note two"])
    assert (alive["memories"], alive["planned"]) == (2, 1)
    assert 0 < dead["mean_vitality"] < alive["mean_vitality"] < 1


def test_each_item_has_its_reason_terms_and_impact(sql: Query) -> None:
    hub = note(sql, "hub", layer="entity")
    leaf = note(sql, "leaf", "hub")
    [item] = document(sql, plan(sql))["items"]
    [terms] = sql("SELECT to_jsonb(t) AS terms FROM recall.explain_vitality(%s, %s) t", (leaf, NOW))
    assert item["terms"] == pytest.approx(terms["terms"])
    assert item["vitality"] == pytest.approx(terms["terms"]["vitality"])
    assert item["reason"] == (
        "Vitality 0.028, below the threshold 0.1 of layer activity; "
        "1 access, 400 days ago; stored 400 days ago."
    )
    end = {"id": hub, "title": "Note hub", "relation": "links_to", "outgoing": True}
    assert item["impact"] == {"links_in": 0, "links_out": 1, "ends": [end]}
    assert (item["key"], item["layer"], item["outcome"], item["note"]) == ("leaf", "activity", None, None)


def test_a_note_without_a_title_goes_by_its_first_words(sql: Query) -> None:
    note(sql, "bare", title="", body="  The first\n\nwords   of " + "it " * 50)
    [item] = document(sql, plan(sql))["items"]
    assert item["title"].startswith("The first words of it it")
    assert len(item["title"]) <= 80


def test_many_links_are_counted_and_few_are_listed(sql: Query) -> None:
    keys = [f"n{i}" for i in range(40)]
    notes(sql, [{"key": key, "links": [other for other in keys if other != key]} for key in keys])
    report = document(sql, plan(sql))["report"]
    assert (report["links_ending"], len(report["links"])) == (40 * 39, 500)
    [item, *_] = document(sql, plan(sql))["items"]
    assert (item["impact"]["links_in"], item["impact"]["links_out"], len(item["impact"]["ends"])) == (
        39,
        39,
        10,
    )


def test_a_deleted_memory_leaves_no_words_in_a_plan(sql: Query) -> None:
    ids = ring(sql)
    secret = note(sql, "secret", "r1", title="Zanzibar")
    number = plan(sql)
    assert "Zanzibar" in str(document(sql, number))
    for memory in (secret, *ids.values()):
        sql("SELECT recall.forget(%s, p_hard => true)", (memory,))
    stored = sql("SELECT p.*, i.* FROM recall.plan p LEFT JOIN recall.plan_item i ON true")
    assert "Zanzibar" not in str(stored)
    made = document(sql, number)
    assert "Note r" not in str(made)
    assert (made["items"], made["report"]["links"], made["report"]["neighbours"]) == ([], [], [])


def test_items_are_read_in_pages(sql: Query) -> None:
    notes(sql, [{"key": f"n{i}"} for i in range(7)])
    number = plan(sql)
    whole = [item["id"] for item in document(sql, number)["items"]]
    page = "SELECT recall.get_plan(%s, %s, %s) AS plan"
    pages = [sql(page, (number, 3, offset))[0]["plan"]["items"] for offset in (0, 3, 6, 9)]
    assert [len(items) for items in pages] == [3, 3, 1, 0]
    assert [item["id"] for items in pages for item in items] == whole


def test_planning_changes_nothing_else(sql: Query) -> None:
    ring(sql)
    watched = ("memory", "activation", "link", "archival", "access", "setting", "floor_change", "name")

    def state() -> list[Any]:
        return [
            sql(f"SELECT to_jsonb(t) AS row FROM recall.{table} t ORDER BY to_jsonb(t)::text")
            for table in watched
        ]

    before = state()
    plan(sql)
    assert state() == before
    assert archived(sql) == set()


def test_an_empty_tenant_has_an_empty_plan(sql: Query) -> None:
    made = document(sql, plan(sql))
    assert made["items"] == []
    assert {name: made["report"][name] for name in ("live", "eligible", "planned", "zones")} == {
        "live": 0, "eligible": 0, "planned": 0, "zones": {},
    }  # fmt: skip


def test_the_newest_plans_are_listed_first(sql: Query) -> None:
    ring(sql)
    first, second = plan(sql), plan(sql, now=NOW + A_DAY)
    rows = sql("SELECT * FROM recall.plans()")
    assert [row["id"] for row in rows] == [second, first]
    assert (rows[1]["planned"], rows[1]["kept_back"], rows[1]["archived"]) == (1, 1, 0)
    assert [row["id"] for row in sql("SELECT * FROM recall.plans(p_limit => 1)")] == [second]
    assert sql("SELECT * FROM recall.plans()", tenant="other") == []


def test_expired_plans_are_deleted_in_the_end(sql: Query) -> None:
    note(sql, "old")
    applied = plan(sql)
    sql("SELECT recall.apply_plan(%s, %s)", (applied, NOW))
    numbers = [plan(sql) for _ in range(102)]
    last = plan(sql, now=NOW + 8 * A_DAY)
    left = [row["id"] for row in sql("SELECT id FROM recall.plan ORDER BY id")]
    assert left == [applied, *numbers[2:], last]
