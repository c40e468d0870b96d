"""The joint check on any graph: by networkx, nothing that stays is cut off."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

import networkx as nx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import NOW
from tests.databases import Query
from tests.integration.prune.prune_tools import (
    LONG_AGO,
    apply,
    archived,
    cut_off,
    document,
    link_graph,
    notes,
    plan,
)
from tests.scale import SCALE

LAYERS = ("activity", "episodic", "knowledge")
MANY = settings(
    max_examples=30 * SCALE,
    deadline=None,
    derandomize=SCALE == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def vaults(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Old notes of various layers, some pinned, with any links among them."""
    size = draw(st.integers(1, 14))
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    links = draw(st.lists(pairs, max_size=2 * size))
    return [
        {
            "key": f"n{i}",
            "pinned": draw(st.booleans()),
            "layer": draw(st.sampled_from(LAYERS)),
            "links": [f"n{target}" for source, target in links if source == i and target != i],
        }
        for i in range(size)
    ]


@MANY
@given(vault=vaults(), most=st.integers(1, 15))
def test_nothing_that_stays_is_cut_off(sql: Query, vault: list[dict[str, Any]], most: int) -> None:
    tenant = uuid.uuid4().hex
    notes(sql, vault, tenant=tenant)
    graph = link_graph(sql, tenant=tenant)
    free = {
        row["memory_id"]
        for row in sql("SELECT * FROM recall.prune_candidates(p_now => %s)", (NOW,), tenant=tenant)
    }
    number = plan(sql, tenant=tenant, p_max_count=most)
    report = document(sql, number, tenant=tenant)["report"]
    assert report["would_cut_off"] == cut_off(graph, free)
    assert report["eligible"] == len(free)
    assert report["planned"] == min(most, len(free) - len(report["kept_back"]))
    if not report["would_cut_off"]:
        assert report["kept_back"] == []
    going = free - {kept["id"] for kept in report["kept_back"]}
    assert cut_off(graph, going) == 0
    for kept in report["kept_back"]:
        left = graph.subgraph(set(graph) - going)
        assert kept["cut_size"] == cut_off(left, {kept["id"]})
        assert bool(kept["examples"]) == bool(kept["cut_size"])
    assert set(apply(sql, number, tenant=tenant).values()) <= {"archived"}
    gone = archived(sql, tenant=tenant)
    assert len(gone) == report["planned"]
    assert gone <= free
    assert cut_off(graph, gone) == 0


@MANY
@given(vault=vaults(), order=st.randoms(use_true_random=False))
def test_any_prefix_of_the_order_disconnects_nothing(
    sql: Query, vault: list[dict[str, Any]], order: Any
) -> None:
    tenant = uuid.uuid4().hex
    ids = list(notes(sql, vault, tenant=tenant).values())
    graph = link_graph(sql, tenant=tenant)
    free = order.sample(ids, order.randint(0, len(ids)))
    vitalities = [order.choice([0.01, 0.05, order.random()]) for _ in free]
    [net] = sql(
        "SELECT * FROM recall_private.keep_connected(%s, %s::bigint[], %s::float8[])",
        (tenant, free, vitalities),
        tenant=tenant,
    )
    places = {
        node: place for node, place in zip(net["nodes"], net["removal"], strict=True) if place is not None
    }
    assert sorted(places.values()) == list(range(1, len(places) + 1))
    assert set(places) <= set(free)
    leaving: set[int] = set()
    for node in sorted(places, key=places.__getitem__):
        leaving.add(node)
        assert cut_off(graph, leaving) == 0


def test_a_chain_of_three_thousand_memories(sql: Query) -> None:
    size = 3000
    drafts = [{"key": f"n{i}", "pinned": i in (0, size - 1)} for i in range(size)]
    ids = list(notes(sql, drafts).values())
    chain = itertools.pairwise(ids)
    sql(
        "INSERT INTO recall.link (tenant, src, dst, relation, created_at) "
        "SELECT 'acme', p[1], p[2], 'links_to', %s FROM jsonb_to_recordset(%s::jsonb) AS r(p bigint[])",
        (LONG_AGO, str([{"p": list(pair)} for pair in chain]).replace("'", '"')),
    )
    report = document(sql, plan(sql))["report"]
    assert (report["eligible"], report["planned"]) == (size - 2, 0)
    assert report["would_cut_off"] == 1
    assert report["kept_back"][0]["cut_size"] == (size - 1) // 2
    sql("SELECT recall.pin(%s, false, %s)", (ids[0], NOW))
    assert document(sql, plan(sql, p_max_count=size))["report"]["planned"] == size - 1


def test_a_vault_of_a_thousand_notes(sql: Query) -> None:
    graph = nx.gnm_random_graph(1000, 1400, seed=7)
    notes(
        sql,
        [
            {
                "key": f"n{node}",
                "pinned": node % 3 == 0,
                "links": [f"n{other}" for other in graph[node] if other > node],
            }
            for node in graph
        ],
    )
    live = link_graph(sql)
    assert live.number_of_edges() == 1400
    number = plan(sql)
    report = document(sql, number)["report"]
    assert report["would_cut_off"] > 0
    assert 0 < len(report["kept_back"]) < report["planned"]
    apply(sql, number)
    assert cut_off(live, archived(sql)) == 0
