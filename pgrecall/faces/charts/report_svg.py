"""The two pictures of the report of a prune plan as numbers: the template draws what stands here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import hypot

from pgrecall.faces.charts.report_graph import Kind, Node, Subgraph, affected
from pgrecall.faces.charts.report_labels import Label, place_labels
from pgrecall.faces.charts.report_layout import WIDTH, Point, lay_out
from pgrecall.models.prune import PrunePlan
from pgrecall.vitality.parameters import DEFAULT_ZONES

BINS = 20
_BAR, _GAP, _SIDE = 42.0, 4.0, 22.0
_TALLEST, _FLOOR, _THINNEST = 190.0, 250.0, 2.0
_LABEL_ORDER: tuple[Kind, ...] = ("kept", "planned", "skipped", "protected", "other")

SHAPES: Mapping[Kind, str] = {
    "planned": "M0-7.5 7.5 0 0 7.5-7.5 0Z",
    "skipped": "M0-7.5 7.5 0 0 7.5-7.5 0Z",
    "kept": "M-6.5-6.5H6.5V6.5H-6.5Z",
    "protected": "M0-7.5 6.5-3.75V3.75L0 7.5-6.5 3.75V-3.75Z",
    "other": "M-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0Z",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A node as it is drawn."""

    node: Node
    at: Point
    label: Label | None


@dataclass(frozen=True, slots=True)
class Line:
    """A link as it is drawn, from the rim of one node to that of the other."""

    start: Point
    end: Point
    about: str
    holds: bool


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """The affected subgraph. ``kinds`` are those that are drawn, in the legend's order."""

    width: float
    height: float
    marks: tuple[Mark, ...]
    lines: tuple[Line, ...]
    kinds: tuple[Kind, ...]
    subgraph: Subgraph


@dataclass(frozen=True, slots=True)
class Bar:
    """How many live memories have a vitality in [``low``, ``high``), and how many of them are planned.
    ``top`` is where the whole bar begins, ``planned_top`` where its planned part does."""

    low: float
    high: float
    live: int
    planned: int
    x: float
    top: float
    planned_top: float


@dataclass(frozen=True, slots=True)
class Band:
    """A zone beneath the bars, from ``x`` on."""

    name: str
    low: float
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A value written beneath the bars."""

    value: float
    x: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """The distribution of vitality over all live memories."""

    width: float
    floor: float
    bar_width: float
    bars: tuple[Bar, ...]
    bands: tuple[Band, ...]
    ticks: tuple[Tick, ...]


def graph_picture(plan: PrunePlan) -> GraphPicture:
    """The affected subgraph, laid out; nothing is drawn of a plan that touches nothing."""
    graph = affected(plan)
    if not graph.nodes:
        return GraphPicture(WIDTH, 0, (), (), (), graph)
    layout = lay_out(graph)
    names = {node.id: node.name for node in graph.nodes}
    ends = Counter(end for edge in graph.edges for end in (edge.source, edge.target))
    telling = sorted(graph.nodes, key=lambda node: (_LABEL_ORDER.index(node.kind), -ends[node.id], node.id))
    lines = []
    for edge in graph.edges:
        start, end = between(layout.places[edge.source], layout.places[edge.target])
        about = f"{names[edge.source]} → {names[edge.target]}: {edge.about}"
        lines.append(Line(start, end, about, edge.holds))
    drawn_lines = [(line.start, line.end) for line in lines]
    labels = place_labels(telling, layout.places, drawn_lines, layout.height)
    marks = tuple(Mark(node, layout.places[node.id], labels.get(node.id)) for node in graph.nodes)
    drawn = {node.kind for node in graph.nodes}
    kinds = tuple(kind for kind in SHAPES if kind in drawn)
    return GraphPicture(WIDTH, layout.height, marks, tuple(lines), kinds, graph)


def histogram(plan: PrunePlan) -> Histogram:
    """Twenty bars of 0.05; the planned part of each stands at its foot."""
    counts = plan.report.histogram
    planned = Counter(min(max(int(item.vitality * BINS), 0), BINS - 1) for item in plan.items)
    unit = _TALLEST / max(1, *counts)
    bars = []
    for place, live in enumerate(counts):
        part = min(planned[place], live)
        bars.append(
            Bar(
                low=place / BINS,
                high=(place + 1) / BINS,
                live=live,
                planned=part,
                x=round(_SIDE + place * (_BAR + _GAP), 1),
                top=_top(live, unit),
                planned_top=_top(part, unit),
            )
        )
    bands = tuple(_bands())
    ticks = [Tick(band.low, band.x) for band in bands] + [Tick(1.0, bands[-1].x + bands[-1].width)]
    width = 2 * _SIDE + BINS * (_BAR + _GAP) - _GAP
    return Histogram(width, _FLOOR, _BAR, tuple(bars), bands, tuple(ticks))


def _bands() -> Iterable[Band]:
    zones = DEFAULT_ZONES
    bounds = [("archived", 0.0), ("fading", zones.fading), ("stale", zones.stale), ("active", zones.active)]
    ends = [low for _, low in bounds[1:]] + [1.0]
    span = BINS * (_BAR + _GAP)
    for (name, low), high in zip(bounds, ends, strict=True):
        yield Band(name, low, round(_SIDE - _GAP / 2 + low * span, 1), round((high - low) * span, 1))


def _top(count: int, unit: float) -> float:
    return round(_FLOOR - max(count * unit, _THINNEST), 1) if count else _FLOOR


def between(start: Point, end: Point) -> tuple[Point, Point]:
    """The ends of a line that touches neither node, with room for its arrow."""
    length = hypot(end.x - start.x, end.y - start.y)
    if length < 24:
        return start, end
    x, y = (end.x - start.x) / length, (end.y - start.y) / length
    return (
        Point(round(start.x + 9 * x, 1), round(start.y + 9 * y, 1)),
        Point(round(end.x - 12 * x, 1), round(end.y - 12 * y, 1)),
    )
