"""Articulation points, cut sizes, bridges and components, with networkx as the oracle."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.graph.articulation import articulate
from pgrecall.graph.link_graph import LinkGraph

numbers = st.integers(0, 24)
link_lists = st.lists(st.tuples(numbers, numbers), max_size=45)
TRIANGLES = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 3)]
LONG = 200_000


def in_networkx(links: list[tuple[int, int]]) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(node for link in links for node in link)
    graph.add_edges_from((source, target) for source, target in links if source != target)
    return graph


def cut_size_by_removal(graph: nx.Graph, node: int) -> int:
    rest = graph.subgraph(nx.node_connected_component(graph, node) - {node})
    return len(rest) - max((len(piece) for piece in nx.connected_components(rest)), default=0)


def agrees_with_networkx(links: list[tuple[int, int]], accelerate: bool) -> None:
    oracle, found = in_networkx(links), articulate(LinkGraph.of(links, accelerate=accelerate))
    assert list(found.ids) == sorted(oracle)
    assert set(found.points()) == set(nx.articulation_points(oracle))
    assert list(found.bridges) == sorted((min(link), max(link)) for link in nx.bridges(oracle))
    for node, cut_size, component in zip(found.ids, found.cut_sizes, found.components, strict=True):
        assert component == min(nx.node_connected_component(oracle, node))
        assert cut_size == cut_size_by_removal(oracle, node)


@given(link_lists)
@settings(max_examples=300, deadline=None)
def test_plain_python_agrees_with_networkx(links: list[tuple[int, int]]) -> None:
    agrees_with_networkx(links, accelerate=False)


@pytest.mark.slow  # numba compiles on first use
@given(link_lists)
@settings(max_examples=300, deadline=None)
def test_numba_gives_what_plain_python_gives(links: list[tuple[int, int]]) -> None:
    pytest.importorskip("numba")
    graph = LinkGraph.of(links)
    assert articulate(graph, accelerate=True) == articulate(graph, accelerate=False)


def test_two_triangles_that_share_a_node(accelerate: bool) -> None:
    found = articulate(LinkGraph.of(TRIANGLES), accelerate=accelerate)
    assert found.points() == {3: 2}
    assert found.points(min_cut=3) == {}
    assert found.bridges == ()


def test_a_single_link_is_a_bridge_without_points(accelerate: bool) -> None:
    found = articulate(LinkGraph.of([(8, 3)]), accelerate=accelerate)
    assert (found.points(), found.bridges) == ({}, ((3, 8),))


def test_a_repeated_link_is_still_a_bridge(accelerate: bool) -> None:
    assert articulate(LinkGraph.of([(1, 2), (2, 1), (1, 2)]), accelerate=accelerate).bridges == ((1, 2),)


def test_an_empty_graph(accelerate: bool) -> None:
    found = articulate(LinkGraph.of([], accelerate=accelerate), accelerate=accelerate)
    assert (list(found.ids), list(found.cut_sizes), found.bridges, found.points()) == ([], [], (), {})


def test_isolated_nodes_are_components_of_one(accelerate: bool) -> None:
    found = articulate(LinkGraph.of([(5, 5)], nodes=[9, 1], accelerate=accelerate), accelerate=accelerate)
    assert list(zip(found.ids, found.components, strict=True)) == [(1, 1), (5, 5), (9, 9)]
    assert (found.points(), found.bridges) == ({}, ())


def test_a_path_of_200_000_nodes(accelerate: bool) -> None:
    """Deep as can be: a recursive walk would exhaust the stack."""
    graph = LinkGraph.of(zip(range(LONG - 1), range(1, LONG), strict=True), accelerate=accelerate)
    found = articulate(graph, accelerate=accelerate)
    assert len(found.points()) == LONG - 2
    assert found.cut_sizes[LONG // 4] == LONG // 4
    assert len(found.bridges) == LONG - 1


def test_a_ring_of_200_000_nodes_has_no_point_and_no_bridge(accelerate: bool) -> None:
    links = [(node, (node + 1) % LONG) for node in range(LONG)]
    found = articulate(LinkGraph.of(links, accelerate=accelerate), accelerate=accelerate)
    assert (found.points(), found.bridges) == ({}, ())


def test_a_star_of_200_000_nodes(accelerate: bool) -> None:
    graph = LinkGraph.of([(LONG, node) for node in range(LONG - 1)], accelerate=accelerate)
    assert articulate(graph, accelerate=accelerate).points() == {LONG: LONG - 2}
