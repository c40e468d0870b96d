"""Which labels of a graph find room, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pgrecall.faces.charts.graph_layout import WIDTH, Node
from pgrecall.faces.charts.svg import Point, text_width
from pgrecall.faces.wording import shortened

Anchor = Literal["start", "middle", "end"]

_LONGEST, _WIDEST = 24, 142.0
_CLEAR = 8.0


class Area(NamedTuple):
    """A rectangle in a chart."""

    left: float
    top: float
    right: float
    bottom: float

    def crossed(self, start: Point, end: Point) -> bool:
        """Whether the line from one point to another passes through (clipped as by Liang and Barsky)."""
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
        """Whether the two share any point."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A name beside its node; ``x`` and ``y`` are where its baseline begins, ends or has its middle."""

    text: str
    x: float
    y: float
    anchor: Anchor


def place_labels(
    nodes: Sequence[Node], places: Mapping[int, Point], lines: Sequence[tuple[Point, Point]], height: float
) -> dict[int, Label]:
    """Labels in the order of ``nodes``: right of the node, left, below or above, wherever the fewest lines
    pass; none where each of them would cover a node or another label."""
    page = Area(2, 2, WIDTH - 2, height - 2)
    taken = {node: _around(at) for node, at in places.items()}
    shown: list[Area] = []
    labels = {}
    for node in nodes:
        others = [*shown, *(area for other, area in taken.items() if other != node.id)]
        free = [
            (sum(area.crossed(*line) for line in lines), place, label, area)
            for place, (label, area) in enumerate(_choices(_fitted(node.name), places[node.id]))
            if _lies_in(area, page) and not any(area.meets(other) for other in others)
        ]
        if free:
            _, _, labels[node.id], area = min(free, key=lambda choice: choice[:2])
            shown.append(area)
    return labels


def reach(places: Mapping[int, Point], labels: Mapping[int, Label]) -> tuple[float, float]:
    """From where to where nodes and labels reach, from side to side."""
    ends = [at.x for at in places.values()]
    for label in labels.values():
        width = text_width(label.text)
        before = {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
        ends.extend((label.x - before, label.x - before + width))
    return min(ends), max(ends)


def _fitted(name: str) -> str:
    text = shortened(name, _LONGEST)
    while len(text) > 2 and text_width(text) > _WIDEST:
        text = shortened(text, len(text) - 1)
    return text


def _choices(text: str, at: Point) -> Iterable[tuple[Label, Area]]:
    width, x, y = text_width(text), at.x, at.y
    aside, below, above = y + 4, y + 22, y - 13
    yield (
        Label(text, round(x + 12, 1), round(aside, 1), "start"),
        Area(x + 11, aside - 10, x + 12 + width, aside + 3),
    )
    yield (
        Label(text, round(x - 12, 1), round(aside, 1), "end"),
        Area(x - 12 - width, aside - 10, x - 11, aside + 3),
    )
    for line in (below, above):
        area = Area(x - width / 2, line - 10, x + width / 2, line + 3)
        yield Label(text, round(x, 1), round(line, 1), "middle"), area


def _around(at: Point) -> Area:
    return Area(at.x - _CLEAR, at.y - _CLEAR, at.x + _CLEAR, at.y + _CLEAR)


def _lies_in(area: Area, page: Area) -> bool:
    return (
        page.left <= area.left
        and area.right <= page.right
        and page.top <= area.top
        and area.bottom <= page.bottom
    )
