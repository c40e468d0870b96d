"""The links around a memory: who refers to whom, how alive each is, and what holds the parts together."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgrecall.faces.charts.plots_style import ZONES, Theme, entitle, new_figure
from pgrecall.faces.charts.report_graph import Edge, Node, Subgraph
from pgrecall.faces.charts.report_labels import Label, place_labels, reach
from pgrecall.faces.charts.report_layout import Point, lay_out
from pgrecall.faces.cli.rendering.snippets import printable
from pgrecall.models.charts import GraphNode, Neighbourhood

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOPS, MOST_NODES = 2, 60
_UNIT = 96.0
"""Units of the layout to an inch: its labels are measured in letters of 11 units."""
_LETTERS = 11 * 72 / _UNIT
_AREA: Mapping[int, float] = {0: 230.0, 1: 105.0}
_FURTHER = 62.0
_MARGIN, _ABOVE, _NARROWEST = 20.0, 30.0, 600.0


def graph_figure(around: Neighbourhood, theme: Theme) -> Figure:
    """The memory in the middle of its links: colour is the zone, a square holds others connected, a ring
    is protected or pinned."""
    center = around.nodes[0]
    drawn = subgraph_of(around)
    layout = lay_out(drawn)
    lines = [(layout.places[edge.source], layout.places[edge.target]) for edge in drawn.edges]
    labels = place_labels(by_weight(around, drawn), layout.places, lines, layout.height)
    left, right = _extent(layout.places, labels)
    top, bottom = (pick(at.y for at in layout.places.values()) for pick in (min, max))
    top, bottom = top - _ABOVE, bottom + _ABOVE
    figure = new_figure((right - left) / _UNIT, (bottom - top) / _UNIT + 1.6)
    axes = figure.subplots()
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.set_axis_off()
    _links(axes, drawn.edges, layout.places, theme)
    _nodes(axes, around.nodes, layout.places, theme)
    _names(axes, labels, center.id, theme)
    _legend(axes, around.nodes, theme)
    further = f" {around.left_out} more are not drawn." if around.left_out else ""
    others = len(around.nodes) - 1
    entitle(
        figure,
        theme,
        f"Around {node_name(center)}",
        about=f"{others} live {'memory' if others == 1 else 'memories'} up to {HOPS} links away and "
        f"{len(drawn.edges)} links between them.{further}",
    )
    return figure


def subgraph_of(around: Neighbourhood) -> Subgraph:
    """What the layout takes: the connected pieces, each pair of memories and direction once."""
    nodes = {node.id: Node(node.id, node_name(node), "other", "") for node in around.nodes}
    pairs = dict.fromkeys((link.source, link.target) for link in around.links)
    beside: dict[int, list[int]] = {number: [] for number in nodes}
    for source, target in pairs:
        beside[source].append(target)
        beside[target].append(source)
    pieces = []
    waiting = dict(nodes)
    while waiting:
        piece, queue = [], deque([next(iter(waiting))])
        while queue:
            number = queue.popleft()
            if number in waiting:
                piece.append(waiting.pop(number))
                queue.extend(beside[number])
        pieces.append(tuple(piece))
    edges = tuple(Edge(source, target, "", False) for source, target in pairs)
    return Subgraph(tuple(pieces), edges, around.left_out, 0)


def _extent(places: Mapping[int, Point], labels: Mapping[int, Label]) -> tuple[float, float]:
    """From where to where the picture reaches: not too narrow for its title."""
    first, last = reach(places, labels)
    left = first - _MARGIN
    return left, max(last + _MARGIN, left + _NARROWEST)


def _links(axes: Any, edges: Sequence[Edge], places: Mapping[int, Point], theme: Theme) -> None:
    both = {(edge.target, edge.source) for edge in edges}
    for edge in edges:
        if (edge.source, edge.target) in both and edge.source > edge.target:
            continue  # drawn once, with a tip at both ends
        axes.annotate(
            "",
            xytext=places[edge.source],
            xy=places[edge.target],
            arrowprops={
                "arrowstyle": "<|-|>" if (edge.source, edge.target) in both else "-|>",
                "mutation_scale": 8,
                "color": theme.wire,
                "linewidth": 0.9,
                "shrinkA": 7,
                "shrinkB": 7,
            },
            zorder=1,
        )


def _nodes(axes: Any, nodes: Sequence[GraphNode], places: Mapping[int, Point], theme: Theme) -> None:
    for node in nodes:
        at = places[node.id]
        kept = node.protected or node.pinned
        axes.scatter(
            [at.x],
            [at.y],
            s=_AREA.get(node.hops, _FURTHER),
            marker="s" if node.cut_size else "o",
            color=theme.zones[node.zone],
            edgecolors=theme.mark if kept else theme.page,
            linewidths=2.0 if kept else 0.8,
            zorder=2,
        )


def by_weight(around: Neighbourhood, drawn: Subgraph) -> list[Node]:
    """The nodes in the order in which they should have a label: itself, what holds, then what is near."""
    known = {node.id: node for node in around.nodes}
    ends = Counter(end for edge in drawn.edges for end in (edge.source, edge.target))
    return sorted(
        drawn.nodes,
        key=lambda node: (
            known[node.id].hops > 0, not known[node.id].cut_size, known[node.id].hops, -ends[node.id], node.id
        ),
    )  # fmt: skip


def _names(axes: Any, labels: Mapping[int, Label], center: int, theme: Theme) -> None:
    from matplotlib.patheffects import withStroke

    aligned = {"start": "left", "middle": "center", "end": "right"}
    for number, label in labels.items():
        axes.text(
            label.x,
            label.y,
            label.text,
            ha=aligned[label.anchor],
            va="baseline",
            fontsize=_LETTERS,
            fontweight="bold" if number == center else "normal",
            color=theme.ink if number == center else theme.soft,
            path_effects=[withStroke(linewidth=2.5, foreground=theme.page)],
            zorder=3,
        )


def _legend(axes: Any, nodes: Sequence[GraphNode], theme: Theme) -> None:
    """Only of what is drawn."""
    from matplotlib.lines import Line2D

    held = {node.zone for node in nodes}
    signs = [(zone, "o", theme.zones[zone], theme.page) for zone in ZONES if zone in held]
    if any(node.cut_size for node in nodes):
        signs.append(("holds others connected", "s", theme.soft, theme.page))
    if any(node.protected or node.pinned for node in nodes):
        signs.append(("protected or pinned", "o", theme.page, theme.mark))
    handles = [
        Line2D([], [], marker=marker, color=face, markeredgecolor=edge, markeredgewidth=1.6, linestyle="none",
               markersize=8, label=label)
        for label, marker, face, edge in signs
    ]  # fmt: skip
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, handletextpad=0.2)


def node_name(node: GraphNode) -> str:
    return " ".join(printable(node.title or node.key or f"memory {node.id}").split())
