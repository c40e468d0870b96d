"""Line charts and small graphs as SVG text, the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from markupsafe import Markup

from pgrecall.faces.charts.axes import Scale, share_ticks
from pgrecall.faces.charts.svg import Point, element, line

COLOURS = ("#0b4f8a", "#b3461c", "#2f7d4f", "#7a5195", "#635c53")
_INK, _SOFT, _RULE, _PAGE = "#201d19", "#635c53", "#e6e1d8", "#fcfbf9"
_BANDS = ("#dcebf5", "#eef5fa", "#fdf3e1", "#f1eeea")
_FATES = {"stays": "#0b4f8a", "kept": "#b3461c", "goes": "#c9c3b8"}
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 540.0, 30.0, 290.0


class Drawing:
    """Marks on a page of a size in pixels."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.marks: list[Markup] = []

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", colour: str = _SOFT) -> None:
        self.marks.append(element("text", words, x=x, y=y, text_anchor=anchor, fill=colour))

    def path(
        self, points: Sequence[tuple[float, float]], colour: str = "#9d958b", **more: str | float
    ) -> None:
        self.marks.append(element("path", d=line(points), stroke=colour, fill="none", **more))

    def node(self, place: tuple[float, float], label: str, fate: str) -> None:
        """A memory with a number in it; ``fate`` is stays, kept or goes."""
        x, y = place
        dashed = {"stroke": _SOFT, "stroke_dasharray": "3 2"} if fate == "goes" else {}
        self.marks.append(element("circle", cx=x, cy=y, r=14, fill=_FATES[fate], **dashed))
        self.text(x, y + 4, label, anchor="middle", colour=_INK if fate == "goes" else "#ffffff")

    def svg(self, about: str) -> str:
        """The file; ``about`` says what it shows to readers who do not see it."""
        paper = element("rect", width="100%", height="100%", fill=_PAGE)
        parts = [element("title", about), paper, *self.marks]
        return element(
            "svg",
            *(part + "\n" for part in parts),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.width} {self.height}",
            width=self.width,
            height=self.height,
            role="img",
            font_family="sans-serif",
            font_size=12,
        ) + Markup("\n")


class LineChart(Drawing):
    """Lines over one horizontal axis, plain or logarithmic; the vertical one goes from 0 to 1."""

    def __init__(
        self,
        below: str,
        beside: str,
        span: tuple[float, float],
        *,
        ticks: Sequence[tuple[float, str]],
        logarithmic: bool = False,
    ) -> None:
        super().__init__(680, 340)
        self._x = Scale(*span, _LEFT, _RIGHT, logarithmic)
        self._y = Scale(0, 1, _BOTTOM, _TOP)
        self._frame = below, beside, ticks
        self._names: list[tuple[float, str, str]] = []

    def bands(self, zones: Sequence[tuple[str, float, float]], *, named: str = "start") -> None:
        """Zones of the vertical axis, each with its name at the start or the end."""
        for (name, low, high), colour in zip(zones, _BANDS, strict=True):
            top, height = self._y(high), self._y(low) - self._y(high)
            size = {"width": _RIGHT - _LEFT, "height": height}
            self.marks.append(element("rect", x=_LEFT, y=top, fill=colour, **size))
            self.text(_LEFT + 6 if named == "start" else _RIGHT - 6, top + 14, name, anchor=named)

    def line(
        self, name: str, points: Sequence[tuple[float, float]], number: int, *, dashed: bool = False
    ) -> None:
        """A line, named at its right end."""
        drawn = [Point(self._x(x), self._y(y)) for x, y in points]
        dash = {"stroke_dasharray": "6 4"} if dashed else {}
        self.path(drawn, COLOURS[number], stroke_width=2, **dash)
        self._names.append((drawn[-1].y + 4, name, COLOURS[number]))

    def svg(self, about: str) -> str:
        below, beside, ticks = self._frame
        for value, name in share_ticks():
            self.path([(_LEFT, self._y(value)), (_RIGHT, self._y(value))], _RULE)
            self.text(_LEFT - 6, self._y(value) + 4, name, anchor="end")
        for where, name in ticks:
            self.path([(self._x(where), _BOTTOM), (self._x(where), _BOTTOM + 5)], _SOFT)
            self.text(self._x(where), _BOTTOM + 18, name, anchor="middle")
        self.text((_LEFT + _RIGHT) / 2, _BOTTOM + 40, below, anchor="middle", colour=_INK)
        self.text(10, _TOP - 14, beside, colour=_INK)
        self._name_lines()
        return super().svg(about)

    def _name_lines(self) -> None:
        """The names at the right, moved apart where they would lie on each other, up first and then down."""
        names = sorted(self._names, reverse=True)
        up = list(
            accumulate((y for y, _, _ in names), lambda below, y: min(y, below - 15), initial=_BOTTOM + 19)
        )
        down = list(accumulate(reversed(up[1:]), lambda above, y: max(y, above + 15), initial=_TOP - 11))
        for y, (_, name, colour) in zip(down[1:], reversed(names), strict=True):
            self.text(_RIGHT + 8, y, name, colour=colour)
