"""Articulation points and bridges of the link graph (Tarjan 1972), and how much each point would cut off.

There is no recursion: a depth-first walk numbers the nodes, then a pass over that order backwards meets every
node after its whole subtree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from pgrecall.graph.engines import NONE, Ints, choose_engine
from pgrecall.graph.link_graph import LinkGraph


@dataclass(frozen=True, slots=True)
class Articulation:
    """The articulation points, bridges and components of a graph.

    The sequences are aligned with ``ids``, which ascend.

    ``cut_sizes``: how many nodes would be cut off from the largest remaining piece of the node's
    component if this one node were removed: component size - 1 - largest piece. 0 exactly for nodes
    that are no articulation points. ``components``: the smallest id of the node's component.
    ``bridges``: links whose loss alone would split a component, smaller id first, ascending.
    """

    ids: Sequence[int]
    cut_sizes: Sequence[int]
    components: Sequence[int]
    bridges: tuple[tuple[int, int], ...]

    def points(self, min_cut: int = 1) -> dict[int, int]:
        """Returns the cut size by id of each node whose removal cuts off at least ``min_cut`` (1 or more)
        nodes."""
        cutting = compress(zip(self.ids, self.cut_sizes, strict=True), self.cut_sizes)
        return {node: size for node, size in cutting if size >= min_cut}


def articulate(graph: LinkGraph, *, accelerate: bool | None = None) -> Articulation:
    """Computes articulation points with cut sizes, bridges and components, in time linear in the links.

    >>> articulate(LinkGraph.of([(1, 2), (2, 3)])).points()
    {2: 1}
    """
    engine = choose_engine(graph.link_count, accelerate)
    ids, nodes = graph.ids, graph.node_count
    starts, neighbours = engine.to_vector(graph.starts), engine.to_vector(graph.neighbours)
    cursor = engine.to_vector(graph.starts)
    number, parent, preorder, root = (engine.full(nodes, NONE) for _ in range(4))
    low, subtree, bridge, apart, largest, cut_size = (engine.full(nodes, 0) for _ in range(6))
    engine.kernel(_walk)(starts, neighbours, cursor, number, parent, preorder, low)
    engine.kernel(_gather)(number, parent, preorder, low, subtree, bridge, apart, largest)
    engine.kernel(_size_cuts)(parent, preorder, subtree, apart, largest, root, cut_size)
    below, roots = engine.nonzero(engine.to_array(bridge)), engine.to_array(root)
    above = engine.take(engine.to_array(parent), below)
    return Articulation(
        ids=ids,
        cut_sizes=engine.to_array(cut_size),
        components=engine.take(ids, roots),
        bridges=engine.sort_links(engine.take(ids, below), engine.take(ids, above)),
    )


def _walk(
    starts: Ints, neighbours: Ints, cursor: Ints, number: Ints, parent: Ints, preorder: Ints, low: Ints
) -> None:
    """Numbers every node in depth-first order from the smallest; parents serve as the stack.

    ``low`` is the smallest preorder number that a node's subtree touches by a link other than the one to
    its parent: a child whose low is not below its parent's number is cut off without the parent.
    """
    count = 0
    for root in range(len(number)):
        if number[root] != NONE:
            continue
        node = root
        number[root] = low[root] = count
        preorder[count] = root
        count += 1
        while node != NONE:
            at, end, above, least = cursor[node], starts[node + 1], parent[node], low[node]
            other = NONE
            while at < end:
                other = neighbours[at]
                met = number[other]
                if met == NONE:
                    break
                if met < least and other != above:
                    least = met
                at += 1
            low[node] = least
            if at == end:
                if above != NONE and least < low[above]:
                    low[above] = least
                node = above
                continue
            cursor[node] = at + 1
            parent[other] = node
            number[other] = low[other] = count
            preorder[count] = other
            count += 1
            node = other


def _gather(
    number: Ints,
    parent: Ints,
    preorder: Ints,
    low: Ints,
    subtree: Ints,
    bridge: Ints,
    apart: Ints,
    largest: Ints,
) -> None:
    """Computes subtree sizes, and for each node the sum and the largest of the subtrees that it would cut
    off."""
    for at in range(len(preorder) - 1, -1, -1):
        node = preorder[at]
        subtree[node] += 1
        above = parent[node]
        if above == NONE:
            continue
        size = subtree[node]
        subtree[above] += size
        if low[node] >= number[above]:
            apart[above] += size
            largest[above] = max(largest[above], size)
        if low[node] == number[node]:
            bridge[node] = 1


def _size_cuts(
    parent: Ints, preorder: Ints, subtree: Ints, apart: Ints, largest: Ints, root: Ints, cut_size: Ints
) -> None:
    top = NONE
    for node in preorder:
        if parent[node] == NONE:
            top = node
        root[node] = top
        others = subtree[top] - 1
        cut_size[node] = others - max(largest[node], others - apart[node])
