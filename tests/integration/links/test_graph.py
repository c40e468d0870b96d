"""The link graph of a tenant: what holds it together is protected."""

from __future__ import annotations

import pytest

from pgrecall import Draft, DraftLink, Memory
from tests.databases import Query

pytestmark = pytest.mark.in_turns


def remember_clusters(memory: Memory) -> None:
    """Two triangles, a0..a2 and b0..b2, joined by the memory ``bridge`` alone."""
    drafts = [
        Draft(f"note {name}{i}", key=f"{name}{i}", links=(DraftLink(f"{name}{(i + 1) % 3}"),))
        for name in "ab"
        for i in range(3)
    ]
    bridge = Draft("the only way across", key="bridge", links=(DraftLink("a0"), DraftLink("b0")))
    memory.remember_many([*drafts, bridge])


def protected(query: Query) -> set[str]:
    rows = query(
        "SELECT m.key FROM recall.memory m JOIN recall.activation a "
        "ON a.tenant = m.tenant AND a.memory_id = m.id WHERE m.tenant = 'acme' AND a.protected"
    )
    return {row["key"] for row in rows}


def test_what_joins_two_clusters_is_protected(memory: Memory, query: Query) -> None:
    remember_clusters(memory)
    report = memory.maintenance.refresh_graph()
    assert (report.memories, report.links, report.points, len(report.bridges)) == (7, 8, 3, 2)
    assert protected(query) == {"bridge"}  # each of a0 and b0 cuts off two, which is not enough
    assert memory.get("bridge").vitality.retention >= 0.5


def test_a_second_way_across_ends_the_protection(memory: Memory, query: Query) -> None:
    remember_clusters(memory)
    memory.maintenance.refresh_graph()
    memory.link("a1", "b1")
    assert memory.maintenance.refresh_graph().protected == 0
    assert protected(query) == set()


def test_archived_memories_hold_nothing_together(memory: Memory) -> None:
    remember_clusters(memory)
    memory.forget("bridge")
    assert memory.maintenance.refresh_graph().points == 0


def test_order_and_containment_are_no_references(memory: Memory) -> None:
    turns = [Draft(f"turn {i}", key=f"t{i}", links=(DraftLink(f"t{i + 1}", "next"),)) for i in range(9)]
    memory.remember_many(turns)
    assert memory.maintenance.refresh_graph().links == 0


def test_ids_may_need_eight_bytes(memory: Memory, query: Query) -> None:
    query("SELECT setval(pg_get_serial_sequence('recall.memory', 'id'), %s, false)", (2**31 - 3,))
    remember_clusters(memory)
    assert memory.maintenance.refresh_graph().points == 3
    assert protected(query) == {"bridge"}


def test_a_second_look_changes_nothing(memory: Memory, query: Query) -> None:
    remember_clusters(memory)
    looks = [memory.maintenance.refresh_graph().protected for _ in range(2)]
    written = query("SELECT xmin::text AS by FROM recall.activation ORDER BY memory_id")
    assert (looks, memory.maintenance.refresh_graph().protected) == ([1, 1], 1)
    assert query("SELECT xmin::text AS by FROM recall.activation ORDER BY memory_id") == written


def test_tenants_have_graphs_of_their_own(memory: Memory, query: Query) -> None:
    remember_clusters(memory)
    [report] = query("SELECT * FROM recall.refresh_graph()", tenant="other")
    assert report == {"memories": 0, "links": 0, "points": 0, "bridges": [], "protected": 0}
    assert protected(query) == set()


def test_few_are_enough_to_cut_where_the_tenant_says_so(memory: Memory, query: Query) -> None:
    remember_clusters(memory)
    query("INSERT INTO recall.setting VALUES ('acme', 'graph.min_cut', '4')")
    assert memory.maintenance.refresh_graph().protected == 0
