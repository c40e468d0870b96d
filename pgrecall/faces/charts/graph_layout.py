"""Positions of the nodes of a graph in a chart, and of the labels that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot, sqrt
from typing import Literal, NamedTuple

from pgrecall.faces.charts.svg import Point, text_width
from pgrecall.faces.wording import shortened

WIDTH = 960.0
_EDGE, _NEAREST, _APART = 58.0, 30.0, 23.0
_PUSHES = 40
_STRETCH = 1.6
_MARGIN = 24.0
_LABEL_ROOM = 150.0
_PAIR = 46.0
_SEED = 7
_ROUNDS = 400


@dataclass(frozen=True, slots=True)
class Node:
    """A memory in a graph.

    Args:
        kind: CSS class of its colour.
        about: text that its tooltip shows after the name.
        shape: one of ``graph_chart.SHAPES``.
        strong, ringed: whether its label is emphasized, and whether it has a ring.
    """

    id: int
    name: str
    kind: str
    about: str
    shape: str = "circle"
    strong: bool = False
    ringed: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A link; with ``holds``, ``target`` is connected only through ``source``."""

    source: int
    target: int
    about: str
    holds: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """The components to draw, and the number of omitted nodes, ``unlinked`` of which have no link."""

    components: tuple[tuple[Node, ...], ...]
    edges: tuple[Edge, ...]
    left_out: int = 0
    unlinked: int = 0

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes to draw."""
        return tuple(node for piece in self.components for node in piece)


@dataclass(frozen=True, slots=True)
class Box:
    """The layout of one component, with its upper left corner at (0, 0)."""

    places: Mapping[int, Point]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The positions of the nodes and the height of the chart."""

    places: Mapping[int, Point]
    height: float


def lay_out(graph: Graph, width: float = WIDTH) -> Layout:
    """Lays out each component, then arranges the components in rows, like words. Deterministic."""
    boxes = [_box(piece, _inside(piece, graph.edges), width) for piece in graph.components]
    places: dict[int, Point] = {}
    left, top, row, crowd = _MARGIN, _MARGIN, 0.0, False
    for box in boxes:
        alone = len(box.places) == 1
        if left > _MARGIN and (left + box.width > width - _MARGIN or (alone and crowd)):
            left, top, row = _MARGIN, top + row + _MARGIN / 2, 0.0
        crowd = not alone
        places.update(
            (node, Point(round(left + at.x, 1), round(top + at.y, 1))) for node, at in box.places.items()
        )
        left, row = left + box.width, max(row, box.height)
    return Layout(places, round(top + row + _MARGIN, 1))


def _inside(piece: Sequence[Node], edges: Iterable[Edge]) -> list[Edge]:
    members = {node.id for node in piece}
    return [edge for edge in edges if edge.source in members and edge.target in members]


def _box(piece: Sequence[Node], edges: Sequence[Edge], width: float) -> Box:
    if len(piece) <= 2:
        stacked = {node.id: Point(8, 12 + _PAIR * row) for row, node in enumerate(piece)}
        return Box(stacked, 8 + _LABEL_ROOM + 24, 24 + _PAIR * (len(piece) - 1))
    places = _separated(_scaled(_sprung(piece, edges, tall=width < WIDTH / 2), edges, width))
    left, top = (min(at[axis] for at in places.values()) - 20 for axis in (0, 1))
    moved = {node: Point(at.x - left, at.y - top) for node, at in places.items()}
    right, height = (max(at[axis] for at in moved.values()) for axis in (0, 1))
    return Box(moved, right + _label_room(width), height + 20)


def _label_room(width: float) -> float:
    """Returns the width to keep free for labels on the right of a component; less in a narrow chart."""
    return _LABEL_ROOM if width >= WIDTH / 2 else 60.0


def _sprung(piece: Sequence[Node], edges: Sequence[Edge], *, tall: bool) -> dict[int, Point]:
    """Computes a spring layout, rotated so that it is wide, or tall if asked."""
    import networkx as nx
    import numpy as np

    graph = nx.Graph()
    graph.add_nodes_from(node.id for node in piece)
    graph.add_edges_from((edge.source, edge.target) for edge in edges)
    start = nx.circular_layout(graph)
    sprung = nx.spring_layout(graph, pos=start, iterations=_ROUNDS, seed=_SEED, k=2 / sqrt(len(piece)))
    spots = np.array([sprung[node.id] for node in piece])
    spots -= spots.mean(axis=0)
    axes = np.linalg.eigh(spots.T @ spots)[1][:, ::-1]
    axes *= np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1, 1)  # eigenvectors come either way
    turned = (spots @ axes)[:, ::-1] if tall else spots @ axes
    return {node.id: Point(float(x), float(y)) for node, (x, y) in zip(piece, turned.tolist(), strict=True)}


def _scaled(places: Mapping[int, Point], edges: Sequence[Edge], width: float) -> dict[int, Point]:
    """Scales positions so that links are long enough to read and the component fits the page."""
    lengths = [_distance(places[edge.source], places[edge.target]) for edge in edges]
    nearest = sorted(
        min(_distance(at, other) for neighbour, other in places.items() if neighbour != node)
        for node, at in places.items()
    )
    extent = max(at.x for at in places.values()) - min(at.x for at in places.values())
    wanted = max(
        _EDGE * len(lengths) / max(sum(lengths), 1e-6), _NEAREST / max(nearest[len(nearest) // 4], 1e-6)
    )
    across = min(wanted, (width - 2 * _MARGIN - _label_room(width) - 20) / max(extent, 1e-6))
    down = min(wanted, (_STRETCH if width >= WIDTH / 2 else 3 * _STRETCH) * across)
    return {node: Point(at.x * across, at.y * down) for node, at in places.items()}


def _separated(places: Mapping[int, Point]) -> dict[int, Point]:
    """Pushes overlapping nodes apart."""
    parted, pairs = dict(places), list(combinations(places, 2))
    for _ in range(_PUSHES):
        close = [pair for pair in pairs if _distance(parted[pair[0]], parted[pair[1]]) < _APART]
        for one, other in close:
            at, near = parted[one], parted[other]
            distance = _distance(at, near)
            push = max(_APART - distance, 0) / 2 + 0.1
            x, y = ((at.x - near.x) / distance, (at.y - near.y) / distance) if distance else (1.0, 0.0)
            parted[one] = Point(at.x + push * x, at.y + push * y)
            parted[other] = Point(near.x - push * x, near.y - push * y)
        if not close:
            break
    return parted


def _distance(one: Point, other: Point) -> float:
    return hypot(one.x - other.x, one.y - other.y)


Anchor = Literal["start", "middle", "end"]

_MAX_LABEL_LENGTH, _MAX_LABEL_WIDTH, _CLEAR, _RING = 24, 142.0, 8.0, 12.0


class Area(NamedTuple):
    """A rectangle in a chart."""

    left: float
    top: float
    right: float
    bottom: float

    def crossed(self, start: Point, end: Point) -> bool:
        """Whether a line segment crosses the rectangle (Liang and Barsky, 1984)."""
        first, last = 0.0, 1.0
        steps = (end.x - start.x, end.y - start.y)
        for at, step, low, high in zip(start, steps, self[:2], self[2:], strict=True):
            if step == 0:
                if not low <= at <= high:
                    return False
                continue
            near, far = sorted(((low - at) / step, (high - at) / step))
            first, last = max(first, near), min(last, far)
        return first < last

    def meets(self, other: Area) -> bool:
        """Whether the rectangles overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A label of a node; (``x``, ``y``) is the start, middle or end of its baseline, as ``anchor`` says."""

    text: str
    x: float
    y: float
    anchor: Anchor


def place_labels(
    nodes: Sequence[Node],
    places: Mapping[int, Point],
    lines: Sequence[tuple[Point, Point]],
    height: float,
    width: float = WIDTH,
) -> dict[int, Label]:
    """Places labels in the order of ``nodes`` on the right, on the left, below or above, where they cover no
    node, label or line. Nodes without room have no label; only the first label may cover lines."""
    page = Area(2, 2, width - 2, height - 2)
    ringed = {node.id for node in nodes if node.ringed}
    clear = {node: _RING if node in ringed else _CLEAR for node in places}
    taken = {
        node: Area(at.x - clear[node], at.y - clear[node], at.x + clear[node], at.y + clear[node])
        for node, at in places.items()
    }
    shown: list[Area] = []
    labels = {}
    for rank, node in enumerate(nodes):
        others = [*shown, *(area for other, area in taken.items() if other != node.id)]
        free = [
            (sum(area.crossed(*line) for line in lines), place, label, area)
            for place, (label, area) in enumerate(
                _choices(_fitted(node.name), places[node.id], 4.0 * node.ringed)
            )
            if _lies_in(area, page) and not any(area.meets(other) for other in others)
        ]
        free = [choice for choice in free if not choice[0]] or (free if rank == 0 else [])
        if free:
            _, _, labels[node.id], area = min(free, key=lambda choice: choice[:2])
            shown.append(area)
    return labels


def horizontal_extent(places: Mapping[int, Point], labels: Mapping[int, Label]) -> tuple[float, float]:
    """Returns the horizontal extent of nodes and labels."""
    ends = [at.x for at in places.values()]
    for label in labels.values():
        width = text_width(label.text)
        before = {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
        ends.extend((label.x - before, label.x - before + width))
    return min(ends), max(ends)


def _fitted(name: str) -> str:
    text = shortened(name, _MAX_LABEL_LENGTH)
    while len(text) > 2 and text_width(text) > _MAX_LABEL_WIDTH:
        text = shortened(text, len(text) - 1)
    return text


def _choices(text: str, at: Point, more: float = 0.0) -> Iterable[tuple[Label, Area]]:
    """Yields the possible positions of a label around a node, ``more`` units further away."""
    width, x, y = text_width(text), at.x, at.y
    aside, below, above = y + 4, y + 22 + more, y - 13 - more
    yield (
        Label(text, round(x + 12 + more, 1), round(aside, 1), "start"),
        Area(x + 11 + more, aside - 10, x + 12 + more + width, aside + 3),
    )
    yield (
        Label(text, round(x - 12 - more, 1), round(aside, 1), "end"),
        Area(x - 12 - more - width, aside - 10, x - 11 - more, aside + 3),
    )
    for line in (below, above):
        area = Area(x - width / 2, line - 10, x + width / 2, line + 3)
        yield Label(text, round(x, 1), round(line, 1), "middle"), area


def _lies_in(area: Area, page: Area) -> bool:
    return (
        page.left <= area.left
        and area.right <= page.right
        and page.top <= area.top
        and area.bottom <= page.bottom
    )
