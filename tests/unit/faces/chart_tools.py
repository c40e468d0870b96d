"""Charts as tests read them: parsed, with where each mark stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pgrecall.faces.charts.graph_layout import Area
from pgrecall.faces.charts.svg import Chart, Point, text_width


@dataclass(frozen=True)
class Dot:
    """A node of a graph: its title, its classes, and where its label lies if it has one."""

    title: str
    kinds: frozenset[str]
    at: Point
    label: Area | None


def parsed(chart: Chart) -> Element:
    """The chart as elements; text that is not well formed fails the test."""
    return ElementTree.fromstring(chart.__html__())


def of_class(root: Element, name: str) -> list[Element]:
    """Every element with a class."""
    return [element for element in root.iter() if name in element.get("class", "").split()]


def words(root: Element) -> list[str]:
    """All texts that are drawn."""
    return ["".join(element.itertext()) for element in root.iter("text")]


def dots(chart: Chart) -> list[Dot]:
    """The nodes of a graph."""
    return [_dot(element) for element in of_class(parsed(chart), "dot")]


def frame(chart: Chart) -> Area:
    """What can be seen of a chart."""
    return Area(chart.left, chart.top, chart.left + chart.width, chart.top + chart.height)


def places(root: Element) -> Iterator[Point]:
    """Every place that a path or a rectangle outside of groups with a transform goes to."""
    moved = {
        inner
        for group in root.iter("g")
        if group.get("transform")
        for inner in group.iter()
        if inner is not group
    }
    hidden = {inner for definition in root.iter("defs") for inner in definition.iter()}
    for element in root.iter():
        if element in moved | hidden:
            continue
        if element.tag == "rect":
            x, y, width, height = (float(element.get(name, "")) for name in ("x", "y", "width", "height"))
            yield from (Point(x, y), Point(x + width, y + height))
        if element.tag == "path":
            for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", element.get("d", "")):
                yield Point(float(x), float(y))


def _dot(element: Element) -> Dot:
    [title] = element.findall("title")
    [moved] = element.findall("g")
    x, y = re.findall(r"-?[\d.]+", moved.get("transform", ""))
    [point] = of_class(moved, "point")
    label = next(iter(of_class(element, "label")), None)
    kinds = frozenset(point.get("class", "").split()) | frozenset(element.get("class", "").split())
    return Dot(title.text or "", kinds, Point(float(x), float(y)), None if label is None else _area(label))


def _area(label: Element) -> Area:
    width = text_width(label.text or "")
    before = {"middle": width / 2, "end": width}.get(label.get("text-anchor", ""), 0.0)
    left, baseline = float(label.get("x", "")) - before, float(label.get("y", ""))
    return Area(left, baseline - 10, left + width, baseline + 3)
