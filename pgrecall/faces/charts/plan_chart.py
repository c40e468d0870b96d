"""The part of the link graph that a prune plan affects, small enough to draw, and its chart."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Literal, cast

from pgrecall.faces.charts.graph_chart import graph_chart, link_sample, node_sample
from pgrecall.faces.charts.graph_layout import Edge, Graph, Node
from pgrecall.faces.charts.svg import Chart
from pgrecall.faces.plan_words import held_words
from pgrecall.faces.wording import amount, counted, named, relation_words
from pgrecall.nouns.plans.prune import PlanItem, PlanNeighbour, PrunePlan

Kind = Literal["planned", "skipped", "kept", "protected", "other"]
Pair = tuple[int, int]

MAX_NODES = 120
_MAX_UNLINKED = 24
_MAX_AROUND = 14
_MAX_HELD = 3
_NAME = 60
_OF_PLANNED = {
    "planned": "planned to be archived",
    "applied": "archived",
    "undone": "archived, then restored",
}
_ORDER: tuple[Kind, ...] = ("kept", "planned", "skipped", "protected", "other")
_SHAPES: Mapping[Kind, str] = {
    "planned": "diamond", "skipped": "diamond", "kept": "square", "protected": "hexagon", "other": "circle"
}  # fmt: skip


def plan_chart(plan: PrunePlan) -> Chart | None:
    """Draws the memories and links that a prune plan affects; returns None if there are none."""
    graph = affected(plan)
    if not graph.nodes:
        return None
    words, drawn = kind_words(plan), Counter(node.kind for node in graph.nodes)
    kinds = [kind for kind in _SHAPES if drawn[kind]]
    entries = [(node_sample(kind, _SHAPES[kind]), words[kind]) for kind in kinds]
    if any(not edge.holds for edge in graph.edges):
        ends = "link that would end" if plan.state == "planned" else "link that the plan ends"
        entries.append((link_sample(holds=False), ends))
    if any(edge.holds for edge in graph.edges):
        entries.append((link_sample(holds=True), "keeps connected"))
    ends_of = Counter(end for edge in graph.edges for end in (edge.source, edge.target))
    counts = [f"{counted(drawn[kind], 'memory', 'memories')}: {words[kind]}" for kind in kinds]
    return graph_chart(
        graph,
        sorted(graph.nodes, key=lambda node: (_rank(node), -ends_of[node.id], node.id)),
        entries,
        name="graph",
        title="The affected part of the link graph",
        about=f"{'; '.join(counts)}; {counted(len(graph.edges), 'link')}. The links are listed beneath.",
        caption=not_drawn(plan, graph),
    )


def not_drawn(plan: PrunePlan, graph: Graph) -> str:
    """Returns sentences about what the chart omits; empty if it shows everything."""
    parts = []
    if graph.unlinked:
        many = counted(graph.unlinked, "planned memory", "planned memories")
        parts.append(f"Not drawn: {many} without any link.")
    if rest := graph.left_out - graph.unlinked:
        parts.append(f"Not drawn for want of room: {counted(rest, 'linked memory', 'linked memories')}.")
    nodes = known_nodes(plan)
    if unnamed := sum(not {link.source, link.target} <= nodes.keys() for link in plan.report.links):
        parts.append(f"Not drawn: {counted(unnamed, 'link')} of memories that this report does not list.")
    if (listed := len(plan.report.links)) < plan.report.links_ending:
        parts.append(f"The plan lists {listed:,} of {plan.report.links_ending:,} links that end.")
    return " ".join(parts)


def affected(plan: PrunePlan) -> Graph:
    """Returns planned and kept-back memories with their links, at most MAX_NODES of them.

    Components with a kept-back memory come first, then the largest.
    """
    nodes = known_nodes(plan)
    links = _links(plan, nodes)
    around = _around(links)
    free = {item.id for item in plan.items if not item.impact.links_in + item.impact.links_out}
    pieces: list[tuple[Node, ...]] = []
    room, unlinked_room, unlinked, known = MAX_NODES, _MAX_UNLINKED, 0, 0
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
    return Graph(tuple(pieces), tuple(edges), known - len(shown), unlinked)


def kind_words(plan: PrunePlan) -> Mapping[Kind, str]:
    """Returns the names of the kinds of memories in a plan of this state."""
    return {
        "planned": _OF_PLANNED[plan.state],
        "skipped": "planned, then skipped",
        "kept": "kept back",
        "protected": "stays, protected",
        "other": "stays",
    }


def _links(plan: PrunePlan, nodes: Mapping[int, Node]) -> dict[Pair, Edge]:
    """Returns one edge for each pair of memories and direction; none to a memory that the plan does not name,
    because it is deleted or on another page of items."""
    relations: dict[Pair, list[str]] = {}
    for link in plan.report.links:
        if link.source in nodes and link.target in nodes:
            relations.setdefault((link.source, link.target), []).append(relation_words(link.relation))

    def words(pair: Pair, about: str) -> str:
        return f"{nodes[pair[0]].name} → {nodes[pair[1]].name}: {about}"

    edges = {
        pair: Edge(*pair, words(pair, ", ".join(dict.fromkeys(found)))) for pair, found in relations.items()
    }
    for kept in plan.report.kept_back:
        for example in kept.examples[:_MAX_HELD]:
            pair = (kept.id, example.id)
            if pair not in edges and pair[::-1] not in edges:
                edges[pair] = Edge(*pair, words(pair, "keeps connected"), holds=True)
    return edges


def known_nodes(plan: PrunePlan) -> dict[int, Node]:
    """Returns every memory that the plan names, by id: items, neighbours, kept-back ones and their
    examples."""
    words, nodes = kind_words(plan), dict[int, Node]()
    for kept in plan.report.kept_back:
        for example in kept.examples:
            name = named(example.title, None, example.id, _NAME)
            nodes[example.id] = _drawn(example.id, name, "other", words["other"])
    for neighbour in plan.report.neighbours:
        kind: Kind = "protected" if neighbour.protected else "other"
        nodes[neighbour.id] = _node(neighbour, kind, f"{words[kind]}, {neighbour.zone}")
    for item in plan.items:
        kind = "skipped" if item.outcome == "skipped" else "planned"
        nodes[item.id] = _node(item, kind, words[kind])
    for kept in plan.report.kept_back:
        about = f"{words['kept']}: {held_words(kept)}"
        nodes[kept.id] = _drawn(kept.id, named(kept.title, kept.key, kept.id, _NAME), "kept", about)
    return nodes


def _node(memory: PlanItem | PlanNeighbour, kind: Kind, about: str) -> Node:
    name = named(memory.title, memory.key, memory.id, _NAME)
    return _drawn(memory.id, name, kind, f"{about}, vitality {amount(memory.vitality)}")


def _drawn(number: int, name: str, kind: Kind, about: str) -> Node:
    return Node(number, name, kind, about, _SHAPES[kind], strong=kind in ("planned", "kept"))


def _rank(node: Node) -> int:
    return _ORDER.index(cast(Kind, node.kind))


def _around(links: Mapping[Pair, Edge]) -> dict[int, list[int]]:
    found: dict[int, dict[int, None]] = {}
    for source, target in links:
        found.setdefault(source, {})[target] = None
        found.setdefault(target, {})[source] = None
    return {node: list(others) for node, others in found.items()}


def _pieces(nodes: Mapping[int, Node], around: Mapping[int, list[int]]) -> list[tuple[Node, ...]]:
    """Returns the components, most important first, each with its nodes from the centre outwards."""

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
    """Yields nodes breadth first, a few neighbours of each node before the rest of a hub."""
    seen.add(start)
    queue, later = deque([start]), deque[int]()
    while queue or later:
        node = queue.popleft() if queue else later.popleft()
        yield node
        fresh = [other for other in dict.fromkeys(around.get(node, ())) if other not in seen]
        fresh.sort(key=lambda other: (_rank(nodes[other]), -len(around[other]), other))
        seen.update(fresh)
        queue.extend(fresh[:_MAX_AROUND])
        later.extend(fresh[_MAX_AROUND:])
