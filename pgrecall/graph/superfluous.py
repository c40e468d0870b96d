"""What was given back and turns out to be superfluous goes after all: the second half of ``trim``."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from pgrecall.graph.articulation import grow
from pgrecall.graph.components import Pieces
from pgrecall.graph.csr import LinkGraph
from pgrecall.graph.kernels import NONE, Engine, Ints

SOLVE, ADD, UNDO = 0, 1, 2


class Undo(NamedTuple):
    """Union-find by size that can be rolled back.

    ``weight`` counts the pieces in a set, ``trail`` holds the roots that were joined to others, in
    order. ``tally``: [sets with a piece in them, sets wanted, length of the trail].
    """

    root: Ints
    size: Ints
    weight: Ints
    added: Ints
    trail: Ints
    tally: Ints


def give_up(
    engine: Engine, graph: LinkGraph, present: Ints, pieces: Pieces, given: Sequence[int]
) -> list[int]:
    """Those of ``given`` that must stay: each goes, in this order, if the pieces hold without it."""
    certain = _certain(engine, graph, present, given)
    doubtful = [node for node in given if not certain[node]]
    if not doubtful:
        return list(given)
    state = _start(engine, graph, pieces, given)
    fixed = engine.vector(array("q", [node for node in given if certain[node]]))
    order, keep = engine.vector(array("q", doubtful)), engine.filled(len(doubtful), 1)
    starts, neighbours = engine.vector(graph.starts), engine.vector(graph.neighbours)
    engine.kernel(add_all, add, held_by)(starts, neighbours, state, fixed)
    engine.kernel(drop_superfluous, add, undo, held_by)(starts, neighbours, state, order, keep)
    dropped = {node for node, stays in zip(doubtful, keep, strict=True) if not stays}
    return [node for node in given if node not in dropped]


def _certain(engine: Engine, graph: LinkGraph, present: Ints, given: Sequence[int]) -> array[int]:
    """1 for nodes without which pieces fall apart even while all others stay, so they never go."""
    number = engine.filled(graph.node_count, NONE)
    staying = set(given)
    for node, stays in enumerate(engine.packed(present)):
        if not stays and node not in staying:
            number[node] = graph.node_count
    forest = grow(engine, graph, number)
    preorder, low = engine.vector(forest.preorder), engine.vector(forest.low)
    parent, root = engine.vector(forest.parent), engine.vector(forest.root)
    weight, parts, hanging, certain = (engine.filled(graph.node_count, 0) for _ in range(4))
    engine.kernel(count_parts)(number, parent, preorder, low, present, weight, parts, hanging)
    engine.kernel(mark_certain)(preorder, root, weight, parts, hanging, certain)
    return engine.packed(certain)


def count_parts(
    number: Ints,
    parent: Ints,
    preorder: Ints,
    low: Ints,
    present: Ints,
    weight: Ints,
    parts: Ints,
    hanging: Ints,
) -> None:
    """Of the subtrees that fall apart without a node, how many hold something, and how much in all."""
    for at in range(len(preorder) - 1, -1, -1):
        node = preorder[at]
        weight[node] += present[node]
        above = parent[node]
        if above != NONE:
            weight[above] += weight[node]
            if low[node] >= number[above] and weight[node]:
                parts[above] += 1
                hanging[above] += weight[node]


def mark_certain(preorder: Ints, root: Ints, weight: Ints, parts: Ints, hanging: Ints, certain: Ints) -> None:
    for node in preorder:
        above = weight[root[node]] > hanging[node]
        certain[node] = int(parts[node] + above > 1)


def _start(engine: Engine, graph: LinkGraph, pieces: Pieces, given: Sequence[int]) -> Undo:
    nodes = graph.node_count
    tally = engine.filled(3, 0)
    tally[0], tally[1] = pieces.count, pieces.wanted
    root, weight, added = engine.copied(pieces.root), engine.filled(nodes, 0), engine.filled(nodes, 0)
    for node, piece in enumerate(engine.packed(pieces.root)):
        if piece != NONE:
            weight[piece] = added[node] = 1
    for node in given:
        root[node] = node
    return Undo(root, engine.filled(nodes, 1), weight, added, engine.filled(nodes, 0), tally)


def add_all(starts: Ints, neighbours: Ints, state: Undo, nodes: Ints) -> None:
    for node in nodes:
        add(starts, neighbours, state, node)


def drop_superfluous(starts: Ints, neighbours: Ints, state: Undo, order: Ints, keep: Ints) -> None:
    """Halves the order until one node is left, with all others in place that are not dropped yet.

    So every node is judged against the decisions before it, at the price of log n additions each.
    """
    marks = [0]
    tasks = [(SOLVE, 0, len(order))]
    while len(tasks) > 0:
        task, first, end = tasks.pop()
        if task == ADD:
            marks.append(state.tally[2])
            for place in range(first, end):
                if keep[place]:
                    add(starts, neighbours, state, order[place])
        elif task == UNDO:
            undo(state, marks.pop())
            for place in range(first, end):
                state.added[order[place]] = 0
        elif end - first == 1:
            keep[first] = int(state.tally[0] != state.tally[1])
        else:
            middle = (first + end) // 2
            tasks.append((UNDO, first, middle))
            tasks.append((SOLVE, middle, end))
            tasks.append((ADD, first, middle))
            tasks.append((UNDO, middle, end))
            tasks.append((SOLVE, first, middle))
            tasks.append((ADD, middle, end))


def held_by(root: Ints, node: int) -> int:
    """``find`` that leaves the trees as they are, so that unions can be undone."""
    while root[node] != node:
        node = root[node]
    return node


def add(starts: Ints, neighbours: Ints, state: Undo, node: int) -> None:
    state.added[node] = 1
    for at in range(starts[node], starts[node + 1]):
        other = neighbours[at]
        if not state.added[other]:
            continue
        one, two = held_by(state.root, node), held_by(state.root, other)
        if one == two:
            continue
        if state.size[one] > state.size[two]:
            one, two = two, one
        state.root[one] = two
        state.size[two] += state.size[one]
        if state.weight[one] and state.weight[two]:
            state.tally[0] -= 1
        state.weight[two] += state.weight[one]
        state.trail[state.tally[2]] = one
        state.tally[2] += 1


def undo(state: Undo, mark: int) -> None:
    while state.tally[2] > mark:
        state.tally[2] -= 1
        one = state.trail[state.tally[2]]
        two = state.root[one]
        state.root[one] = one
        state.size[two] -= state.size[one]
        state.weight[two] -= state.weight[one]
        if state.weight[one] and state.weight[two]:
            state.tally[0] += 1
