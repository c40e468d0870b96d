"""Links: explicit, drafted and pending ones, what they count for, and what forgetting does to them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import Draft, DraftLink, InvalidInput, Memory, MemoryNotFound
from tests.databases import Query
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

REFERENCES = ("links_to", "mentions", "implies", "supports", "derived_from")
OTHERS = ("next", "part_of", "contradicts", "supersedes", "co_access")


def note(sql: Query, key: str, *targets: Any, now: datetime | None = None, **fields: Any) -> int:
    """Stores a note whose draft links to ``targets``: keys, or links as objects."""
    links = [{"target": target} if isinstance(target, str) else target for target in targets]
    [row] = sql(
        "SELECT id FROM recall.remember_many(%s::jsonb, p_now => coalesce(%s, now()))",
        (json.dumps([{"key": key, "body": f"about {key}", "links": links} | fields]), now),
    )
    return int(row["id"])


def links(sql: Query) -> list[tuple[str, str, str]]:
    rows = sql(
        "SELECT s.key AS src, l.relation, d.key AS dst FROM recall.link l "
        "JOIN recall.memory s ON s.id = l.src JOIN recall.memory d ON d.id = l.dst ORDER BY 1, 2, 3"
    )
    return [(row["src"], row["relation"], row["dst"]) for row in rows]


def pending(sql: Query) -> list[str]:
    return [row["target"] for row in sql("SELECT target FROM recall.pending_link ORDER BY target")]


def cited(sql: Query, memory: int) -> tuple[int, float | None]:
    [row] = sql("SELECT in_degree, last_linked_at FROM recall.activation WHERE memory_id = %s", (memory,))
    return row["in_degree"], row["last_linked_at"]


# Explicit links


def test_a_link_is_new_once(sql: Query) -> None:
    a, b = note(sql, "a"), note(sql, "b")
    call = "SELECT recall.link(%s, %s, p_weight => %s) AS new"
    assert sql(call, (a, b, 1)) == [{"new": True}]
    assert sql(call, (a, b, 2.5)) == [{"new": False}]
    assert sql("SELECT weight FROM recall.link") == [{"weight": 2.5}]


def test_links_of_several_relations_join_the_same_two(sql: Query) -> None:
    a, b = note(sql, "a"), note(sql, "b")
    for relation in (*REFERENCES, *OTHERS):
        assert sql("SELECT recall.link(%s, %s, %s) AS new", (a, b, relation)) == [{"new": True}]
    assert cited(sql, b)[0] == 1


def test_the_client_links_by_id_or_key(memory: Memory, now: datetime) -> None:
    a, b = memory.remember("about a", key="a").id, memory.remember("about b", key="b").id
    assert memory.link("a", b, "supports", weight=0.5, now=now)
    assert not memory.link(a, "b", "supports", weight=0.5, now=now)
    [seen] = memory.get("b").links
    assert (seen.other, seen.other_key, seen.relation, seen.weight) == (a, "a", "supports", 0.5)
    assert (seen.outgoing, seen.created_at) == (False, now)
    assert memory.get("a").links[0].outgoing


@pytest.mark.parametrize(
    ("relation", "weight", "sentence"),
    [
        ("hates", 1.0, "The link relation 'hates' is unknown."),
        (None, 1.0, "The link relation NULL is unknown."),
        ("links_to", 0.0, "The link weight 0 is not above 0 and at most 100."),
        ("links_to", -1.0, "The link weight -1 is not above 0 and at most 100."),
        ("links_to", 100.1, "The link weight 100.1 is not above 0 and at most 100."),
        ("links_to", float("nan"), "The link weight NaN is not above 0 and at most 100."),
        ("links_to", None, "The link weight NULL is not above 0 and at most 100."),
    ],
)
def test_a_link_that_cannot_be_made(
    sql: Query, relation: str | None, weight: float | None, sentence: str
) -> None:
    a, b = note(sql, "a"), note(sql, "b")
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        sql("SELECT recall.link(%s, %s, %s, %s::float8)", (a, b, relation, weight))
    assert caught.value.diag.message_primary == sentence
    assert links(sql) == []


@pytest.mark.parametrize("weight", [1e-300, 100.0])
def test_weights_at_the_bounds_are_fine(sql: Query, weight: float) -> None:
    a, b = note(sql, "a"), note(sql, "b")
    assert sql("SELECT recall.link(%s, %s, p_weight => %s) AS new", (a, b, weight)) == [{"new": True}]


def test_a_memory_cannot_link_to_itself(sql: Query) -> None:
    a = note(sql, "a")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=f"^Memory {a} cannot link to itself"):
        sql("SELECT recall.link(%s, %s)", (a, a))


def test_links_need_two_memories_of_this_tenant(sql: Query) -> None:
    a = note(sql, "a")
    [theirs] = sql("SELECT recall.remember('theirs') AS id", tenant="other")
    for other in (theirs["id"], 4711, None):
        for pair in ((a, other), (other, a)):
            with pytest.raises(psycopg.errors.NoDataFound, match="There is no memory with id"):
                sql("SELECT recall.link(%s::bigint, %s::bigint)", pair)


def test_what_is_linked_is_named_by_its_title_or_first_words(memory: Memory) -> None:
    memory.remember("The brass one. " * 20, key="chat/2f1b")
    memory.remember("x", key="gate", title="The gate")
    memory.remember("y", key="hub", links=[DraftLink("chat/2f1b"), DraftLink("gate")])
    names = {link.other_key: link.other_title for link in memory.get("hub").links}
    assert names == {"gate": "The gate", "chat/2f1b": ("The brass one. " * 20)[:60]}


def test_the_client_names_the_memory_that_is_missing(memory: Memory) -> None:
    memory.remember("about a", key="a")
    for missing in ("b", 4711):
        with pytest.raises(MemoryNotFound) as caught:
            memory.link("a", missing)
        assert caught.value.reference == missing
    memory.remember("about b", key="b")
    with pytest.raises(InvalidInput, match="relation 'hates' is unknown"):
        memory.link("a", "b", "hates")


# Drafted links


def test_drafts_of_one_call_link_to_each_other_in_a_circle(memory: Memory) -> None:
    drafts = [
        Draft("a", key="a", links=(DraftLink("b"), DraftLink("c", "next"))),
        Draft("b", key="b", links=(DraftLink("a"),)),
        Draft("c", key="c", links=(DraftLink("a", "part_of", 2.0),)),
    ]
    memory.remember_many(drafts)
    assert {(link.other_key, link.relation, link.outgoing) for link in memory.get("a").links} == {
        ("b", "links_to", True), ("c", "next", True), ("b", "links_to", False), ("c", "part_of", False),
    }  # fmt: skip
    assert memory.status().links_pending == 0


def test_an_update_replaces_drafted_links_and_keeps_explicit_ones(sql: Query) -> None:
    a, _, _, d = note(sql, "a", "b", "later"), note(sql, "b"), note(sql, "c"), note(sql, "d")
    sql("SELECT recall.link(%s, %s)", (a, d))
    note(sql, "a", "c", "sooner")
    assert links(sql) == [("a", "links_to", "c"), ("a", "links_to", "d")]
    assert pending(sql) == ["sooner"]
    note(sql, "a")
    assert (links(sql), pending(sql)) == ([("a", "links_to", "d")], [])


def test_links_follow_the_draft_though_its_text_is_unchanged(sql: Query) -> None:
    note(sql, "b")
    note(sql, "a", {"target": "b", "weight": 1})
    note(sql, "a", {"target": "b", "weight": 3}, {"target": "later", "weight": 4})
    note(sql, "a", {"target": "b", "weight": 3}, {"target": "later", "weight": 5})
    assert sql("SELECT weight FROM recall.link") == [{"weight": 3}]
    assert sql("SELECT weight FROM recall.pending_link") == [{"weight": 5}]


def test_a_draft_that_names_a_target_twice_links_once(sql: Query) -> None:
    note(sql, "b")
    note(sql, "a", "b", "b", "later", "later")
    assert links(sql) == [("a", "links_to", "b")]
    assert pending(sql) == ["later"]


def test_a_draft_that_links_to_itself_is_stored_without_that_link(sql: Query) -> None:
    note(sql, "b")
    note(sql, "a", "a", "b")
    assert links(sql) == [("a", "links_to", "b")]
    assert pending(sql) == []


def test_a_draft_that_links_to_its_own_title_is_stored_without_that_link(sql: Query) -> None:
    note(sql, "a", "Harbour", title="Harbour")
    assert (links(sql), pending(sql)) == ([], [])


def test_a_rejected_draft_leaves_no_links(sql: Query) -> None:
    note(sql, "b")
    bad = [
        {"key": "a", "body": "", "links": [{"target": "b"}]},
        {"key": "c", "body": "c", "links": [{"target": "b", "weight": "heavy"}]},
        {"key": "d", "body": "d", "links": ["b"]},
        {"key": "e", "body": "e", "links": [{"target": "b"}]},
    ]
    sql("SELECT recall.remember_many(%s::jsonb, p_skip_rejected => true)", (json.dumps(bad),))
    assert links(sql) == [("e", "links_to", "b")]


# Pending links


@pytest.mark.parametrize(
    ("target", "arrival"),
    [
        ("harbour", {"key": "harbour"}),
        ("the harbour", {"key": "h", "title": "The Harbour"}),
        ("Old Port", {"key": "h", "title": "The Harbour", "aliases": ["x", "old port"]}),
        ("Ölhafen", {"key": "h", "title": "ölHAFEN", "layer": "entity"}),
    ],
)
def test_a_pending_link_is_resolved_on_arrival(sql: Query, target: str, arrival: dict[str, Any]) -> None:
    note(sql, "a", target)
    assert pending(sql) == [target]
    arrived = note(sql, **arrival)
    assert links(sql) == [("a", "links_to", arrival["key"])]
    assert pending(sql) == []
    assert cited(sql, arrived)[0] == 1


def test_a_key_is_matched_to_the_letter(sql: Query) -> None:
    note(sql, "a", "HARBOUR")
    note(sql, "harbour")
    assert pending(sql) == ["HARBOUR"]


def test_a_pending_link_is_resolved_by_an_alias_that_comes_later(sql: Query) -> None:
    note(sql, "a", "Old Port")
    note(sql, "h")
    assert pending(sql) == ["Old Port"]
    note(sql, "h", aliases=["Old Port"])
    assert (links(sql), pending(sql)) == ([("a", "links_to", "h")], [])


def test_several_notes_wait_for_the_same_one(sql: Query) -> None:
    for key in "abc":
        note(sql, key, {"target": "h", "relation": "mentions", "weight": 2})
    assert cited(sql, note(sql, "h"))[0] == 3
    assert sql("SELECT DISTINCT relation, weight FROM recall.link") == [{"relation": "mentions", "weight": 2}]


def test_two_notes_that_wait_for_each_other(sql: Query) -> None:
    note(sql, "a", "b")
    note(sql, "b", "a")
    assert links(sql) == [("a", "links_to", "b"), ("b", "links_to", "a")]


def test_a_pending_link_of_another_tenant_stays_pending(sql: Query) -> None:
    note(sql, "a", "h")
    sql("SELECT recall.remember('theirs', p_key => 'h')", tenant="other")
    assert (links(sql), pending(sql)) == ([], ["h"])


def test_a_link_to_the_name_of_a_known_entity_needs_no_wait(sql: Query) -> None:
    note(sql, "mira", title="Mira Okafor", aliases=["M. O."], layer="entity")
    note(sql, "a", "mira  okafor")
    note(sql, "b", "m. o.")
    assert links(sql) == [("a", "links_to", "mira"), ("b", "links_to", "mira")]


@pytest.mark.parametrize("target", ["The Harbour", "THE  harbour", "Old Port"])
def test_a_link_is_the_same_whichever_note_comes_first(sql: Query, target: str) -> None:
    note(sql, "harbour", title="The Harbour", aliases=["Old Port"])
    note(sql, "a", target)
    assert links(sql) == [("a", "links_to", "harbour")]


# What links count for


@pytest.mark.parametrize("relation", REFERENCES)
def test_references_count(sql: Query, now: datetime, relation: str) -> None:
    a, b = note(sql, "a"), note(sql, "b")
    sql("SELECT recall.link(%s, %s, %s, p_now => %s)", (a, b, relation, now))
    assert cited(sql, b) == (1, now.timestamp())
    assert cited(sql, a) == (0, None)


@pytest.mark.parametrize("relation", OTHERS)
def test_order_containment_and_correction_do_not_count(sql: Query, now: datetime, relation: str) -> None:
    a, b = note(sql, "a"), note(sql, "b")
    sql("SELECT recall.link(%s, %s, %s, p_now => %s)", (a, b, relation, now))
    assert cited(sql, b) == (0, None)


def test_the_newest_link_sets_the_time_in_whatever_order_they_come(sql: Query, now: datetime) -> None:
    ids = [note(sql, key) for key in "abcd"]
    for source, days in zip(ids[1:], (5, 1, 9), strict=True):
        sql("SELECT recall.link(%s, %s, p_now => %s)", (source, ids[0], now - timedelta(days=days)))
    assert cited(sql, ids[0]) == (3, (now - timedelta(days=1)).timestamp())


def test_a_drafted_link_is_as_old_as_its_note(sql: Query, now: datetime) -> None:
    then = now - timedelta(days=30)
    b = note(sql, "b", now=now)
    note(sql, "a", "b", now=now, occurred_at=then.isoformat())
    assert cited(sql, b) == (1, then.timestamp())


def test_a_dropped_link_no_longer_counts(sql: Query, now: datetime) -> None:
    b = note(sql, "b")
    note(sql, "a", "b", now=now)
    note(sql, "a", now=now)
    assert cited(sql, b) == (0, None)


def test_forgetting_the_source_uncounts_its_links(sql: Query, now: datetime) -> None:
    b = note(sql, "b")
    soft, hard, kept = (note(sql, key, "b", now=now) for key in ("soft", "hard", "kept"))
    assert cited(sql, b)[0] == 3
    sql("SELECT recall.forget(%s)", (soft,))
    assert cited(sql, b)[0] == 2
    sql("SELECT recall.forget(%s, true)", (hard,))
    assert cited(sql, b)[0] == 1
    sql("SELECT recall.forget(%s)", (kept,))
    assert cited(sql, b) == (0, None)


# Forgetting


def test_forgetting_softly_archives_and_keeps_everything(sql: Query, now: datetime) -> None:
    a = note(sql, "a", "b", "later")
    note(sql, "b")
    assert sql("SELECT recall.forget(%s, p_now => %s) AS changed", (a, now)) == [{"changed": True}]
    assert sql("SELECT recall.forget(%s) AS changed", (a,)) == [{"changed": False}]
    [row] = sql("SELECT archived_at FROM recall.memory WHERE id = %s", (a,))
    assert row["archived_at"] == now
    assert (links(sql), pending(sql)) == ([("a", "links_to", "b")], ["later"])


def test_forgetting_hard_removes_every_row_in_every_table(sql: Query) -> None:
    a = note(sql, "a", "b", "later", title="Mira", layer="entity", aliases=["M"])
    b = note(sql, "b", "a")
    sql("SELECT recall.record_access(%s, p_idempotency_key => 'x')", (a,))
    sql("SELECT recall.pin(%s), recall.forget(%s)", (a, a))
    note(sql, "a", "later", title="Mira", layer="entity", aliases=["M"], context="brought back")
    note(sql, "b")
    note(sql, "a", "b", "later", title="Mira", layer="entity", aliases=["M"])
    note(sql, "b", "a")
    sql("UPDATE recall.memory SET superseded_by = %s WHERE id = %s", (a, b))
    sql(
        "WITH plan AS (INSERT INTO recall.plan (tenant, kind, created_at, options, report) "
        "VALUES ('acme', 'prune', now(), '{}', '{}') RETURNING id) "
        "INSERT INTO recall.plan_item (tenant, plan_id, memory_id, place, vitality, terms, reason, impact) "
        "SELECT 'acme', id, %s, 1, 0.1, '{}', 'faded', '{}' FROM plan",
        (a,),
    )
    owners = sql(
        "SELECT c.table_name, c.column_name FROM information_schema.columns c "
        "JOIN information_schema.tables t USING (table_schema, table_name) "
        "WHERE c.table_schema = 'recall' AND t.table_type = 'BASE TABLE' AND c.data_type = 'bigint' "
        "AND (c.column_name IN ('memory_id', 'src', 'dst', 'superseded_by') "
        "OR (c.table_name, c.column_name) = ('memory', 'id')) "
        "AND NOT (SELECT relispartition FROM pg_class WHERE oid = ('recall.' || c.table_name)::regclass)"
    )

    def traces() -> list[str]:
        return [
            f"{owner['table_name']}.{owner['column_name']}"
            for owner in owners
            if sql(f"SELECT 1 FROM recall.{owner['table_name']} WHERE {owner['column_name']} = %s", (a,))
        ]

    assert sorted(traces()) == [
        "access.memory_id", "access_key.memory_id", "activation.memory_id", "archival.memory_id",
        "floor_change.memory_id", "link.dst", "link.src", "link_history.dst", "link_history.src", "memory.id",
        "memory.superseded_by", "memory_change.memory_id", "name.memory_id", "pending_link.src",
        "plan_item.memory_id",
    ]  # fmt: skip
    assert sql("SELECT recall.forget(%s, true) AS changed", (a,)) == [{"changed": True}]
    assert traces() == ["memory_change.memory_id"]
    assert sql("SELECT kind FROM recall.memory_change WHERE memory_id = %s", (a,)) == [{"kind": "deleted"}]
    assert cited(sql, b) == (0, None)


def test_a_hard_forgotten_memory_can_be_remembered_again(memory: Memory) -> None:
    first = memory.remember("text", key="k").id
    assert memory.forget("k", hard=True)
    with pytest.raises(MemoryNotFound):
        memory.get("k")
    again = memory.remember("text", key="k")
    assert (again.outcome, again.id == first) == ("created", False)


def test_forgetting_needs_a_memory_of_this_tenant(sql: Query, memory: Memory) -> None:
    [theirs] = sql("SELECT recall.remember('theirs') AS id", tenant="other")
    for unknown in (theirs["id"], 4711, None):
        with pytest.raises(psycopg.errors.NoDataFound, match="There is no memory with id"):
            sql("SELECT recall.forget(%s::bigint)", (unknown,))
    with pytest.raises(MemoryNotFound, match="no memory with key 'nobody'"):
        memory.forget("nobody")


# At once


def test_links_made_at_once_are_all_counted(database_url: str, query: Query) -> None:
    a, b, target = (note(query, key) for key in ("a", "b", "target"))
    call = "SELECT recall.link(%s, %s)"
    with psycopg.connect(database_url) as first:
        first.execute("SELECT set_config('recall.tenant', 'acme', true)")
        first.execute(call, (a, target))
        with ThreadPoolExecutor(1) as thread:
            second = thread.submit(query, call, (b, target))
            blocked(first)
            first.commit()
            second.result(timeout=PATIENCE)
    assert cited(query, target)[0] == 2


def test_drafts_that_cite_the_same_memories_at_once_never_deadlock(database_url: str, query: Query) -> None:
    ids = [note(query, f"k{place}") for place in range(8)]
    barrier = threading.Barrier(4)

    def job(worker: int) -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            barrier.wait(timeout=PATIENCE)
            for turn in range(12):
                places = range(8) if (turn + worker) % 2 else range(7, -1, -1)
                drafts = [
                    {"key": f"{worker} {turn} {place}", "body": "b", "links": [{"target": f"k{place}"}]}
                    for place in places
                ]
                connection.execute("SELECT recall.remember_many(%s::jsonb)", (json.dumps(drafts),))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(job, range(4)))
    assert {cited(query, memory)[0] for memory in ids} == {48}


def test_forgetting_and_using_at_once_never_deadlock(database_url: str, query: Query) -> None:
    names = [f"k{place}" for place in range(24)]
    ids = {name: note(query, name, *names) for name in names}
    doomed = names[::2]
    barrier = threading.Barrier(3)

    def connected(job: Callable[[psycopg.Connection[Any]], None]) -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            barrier.wait(timeout=PATIENCE)
            job(connection)

    def forget(connection: psycopg.Connection[Any]) -> None:
        for name in doomed:
            connection.execute("SELECT recall.forget(%s, true)", (ids[name],))

    def use(connection: psycopg.Connection[Any]) -> None:
        for name in reversed(doomed):
            kept = [ids[other] for other in names[1::2]]
            items = json.dumps([{"memory_id": memory} for memory in (ids[name], *kept)])
            try:
                connection.execute("SELECT recall.record_accesses(%s::jsonb)", (items,))
            except (psycopg.errors.NoDataFound, psycopg.errors.ForeignKeyViolation):
                continue

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(connected, (forget, use, use)))
    assert query("SELECT count(*) FROM recall.memory") == [{"count": 12}]


def test_a_link_that_waits_for_a_name_goes_to_one_memory(sql: Query) -> None:
    """Several that arrive at once have the name it waits for: it goes where a draft stored now would link."""
    note(sql, "source", "Alpha", "beta")
    titles = {"one": "alpha", "beta": "x", "two": "Alpha", "three": "Beta"}
    drafts = [{"key": key, "title": title} for key, title in titles.items()]
    sql("SELECT * FROM recall.remember_many(%s::jsonb)", (json.dumps(drafts),))
    assert links(sql) == [("source", "links_to", "beta"), ("source", "links_to", "one")]
    assert pending(sql) == []


def test_a_link_that_waits_for_a_name_finds_a_memory_without_a_key(sql: Query) -> None:
    note(sql, "source", "Far Away")
    [row] = sql("SELECT recall.remember('b', p_title => 'far away') AS id")
    assert sql("SELECT dst FROM recall.link") == [{"dst": row["id"]}]
    assert pending(sql) == []
