"""The connected pieces of what is left of a graph."""

from __future__ import annotations

from dataclasses import dataclass

from pgrecall.graph.csr import LinkGraph
from pgrecall.graph.kernels import NONE, Engine, Ints


@dataclass(frozen=True, slots=True)
class Pieces:
    """``root``: the smallest node number of each present node's piece, NONE for absent nodes.

    ``component``: the same in the whole graph. ``count`` pieces there are; ``wanted`` there would be
    if nothing were cut off, one for each component that still has a node.
    """

    root: Ints
    component: Ints
    count: int
    wanted: int


def find_pieces(engine: Engine, graph: LinkGraph, present: Ints) -> Pieces:
    starts, neighbours = engine.vector(graph.starts), engine.vector(graph.neighbours)
    root, component = (engine.filled(graph.node_count, NONE) for _ in range(2))
    join = engine.kernel(join_present, find)
    join(starts, neighbours, engine.filled(graph.node_count, 1), component)
    count = join(starts, neighbours, present, root)
    seen = engine.filled(graph.node_count, 0)
    return Pieces(root, component, count, engine.kernel(count_seen)(component, present, seen))


def find(root: Ints, node: int) -> int:
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return node


def join_present(starts: Ints, neighbours: Ints, present: Ints, root: Ints) -> int:
    """Points every present node at the smallest node of its piece; returns the number of pieces."""
    count = 0
    for node in range(len(present)):
        if not present[node]:
            continue
        root[node] = node
        count += 1
        for at in range(starts[node], starts[node + 1]):
            other = neighbours[at]
            if other < node and present[other]:
                one, two = find(root, other), find(root, node)
                if one != two:
                    root[max(one, two)] = min(one, two)
                    count -= 1
    for node in range(len(present)):
        if present[node]:
            root[node] = find(root, node)
    return count


def count_seen(component: Ints, present: Ints, seen: Ints) -> int:
    """How many components have a present node."""
    count = 0
    for node in range(len(present)):
        if present[node] and not seen[component[node]]:
            seen[component[node]] = 1
            count += 1
    return count
