"""The links around a memory: which memories refer to which, their vitality, and the articulation points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from pgrecall.faces.charts.axes import WIDE, ZONES, Frame
from pgrecall.faces.charts.graph_chart import Entry, graph_chart, node_sample
from pgrecall.faces.charts.graph_layout import Edge, Graph, Node
from pgrecall.faces.charts.svg import Chart
from pgrecall.faces.wording import amount, counted, named, relation_words
from pgrecall.nouns.charts.models import GraphLink, GraphNode, Neighbourhood

HOPS, MAX_NODES = 2, 60

FOLLOWED_RELATIONS = ("links_to", "mentions", "implies", "supports", "derived_from")
"""The relations that a neighbourhood follows: the references of ``recall_private.is_reference``."""


def link_chart(
    around: Neighbourhood, hops: int = HOPS, address: Callable[[int], str] | None = None, frame: Frame = WIDE
) -> Chart:
    """Draws a memory and those linked to it. The colour is the zone; a square keeps others connected; a ring
    is protected or pinned.

    Args:
        hops: the largest distance in links.
        address: returns the URL of the memory with an id; None: nodes are not links.
        frame: width and axes of the chart.
    """
    graph, center = _graph(around), around.nodes[0]
    held = {node.zone for node in around.nodes}
    entries: list[Entry] = [(node_sample(zone), zone) for zone in ZONES if zone in held]
    if any(node.cut_size for node in around.nodes):
        entries.append((node_sample("live", "square"), "square: holds others connected"))
    if any(node.protected or node.pinned for node in around.nodes):
        entries.append((node_sample("live", ringed=True), "ring: protected or pinned"))
    others = counted(len(around.nodes) - 1, "live memory", "live memories")
    further = f" {around.left_out:,} more are not drawn." if around.left_out else ""
    caption = f"{others} up to {counted(hops, 'link')} away and {counted(len(graph.edges), 'link')}.{further}"
    return graph_chart(
        graph,
        _ranked(around, graph),
        entries,
        name="links",
        title=f"Links around {node_name(center)}",
        about=caption + (" Each memory is a link to its own neighbourhood." if address else ""),
        caption=caption,
        center=center.id,
        address=address,
        frame=frame,
    )


def node_name(node: GraphNode) -> str:
    """Returns the title of a memory, else its key, else its id."""
    return named(node.title, node.key, node.id, 80)


def relations(links: Sequence[GraphLink]) -> dict[tuple[int, int], str]:
    """Returns the relations of each pair of memories in words, by direction."""
    found: dict[tuple[int, int], list[str]] = {}
    for link in links:
        found.setdefault((link.source, link.target), []).append(relation_words(link.relation))
    return {pair: ", ".join(dict.fromkeys(words)) for pair, words in found.items()}


def _graph(around: Neighbourhood) -> Graph:
    """Returns the components, with one edge for each pair of memories and direction."""
    import networkx as nx

    center = around.nodes[0].id
    nodes = [_node(node, center) for node in around.nodes]
    names = {node.id: node.name for node in nodes}
    edges = tuple(
        Edge(source, target, f"{names[source]} → {names[target]}: {words}")
        for (source, target), words in relations(around.links).items()
    )
    linked = nx.Graph()
    linked.add_nodes_from(names)
    linked.add_edges_from((edge.source, edge.target) for edge in edges)
    pieces = tuple(
        tuple(node for node in nodes if node.id in piece) for piece in nx.connected_components(linked)
    )
    return Graph(pieces, edges, around.left_out)


def _node(node: GraphNode, center: int) -> Node:
    about = f"{node.zone}, vitality {amount(node.vitality)}"
    if node.cut_size:
        about += f", alone holds {counted(node.cut_size, 'memory', 'memories')}"
    kept = node.pinned or node.protected
    if kept:
        about += ", pinned" if node.pinned else ", protected"
    shape = "square" if node.cut_size else "circle"
    return Node(node.id, node_name(node), node.zone, about, shape, strong=node.id == center, ringed=kept)


def _ranked(around: Neighbourhood, graph: Graph) -> list[Node]:
    """Sorts the nodes in the order of their labels: the centre, articulation points, then the nearest."""
    known = {node.id: node for node in around.nodes}
    ends = Counter(end for edge in graph.edges for end in (edge.source, edge.target))
    return sorted(
        graph.nodes,
        key=lambda node: (
            known[node.id].hops > 0, not known[node.id].cut_size, known[node.id].hops, -ends[node.id], node.id
        ),
    )  # fmt: skip
