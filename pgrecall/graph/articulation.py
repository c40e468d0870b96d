"""Articulation points, what each would cut off, bridge links and components (Tarjan 1972).

No recursion: one walk in depth-first order, then one pass over that order backwards, in which every
node is met after its whole subtree.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from pgrecall.graph.csr import LinkGraph
from pgrecall.graph.kernels import NONE, Engine, Ints, choose_engine


@dataclass(frozen=True, slots=True)
class Articulation:
    """What holds the graph together; the sequences stand beside ``ids``, which ascend.

    ``cut_sizes``: how many nodes would be cut off from the largest remaining piece of the node's
    component if this one node were removed: component size - 1 - largest piece. 0 exactly for nodes
    that are no articulation points. ``components``: the smallest id of the node's component.
    ``bridges``: links whose loss alone would split a component, smaller id first, ascending.
    """

    ids: Sequence[int]
    cut_sizes: Sequence[int]
    components: Sequence[int]
    component_sizes: Sequence[int]
    bridges: tuple[tuple[int, int], ...]

    def points(self, min_cut: int = 1) -> dict[int, int]:
        """Cut size by id of every node whose removal cuts off at least ``min_cut`` (1 or more) nodes."""
        cutting = compress(zip(self.ids, self.cut_sizes, strict=True), self.cut_sizes)
        return {node: size for node, size in cutting if size >= min_cut}


def articulate(graph: LinkGraph, *, accelerate: bool | None = None) -> Articulation:
    """Articulation points with cut sizes, bridges and components, in time linear in the links.

    >>> articulate(LinkGraph.of([(1, 2), (2, 3)])).points()
    {2: 1}
    """
    engine = choose_engine(graph.link_count, accelerate)
    forest = grow(engine, graph, engine.filled(graph.node_count, NONE))
    ids, parent = graph.ids, forest.parent
    below = engine.marked(forest.bridge)
    above = engine.taken(parent, below)
    return Articulation(
        ids=ids,
        cut_sizes=forest.cut_size,
        components=engine.taken(ids, forest.root),
        component_sizes=engine.taken(forest.subtree, forest.root),
        bridges=engine.sorted_links(engine.taken(ids, below), engine.taken(ids, above)),
    )


@dataclass(frozen=True, slots=True)
class Forest:
    """The depth-first forest of a graph, or of what is left of one, by node number.

    ``root`` is the smallest node of the component. ``low`` is the smallest preorder number that the
    node's subtree touches by a link other than the one to its parent: a child whose low is not
    below its parent's number is a piece of its own once the parent is gone.
    """

    number: array[int]
    parent: array[int]
    preorder: array[int]
    root: array[int]
    low: array[int]
    subtree: array[int]
    cut_size: array[int]
    bridge: array[int]

    def subtree_span(self, node: int) -> tuple[int, int]:
        """Where in the preorder the node's subtree stands, half open."""
        return self.number[node], self.number[node] + self.subtree[node]


def grow(engine: Engine, graph: LinkGraph, number: Ints) -> Forest:
    """The forest over the nodes whose ``number`` is NONE; a node numbered past all others is absent."""
    starts, neighbours = engine.vector(graph.starts), engine.vector(graph.neighbours)
    cursor, nodes = engine.vector(graph.starts), graph.node_count
    parent, preorder, root = (engine.filled(nodes, NONE) for _ in range(3))
    low, subtree, bridge, apart, largest, cut_size = (engine.filled(nodes, 0) for _ in range(6))
    reached = engine.kernel(_walk)(starts, neighbours, cursor, number, parent, preorder, low)
    preorder = preorder[:reached]
    engine.kernel(_gather)(number, parent, preorder, low, subtree, bridge, apart, largest)
    engine.kernel(_size_cuts)(parent, preorder, subtree, apart, largest, root, cut_size)
    return Forest(*map(engine.packed, (number, parent, preorder, root, low, subtree, cut_size, bridge)))


def _walk(
    starts: Ints, neighbours: Ints, cursor: Ints, number: Ints, parent: Ints, preorder: Ints, low: Ints
) -> int:
    """Numbers every node in depth-first order from the smallest; parents serve as the stack.

    Each link is looked at once from either end, so ``low`` comes of the same looks.
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
    return count


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
    """Subtree sizes; and of the subtrees that fall apart without the node, the sum and the largest."""
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
