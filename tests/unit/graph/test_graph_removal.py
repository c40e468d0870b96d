"""The joint check of a set of removals, and its trimming until nothing is cut off."""

from __future__ import annotations

from itertools import combinations
from random import Random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.graph.csr import LinkGraph
from pgrecall.graph.removal import Trim, cut_off, trim

numbers = st.integers(0, 15)
link_lists = st.lists(st.tuples(numbers, numbers), max_size=32)
removals = st.lists(numbers, max_size=14)
RING = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 1)]
LONG = 200_000


def cut_off_by_networkx(links: list[tuple[int, int]], removed: set[int]) -> list[tuple[int, ...]]:
    graph = nx.Graph()
    graph.add_nodes_from(node for link in links for node in link)
    graph.add_edges_from(links)
    lost: list[tuple[int, ...]] = []
    for component in nx.connected_components(graph):
        pieces = [sorted(piece) for piece in nx.connected_components(graph.subgraph(component - removed))]
        pieces.sort(key=lambda piece: (-len(piece), piece[0]))
        lost += map(tuple, pieces[1:])
    return sorted(lost)


def least_kept_back(links: list[tuple[int, int]], removed: set[int]) -> int:
    return next(
        count
        for count in range(len(removed) + 1)
        for kept in combinations(sorted(removed), count)
        if not cut_off_by_networkx(links, removed - set(kept))
    )


def random_case(seed: int) -> tuple[list[tuple[int, int]], list[int]]:
    random = Random(seed)
    nodes = random.randrange(4, 15)
    count = int(nodes * random.choice((0.8, 1, 1.3, 1.6, 2)))
    links = [(random.randrange(nodes), random.randrange(nodes)) for _ in range(count)]
    return links, random.sample(range(nodes), random.randrange(nodes * 3 // 4 + 1))


def holds(links: list[tuple[int, int]], removed: list[int], trimmed: Trim) -> None:
    """Nothing is cut off any more, and each node kept back must be."""
    kept = [reason.id for reason in trimmed.kept_back]
    order = list(dict.fromkeys(removed))
    gone = set(trimmed.removed)
    assert [node for node in order if node in gone] == list(trimmed.removed)
    assert [node for node in order if node not in gone] == kept
    assert cut_off_by_networkx(links, gone) == []
    for reason in trimmed.kept_back:
        lost = [node for piece in cut_off_by_networkx(links, gone | {reason.id}) for node in piece]
        assert reason.cut_size == len(lost) > 0
        assert set(reason.examples) <= set(lost)
        assert len(reason.examples) == min(3, len(lost))


@given(link_lists, removals)
@settings(max_examples=300, deadline=None)
def test_what_is_cut_off_is_what_networkx_finds(links: list[tuple[int, int]], removed: list[int]) -> None:
    found = cut_off(LinkGraph.of(links), removed)
    assert list(found.pieces) == cut_off_by_networkx(links, set(removed))
    assert list(found.nodes) == sorted(node for piece in found.pieces for node in piece)


@given(link_lists, removals)
@settings(max_examples=300, deadline=None)
def test_trimming_cuts_nothing_off_and_keeps_back_nothing_needlessly(
    links: list[tuple[int, int]], removed: list[int]
) -> None:
    holds(links, removed, trim(LinkGraph.of(links), removed, examples=3))


@pytest.mark.slow  # numba compiles on first use
@given(link_lists, removals)
@settings(max_examples=300, deadline=None)
def test_numba_gives_what_plain_python_gives(links: list[tuple[int, int]], removed: list[int]) -> None:
    pytest.importorskip("numba")
    graph = LinkGraph.of(links)
    assert cut_off(graph, removed, accelerate=True) == cut_off(graph, removed, accelerate=False)
    assert trim(graph, removed, accelerate=True) == trim(graph, removed, accelerate=False)


def test_the_number_kept_back_is_nearly_always_the_least_possible() -> None:
    """In 1,256 of the 1,258 of the first 3,000 seeds that cut anything off; else one more."""
    excess = []
    for seed in range(400):
        links, removed = random_case(seed)
        if cut_off_by_networkx(links, set(removed)):
            kept = len(trim(LinkGraph.of(links), removed).kept_back)
            excess.append(kept - least_kept_back(links, set(removed)))
    assert len(excess) > 100
    assert min(excess) == 0
    assert max(excess) <= 1
    assert excess.count(0) >= 0.98 * len(excess)


def test_a_ring_is_not_cut_by_removing_two_opposite_nodes(accelerate: bool) -> None:
    graph = LinkGraph.of(RING)
    assert cut_off(graph, [1], accelerate=accelerate).pieces == ()
    assert cut_off(graph, [1, 4], accelerate=accelerate).pieces == ((5, 6),)
    trimmed = trim(graph, [4, 1], accelerate=accelerate)
    assert trimmed.removed == (1,)
    (reason,) = trimmed.kept_back
    assert (reason.id, reason.cut_size, reason.examples) == (4, 2, (5, 6))


def test_of_equals_the_first_named_is_kept_back() -> None:
    assert [kept.id for kept in trim(LinkGraph.of(RING), [1, 4]).kept_back] == [1]


def test_one_node_that_joins_three_pieces_goes_before_two_that_join_two() -> None:
    arms = [(1, 10), (2, 10), (3, 10), (1, 11), (2, 11), (2, 12), (3, 12)]
    assert [kept.id for kept in trim(LinkGraph.of(arms), [11, 12, 10]).kept_back] == [10]


def test_the_shortest_chain_is_kept_back_where_no_single_node_joins_two_pieces() -> None:
    long_way = [(1, 10), (10, 11), (11, 12), (12, 2)]
    short_way = [(1, 20), (20, 21), (21, 2)]
    trimmed = trim(LinkGraph.of(long_way + short_way), [10, 11, 12, 20, 21])
    assert [kept.id for kept in trimmed.kept_back] == [20, 21]


def test_a_component_may_go_whole(accelerate: bool) -> None:
    graph = LinkGraph.of([*RING, (8, 9)])
    assert cut_off(graph, [1, 2, 3, 4, 5, 6], accelerate=accelerate).pieces == ()
    assert trim(graph, [1, 2, 3, 4, 5, 6], accelerate=accelerate) == Trim((1, 2, 3, 4, 5, 6), ())


def test_ids_outside_the_graph_and_repeated_ids_may_go() -> None:
    assert trim(LinkGraph.of(RING), [99, 1, 1, 99]) == Trim((99, 1), ())
    assert trim(LinkGraph.of([]), [1, 2]) == Trim((1, 2), ())


def test_of_two_equal_pieces_the_one_with_the_smallest_id_stays() -> None:
    graph = LinkGraph.of([(4, 3), (3, 5), (5, 1), (4, 2)])
    assert cut_off(graph, [3]).pieces == ((2, 4),)
    trimmed = trim(graph, [3])
    assert trimmed.kept_back[0].examples == (2, 4)


@pytest.mark.slow
def test_every_other_node_of_a_path_of_200_000(accelerate: bool) -> None:
    """The worst case: every one must be kept back, and each would cut off a long piece."""
    graph = LinkGraph.of(zip(range(LONG - 1), range(1, LONG), strict=True), accelerate=accelerate)
    odd = range(1, LONG, 2)
    trimmed = trim(graph, odd, accelerate=accelerate)
    assert trimmed.removed == (LONG - 1,)
    assert len(trimmed.kept_back) == LONG // 2 - 1
    assert trimmed.kept_back[10].cut_size == 21


@pytest.mark.slow
def test_nearly_all_of_a_ring_of_200_000(accelerate: bool) -> None:
    """Two nodes stay, a quarter of the ring apart: the shorter way between them is kept back."""
    links = [(node, (node + 1) % LONG) for node in range(LONG)]
    graph = LinkGraph.of(links, accelerate=accelerate)
    removed = [node for node in range(LONG) if node not in (0, LONG // 4)]
    kept = [reason.id for reason in trim(graph, removed, accelerate=accelerate).kept_back]
    assert kept == list(range(1, LONG // 4))
