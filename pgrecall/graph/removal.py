"""What a whole set of removals would cut off, and the set trimmed until nothing is.

Judged one by one, two removals may each be harmless and together split a ring; so a set is always
judged whole. A node is cut off when it stays and is not in the largest remaining piece of its
original component; of equally large pieces the one with the smallest id counts as the main one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from pgrecall.graph.articulation import Forest, grow
from pgrecall.graph.components import find_pieces
from pgrecall.graph.csr import LinkGraph
from pgrecall.graph.kernels import NONE, Engine, Ints, choose_engine
from pgrecall.graph.reconnect import give_back
from pgrecall.graph.superfluous import give_up

Span = tuple[int, int]

EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class CutOff:
    """The pieces cut off, as ascending ids; the pieces ascend by their smallest id."""

    pieces: tuple[tuple[int, ...], ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """Every id cut off, ascending."""
        return tuple(sorted(node for piece in self.pieces for node in piece))


@dataclass(frozen=True, slots=True)
class KeptBack:
    """A node that must stay: without it alone, ``cut_size`` nodes would be cut off.

    ``examples`` are the ids of the first few of them, ascending. All lists together can be as long as
    nodes times kept-back nodes (take every other node of a path), hence the limit.
    """

    id: int
    cut_size: int
    examples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trim:
    """``removed`` may all go together; ``kept_back`` stay. Both in the caller's order."""

    removed: tuple[int, ...]
    kept_back: tuple[KeptBack, ...]


def cut_off(graph: LinkGraph, removed: Iterable[int], *, accelerate: bool | None = None) -> CutOff:
    """Which remaining nodes would be cut off if all of ``removed`` went; ids not in the graph cut nothing.

    >>> ring = LinkGraph.of([(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 1)])
    >>> cut_off(ring, [1, 4]).pieces
    ((5, 6),)
    """
    engine = choose_engine(graph.link_count, accelerate)
    found = find_pieces(engine, graph, _present(engine, graph, _numbers(graph, removed)))
    if found.count == found.wanted:
        return CutOff(())
    roots = engine.packed(found.root)
    pieces: dict[int, list[int]] = {}
    for node, root in enumerate(roots):
        if root != NONE:
            pieces.setdefault(root, []).append(graph.ids[node])
    main: dict[int, int] = {}
    components = engine.packed(found.component)
    for root in pieces:  # ascending, so that the first of equals stays
        component = components[root]
        if component not in main or len(pieces[root]) > len(pieces[main[component]]):
            main[component] = root
    return CutOff(tuple(tuple(piece) for root, piece in pieces.items() if main[components[root]] != root))


def trim(
    graph: LinkGraph, removed: Iterable[int], *, examples: int = EXAMPLES, accelerate: bool | None = None
) -> Trim:
    """Keeps back few of ``removed``, so that the others can go together and nothing is cut off.

    ``removed`` is in the order of preference for keeping back, for example by falling vitality.
    Nodes are given back greedily: always the one that joins most pieces, of equals the first in the
    given order; where no single node joins two pieces, the shortest chain of nodes that does. Then
    each, from the last in the order to the first, goes after all if what stays holds together
    without it. The result is deterministic and minimal (give up any node kept back, and a node
    outside ``removed`` is cut off from another), though not always the least number, which is
    NP-hard to find. A component that goes whole leaves nothing to be cut off.
    """
    engine = choose_engine(graph.link_count, accelerate)
    order = dict.fromkeys(removed)
    numbers = _numbers(graph, order)
    present = _present(engine, graph, numbers)
    pieces = find_pieces(engine, graph, present)
    if pieces.count == pieces.wanted:
        return Trim(tuple(order), ())
    given = give_back(engine, graph, present, pieces, numbers)
    kept = give_up(engine, graph, present, pieces, given[::-1])
    forest = grow(engine, graph, _absent(engine, graph, set(numbers).difference(kept)))
    reasons = {graph.ids[node]: _reason(graph, forest, node, examples) for node in kept}
    return Trim(
        removed=tuple(node for node in order if node not in reasons),
        kept_back=tuple(reasons[node] for node in order if node in reasons),
    )


def _numbers(graph: LinkGraph, nodes: Iterable[int]) -> list[int]:
    return [number for node in nodes if (number := graph.number(node)) is not None]


def _present(engine: Engine, graph: LinkGraph, removed: Iterable[int]) -> Ints:
    present = engine.filled(graph.node_count, 1)
    for node in removed:
        present[node] = 0
    return present


def _absent(engine: Engine, graph: LinkGraph, removed: Iterable[int]) -> Ints:
    """The preorder numbers that ``grow`` starts from: past all others for what is removed."""
    number = engine.filled(graph.node_count, NONE)
    for node in removed:
        number[node] = graph.node_count
    return number


def _reason(graph: LinkGraph, forest: Forest, node: int, examples: int) -> KeptBack:
    others = islice(_others(graph, forest, node), examples)
    return KeptBack(
        id=graph.ids[node],
        cut_size=forest.cut_size[node],
        examples=tuple(sorted(graph.ids[other] for other in others)),
    )


def _others(graph: LinkGraph, forest: Forest, node: int) -> Iterator[int]:
    """The nodes that would be cut off without ``node``, in the forest's order."""
    pieces = _pieces_without(graph, forest, node)
    sizes = [sum(end - first for first, end in piece) for piece in pieces]
    largest = [piece for piece, size in zip(pieces, sizes, strict=True) if size == max(sizes)]
    main = largest[0]
    if len(largest) > 1:  # so for one node of a component at most
        main = min(largest, key=lambda spans: min(_nodes(forest, spans)))
    for piece in pieces:
        if piece is not main:
            yield from _nodes(forest, piece)


def _nodes(forest: Forest, spans: Iterable[Span]) -> Iterator[int]:
    return (forest.preorder[at] for first, end in spans for at in range(first, end))


def _pieces_without(graph: LinkGraph, forest: Forest, node: int) -> list[list[Span]]:
    """The pieces that ``node`` holds together, each as stretches of the preorder."""
    beside = graph.neighbours[graph.starts[node] : graph.starts[node + 1]]
    below = sorted(
        forest.subtree_span(other)
        for other in beside
        if forest.parent[other] == node and forest.low[other] >= forest.number[node]
    )
    at, end = forest.subtree_span(forest.root[node])
    rest: list[Span] = []
    for gap in [(forest.number[node], forest.number[node] + 1), *below]:
        rest.append((at, gap[0]))
        at = gap[1]
    rest.append((at, end))
    above = [span for span in rest if span[0] < span[1]]
    return [[span] for span in below] + ([above] if above else [])
