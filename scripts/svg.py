"""Line charts and small graphs as SVG text, the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

COLOURS = ("#0b4f8a", "#b3461c", "#2f7d4f", "#7a5195", "#635c53")
_INK, _SOFT, _RULE, _PAGE = "#201d19", "#635c53", "#e6e1d8", "#fcfbf9"
_BANDS = ("#dcebf5", "#eef5fa", "#fdf3e1", "#f1eeea")
_FATES = {"stays": "#0b4f8a", "kept": "#b3461c", "goes": "#c9c3b8"}
Point = tuple[float, float]


class Drawing:
    """Marks on a page of a size in pixels."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._marks: list[str] = []

    def add(self, mark: str) -> None:
        self._marks.append(mark)

    def text(self, place: Point, words: str, *, anchor: str = "start", colour: str = _SOFT) -> None:
        x, y = place
        self.add(
            f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
        )

    def stroke(self, start: Point, end: Point, colour: str = "#9d958b") -> None:
        (x1, y1), (x2, y2) = start, end
        self.add(f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" stroke="{colour}"/>')

    def node(self, place: Point, label: str, fate: str) -> None:
        """A memory with a number in it; ``fate`` is stays, kept or goes."""
        x, y = place
        dashed = ' stroke="#635c53" stroke-dasharray="3 2"' if fate == "goes" else ""
        self.add(f'<circle cx="{x}" cy="{y}" r="14" fill="{_FATES[fate]}"{dashed}/>')
        self.text((x, y + 4), label, anchor="middle", colour=_INK if fate == "goes" else "#ffffff")

    def svg(self, about: str) -> str:
        """The file; ``about`` says to those who do not see it what it shows."""
        box = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        font = 'font-family="sans-serif" font-size="12"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" {font}>'
        page = f'<rect width="100%" height="100%" fill="{_PAGE}"/>'
        return "\n".join([head, f"<title>{escape(about)}</title>", page, *self._marks, "</svg>", ""])


class Chart(Drawing):
    """Lines over one horizontal axis, plain or logarithmic; the vertical one goes from 0 to 1."""

    def __init__(
        self,
        below: str,
        beside: str,
        span: Point,
        *,
        ticks: Sequence[tuple[float, str]],
        logarithmic: bool = False,
    ) -> None:
        super().__init__(680, 340)
        self.left, self.right, self.top, self.bottom = 44.0, 540.0, 30.0, 290.0
        self.span, self.logarithmic = span, logarithmic
        self._frame = below, beside, ticks
        self._lines: list[tuple[str, float, str]] = []

    def bands(self, zones: Sequence[tuple[str, float, float]], *, named: str = "start") -> None:
        """Zones of the vertical axis, each with its name at the start or the end."""
        for (name, low, high), colour in zip(zones, _BANDS, strict=True):
            top, height = self._y(high), self._y(low) - self._y(high)
            self.add(
                f'<rect x="{_n(self.left)}" y="{_n(top)}" width="{_n(self.right - self.left)}" '
                f'height="{_n(height)}" fill="{colour}"/>'
            )
            at = self.left + 6 if named == "start" else self.right - 6
            self.text((at, top + 14), name, anchor=named)

    def line(self, name: str, points: Sequence[Point], number: int, *, dashed: bool = False) -> None:
        """A line, named at its right end."""
        path = " ".join(f"{_n(self._x(x))},{_n(self._y(y))}" for x, y in points)
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        colour = COLOURS[number]
        self.add(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        self._lines.append((name, self._y(points[-1][1]), colour))

    def svg(self, about: str) -> str:
        below, beside, ticks = self._frame
        for value in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
            self.stroke((self.left, self._y(value)), (self.right, self._y(value)), _RULE)
            self.text((self.left - 6, self._y(value) + 4), f"{value:g}", anchor="end")
        for where, name in ticks:
            self.stroke((self._x(where), self.bottom), (self._x(where), self.bottom + 5), _SOFT)
            self.text((self._x(where), self.bottom + 18), name, anchor="middle")
        self.text(((self.left + self.right) / 2, self.bottom + 40), below, anchor="middle", colour=_INK)
        self.text((self.left - 34, self.top - 14), beside, colour=_INK)
        self._name_lines()
        return super().svg(about)

    def _name_lines(self) -> None:
        """The names at the right, moved apart where they would lie on each other, up first and then down."""
        placed: list[tuple[float, str, str]] = []
        lowest, highest = self.bottom + 4, self.top + 4
        for name, y, colour in sorted(self._lines, key=lambda line: -line[1]):
            lowest = min(y + 4, lowest)
            placed.append((lowest, name, colour))
            lowest -= 15
        for y, name, colour in reversed(placed):
            highest = max(y, highest)
            self.text((self.right + 8, highest), name, colour=colour)
            highest += 15

    def _x(self, value: float) -> float:
        low, high = map(math.log, self.span) if self.logarithmic else self.span
        at = math.log(value) if self.logarithmic else value
        return self.left + (at - low) / (high - low) * (self.right - self.left)

    def _y(self, value: float) -> float:
        return self.bottom - value * (self.bottom - self.top)


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
