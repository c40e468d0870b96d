"""The part of the link graph that a prune plan touches, small enough to be drawn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pgrecall.faces.charts.report_words import amount, held_words, named, relation_words
from pgrecall.models.prune import PlanItem, PlanNeighbour, PrunePlan

Kind = Literal["planned", "skipped", "kept", "protected", "other"]
Pair = tuple[int, int]

MOST_NODES = 120
_MOST_UNLINKED = 24
_MOST_AROUND = 14
_MOST_HELD = 3
_NAME = 60
_OF_PLANNED = {
    "planned": "planned to be archived",
    "applied": "archived",
    "undone": "archived, then restored",
}
_ORDER: Mapping[Kind, int] = {"kept": 0, "planned": 1, "skipped": 2, "protected": 3, "other": 4}


@dataclass(frozen=True, slots=True)
class Node:
    """A memory in the picture; ``about`` is what a pointer resting on it is told."""

    id: int
    name: str
    kind: Kind
    about: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A reference that would end, or where ``holds`` a memory that its ``source`` alone keeps connected."""

    source: int
    target: int
    about: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Subgraph:
    """What is drawn: pieces of nodes that links connect, and how many nodes are not drawn; ``unlinked``
    of those are planned memories without a link."""

    pieces: tuple[tuple[Node, ...], ...]
    edges: tuple[Edge, ...]
    left_out: int
    unlinked: int

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that are drawn."""
        return tuple(node for piece in self.pieces for node in piece)


def affected(plan: PrunePlan, most: int = MOST_NODES) -> Subgraph:
    """Planned and kept-back memories with what they are linked to: at most ``most`` of them, whole pieces
    first where they hold a kept-back memory, then larger before smaller ones."""
    nodes = known_nodes(plan)
    links = _links(plan, nodes)
    around = _around(links)
    free = {item.id for item in plan.items if not item.impact.links_in + item.impact.links_out}
    pieces: list[tuple[Node, ...]] = []
    room, unlinked_room, unlinked, known = most, _MOST_UNLINKED, 0, 0
    for piece in _pieces(nodes, around):
        known += len(piece)
        alone = len(piece) == 1 and piece[0].kind != "kept"
        drawn = piece[: min(room, unlinked_room) if alone else room]
        unlinked += alone and not drawn and piece[0].id in free
        unlinked_room -= len(drawn) if alone else 0
        room -= len(drawn)
        if drawn:
            pieces.append(drawn)
    shown = {node.id for piece in pieces for node in piece}
    edges = [edge for pair, edge in links.items() if shown.issuperset(pair)]
    return Subgraph(tuple(pieces), tuple(edges), known - len(shown), unlinked)


def kind_words(plan: PrunePlan) -> Mapping[Kind, str]:
    """What the kinds of memories are called in a plan of this state."""
    return {
        "planned": _OF_PLANNED[plan.state],
        "skipped": "planned, then skipped",
        "kept": "kept back",
        "protected": "stays, protected",
        "other": "stays",
    }


def _links(plan: PrunePlan, nodes: Mapping[int, Node]) -> dict[Pair, Edge]:
    """One edge for each pair of memories and direction, whatever the number of its relations; none to
    memories that the plan does not name, because they are deleted or on another page of items."""
    relations: dict[Pair, list[str]] = {}
    for link in plan.report.links:
        if link.source in nodes and link.target in nodes:
            relations.setdefault((link.source, link.target), []).append(relation_words(link.relation))
    edges = {pair: Edge(*pair, ", ".join(dict.fromkeys(said)), False) for pair, said in relations.items()}
    for kept in plan.report.kept_back:
        for example in kept.examples[:_MOST_HELD]:
            pair = (kept.id, example.id)
            if pair not in edges and pair[::-1] not in edges:
                edges[pair] = Edge(*pair, "keeps connected", True)
    return edges


def known_nodes(plan: PrunePlan) -> dict[int, Node]:
    """Every memory the plan names, by id: items, neighbours, kept back, and examples of what those hold."""
    words, nodes = kind_words(plan), dict[int, Node]()
    for kept in plan.report.kept_back:
        for example in kept.examples:
            name = named(example.title, None, example.id, _NAME)
            nodes[example.id] = Node(example.id, name, "other", words["other"])
    for neighbour in plan.report.neighbours:
        kind: Kind = "protected" if neighbour.protected else "other"
        nodes[neighbour.id] = _node(neighbour, kind, f"{words[kind]}, {neighbour.zone}")
    for item in plan.items:
        kind = "skipped" if item.outcome == "skipped" else "planned"
        nodes[item.id] = _node(item, kind, words[kind])
    for kept in plan.report.kept_back:
        about = f"{words['kept']}: {held_words(kept)}"
        nodes[kept.id] = Node(kept.id, named(kept.title, kept.key, kept.id, _NAME), "kept", about)
    return nodes


def _node(memory: PlanItem | PlanNeighbour, kind: Kind, about: str) -> Node:
    name = named(memory.title, memory.key, memory.id, _NAME)
    return Node(memory.id, name, kind, f"{about}, vitality {amount(memory.vitality)}")


def _around(links: Mapping[Pair, Edge]) -> dict[int, list[int]]:
    found: dict[int, dict[int, None]] = {}
    for source, target in links:
        found.setdefault(source, {})[target] = None
        found.setdefault(target, {})[source] = None
    return {node: list(others) for node, others in found.items()}


def _pieces(nodes: Mapping[int, Node], around: Mapping[int, list[int]]) -> list[tuple[Node, ...]]:
    """The connected pieces, most telling first; the nodes of each from its middle outwards."""

    def weight(node: Node) -> tuple[int, int, int]:
        return (node.kind != "kept", -len(around.get(node.id, ())), node.id)

    seen: set[int] = set()
    found = []
    for start in sorted(nodes.values(), key=weight):
        if start.id not in seen and (start.id in around or start.kind not in ("protected", "other")):
            found.append(tuple(nodes[node] for node in _reached(start.id, nodes, around, seen)))
    return sorted(found, key=lambda piece: (len(piece) == 1, piece[0].kind != "kept", -len(piece)))


def _reached(
    start: int, nodes: Mapping[int, Node], around: Mapping[int, list[int]], seen: set[int]
) -> Iterator[int]:
    """Breadth first, a few neighbours of each node before the many of a hub."""
    seen.add(start)
    queue, later = deque([start]), deque[int]()
    while queue or later:
        node = queue.popleft() if queue else later.popleft()
        yield node
        fresh = [other for other in dict.fromkeys(around.get(node, ())) if other not in seen]
        fresh.sort(key=lambda other: (_ORDER[nodes[other].kind], -len(around[other]), other))
        seen.update(fresh)
        queue.extend(fresh[:_MOST_AROUND])
        later.extend(fresh[_MOST_AROUND:])
