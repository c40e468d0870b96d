"""A graph as a chart: nodes by shape and colour, links with arrows, and labels where there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import hypot

from markupsafe import Markup

from pgrecall.faces.charts.axes import WIDE, Frame, legend
from pgrecall.faces.charts.graph_layout import (
    WIDTH,
    Edge,
    Graph,
    Label,
    Node,
    horizontal_extent,
    lay_out,
    place_labels,
)
from pgrecall.faces.charts.svg import Chart, Point, element, joined, line, number, text, text_width
from pgrecall.faces.wording import shortened

SHAPES: Mapping[str, str] = {
    "circle": "M-6.5 0a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0Z",
    "square": "M-6.5-6.5H6.5V6.5H-6.5Z",
    "diamond": "M0-7.5 7.5 0 0 7.5-7.5 0Z",
    "hexagon": "M0-7.5 6.5-3.75V3.75L0 7.5-6.5 3.75V-3.75Z",
}
_MARGIN, _NARROWEST = 26.0, 480.0
_CENTER = 1.4
"""Scale of the central node."""

Entry = tuple[Markup, str]


def graph_chart(
    graph: Graph,
    ranked: Sequence[Node],
    entries: Sequence[Entry],
    *,
    name: str,
    title: str,
    about: str,
    caption: str = "",
    center: int | None = None,
    address: Callable[[int], str] | None = None,
    frame: Frame = WIDE,
) -> Chart:
    """Lays out and draws a graph. Deterministic.

    Args:
        ranked: nodes in the order in which labels are placed.
        entries: samples and labels of the legend.
        center: id of the node to draw larger, if any.
        address: returns the URL of the node with an id; None: nodes are not links.
        frame: width and axes of the chart.
    """
    width = frame.width if frame.narrow else WIDTH
    layout = lay_out(graph, width)
    places = layout.places
    wires = [(places[edge.source], places[edge.target]) for edge in graph.edges]
    labels = place_labels(ranked, places, wires, layout.height, width)
    left, right = _extent(places, labels, 300.0 if frame.narrow else _NARROWEST)
    top, bottom = (pick(at.y for at in places.values()) for pick in (min, max))
    drawn, more = legend(entries, bottom + 2 * _MARGIN, left, right - left)
    tip = f"{name}{frame.id_suffix}-tip"
    parts = [
        _arrow(tip),
        *_edges(graph.edges, places, tip),
        *(_dot(node, places[node.id], labels.get(node.id), center, address, width) for node in graph.nodes),
        drawn,
    ]
    return Chart(
        name=f"{name}{frame.id_suffix}",
        title=title,
        about=about,
        caption=caption,
        body=joined(parts),
        left=left,
        top=top - _MARGIN,
        width=right - left,
        height=bottom - top + 2.9 * _MARGIN + more,
        kind="natural",
        role="group" if address else "img",
    )


def node_sample(kind: str, shape: str = "circle", *, ringed: bool = False) -> Markup:
    """Draws the sample of a node for a legend."""
    return joined(_shape(kind, shape, ringed=ringed, scale=0.9))


def link_sample(*, holds: bool) -> Markup:
    """Draws the sample of a link for a legend."""
    return element("g", element("path", class_="line", d="M-8 0H8"), class_="holds" if holds else None)


def _shape(kind: str, shape: str, *, ringed: bool, scale: float) -> Iterator[Markup]:
    if ringed:
        yield element("circle", class_="ring", r=6.5 * scale + 4.5)
    yield element(
        "path",
        class_=f"point {shape} {kind}",
        d=SHAPES[shape],
        transform=f"scale({scale})" if scale != 1 else None,
    )


def _dot(
    node: Node,
    at: Point,
    label: Label | None,
    center: int | None,
    address: Callable[[int], str] | None,
    width: float,
) -> Markup:
    is_center = node.id == center
    shape = _shape(node.kind, node.shape, ringed=node.ringed, scale=_CENTER if is_center else 1)
    parts = [
        element("title", f"{node.name}: {node.about}"),
        element("g", *shape, transform=f"translate({number(at.x)} {number(at.y)})"),
    ]
    if label:
        class_ = "label strong" if node.strong else "label"
        parts.append(text(label.text, label.x, label.y, class_, anchor=label.anchor))
    class_ = "dot center" if is_center else "dot"
    if address is not None and (label is None or label.text != node.name):
        parts.append(_whole_name(node.name, at, width))
    if address is None:
        return element("g", *parts, class_=class_)
    words = f"{node.name}, {node.about}"
    return element("a", *parts, class_=class_, href=address(node.id), aria_label=words)


def _whole_name(name: str, at: Point, room: float) -> Markup:
    """Draws the full name on a background, which the page shows on hover and on focus."""
    words = shortened(name, 48 if room > 600 else 42)
    width = text_width(words, 12.0) + 12
    left = min(max(at.x - width / 2, 4.0), max(room - width - 4, 4.0))
    return element(
        "g",
        element("rect", x=left, y=at.y - 36, width=width, height=20, rx=4),
        text(words, left + width / 2, at.y - 22, anchor="middle"),
        class_="whole-name",
    )


def _edges(edges: Sequence[Edge], places: Mapping[int, Point], tip: str) -> Iterator[Markup]:
    """Draws each pair of linked nodes once, with an arrow at both ends if they refer to each other."""
    about = {(edge.source, edge.target): edge.about for edge in edges}
    for edge in edges:
        back = about.get((edge.target, edge.source))
        if back and edge.source > edge.target:
            continue
        path = line(_between(places[edge.source], places[edge.target]))
        end = None if edge.holds else f"url(#{tip})"
        yield element(
            "g",
            element("title", f"{edge.about}; {back}" if back else edge.about),
            element("path", class_="reach-line", d=path),
            element("path", class_="line", d=path, marker_end=end, marker_start=end if back else None),
            class_="wire holds" if edge.holds else "wire",
        )


def _arrow(tip: str) -> Markup:
    return Markup(
        f'<defs><marker id="{tip}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path class="tip" d="M0 .8 7 4 0 7.2Z"/></marker></defs>'
    )


def _between(start: Point, end: Point) -> tuple[Point, Point]:
    """Shortens a line so that it touches neither node and has room for its arrow."""
    length = hypot(end.x - start.x, end.y - start.y)
    if length < 24:
        return start, end
    x, y = (end.x - start.x) / length, (end.y - start.y) / length
    return Point(start.x + 9 * x, start.y + 9 * y), Point(end.x - 12 * x, end.y - 12 * y)


def _extent(
    places: Mapping[int, Point], labels: Mapping[int, Label], narrowest: float
) -> tuple[float, float]:
    """Returns the horizontal extent of nodes and labels with margins, at least ``narrowest``."""
    first, last = horizontal_extent(places, labels)
    spare = max(narrowest - (last - first) - 2 * _MARGIN, 0.0) / 2
    return round(first - _MARGIN - spare, 1), round(last + _MARGIN + spare, 1)
