"""SVG as text: elements that escape their contents, and charts for pages and files."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from pgrecall.faces.printable import printable

_LETTER, _WIDE_LETTER = 0.537, 1.046
"""Width of a letter and of a CJK character, relative to the font size."""

HEADING = 30.0
"""Height of a heading in a stack of charts."""


class Point(NamedTuple):
    """A point in a chart: x to the right, y down."""

    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart in its own units.

    Args:
        name: prefix of its ids; unique on a page.
        about: description for readers who cannot see it.
        caption: explanation, written below it in a file.
        kind: CSS classes of the ``svg`` element besides ``chart``.
        role: ``img``, or ``group`` if it contains links.
        curve: points and their texts, which the script of the page shows at the pointer.
    """

    name: str
    title: str
    about: str
    body: Markup
    width: float
    height: float
    left: float = 0.0
    top: float = 0.0
    caption: str = ""
    kind: str = ""
    role: str = "img"
    curve: str | None = None

    def __html__(self) -> str:
        """Renders the chart for a page that has the style of charts."""
        return element(
            "svg",
            element("title", self.title, id=f"{self.name}-title"),
            element("desc", self.about, id=f"{self.name}-about"),
            self.body,
            class_=f"chart {self.kind}".rstrip(),
            width=self.width * 1.2 if "natural" in self.kind else None,
            viewBox=" ".join(map(number, (self.left, self.top, self.width, self.height))),
            role=self.role,
            aria_labelledby=f"{self.name}-title {self.name}-about",
            data_curve=self.curve,
        )


def element(tag: str, *children: str, **attributes: str | float | None) -> Markup:
    """Renders an element. Text is escaped; attributes that are None are omitted. ``class_`` becomes
    ``class``, ``aria_label`` becomes ``aria-label``."""
    given = Markup("").join(
        Markup(' {}="{}"').format(
            name.rstrip("_").replace("_", "-"), _clean(value) if isinstance(value, str) else number(value)
        )
        for name, value in attributes.items()
        if value is not None
    )
    if not children:
        return Markup(f"<{tag}{given}/>")
    return Markup(f"<{tag}{given}>{joined(children)}</{tag}>")


def joined(parts: Iterable[str]) -> Markup:
    """Joins parts; those that are not markup are escaped."""
    return Markup("").join(map(_clean, parts))


def _clean(words: str) -> str:
    """Removes control characters, which XML forbids, and directional marks."""
    return words if isinstance(words, Markup) else printable(words)


def text(words: str, x: float, y: float, class_: str | None = None, *, anchor: str | None = None) -> Markup:
    """Renders text with the start of its baseline at a point, or with ``anchor`` its ``middle`` or
    ``end``."""
    return element("text", words, class_=class_, x=x, y=y, text_anchor=None if anchor == "start" else anchor)


def number(value: float) -> str:
    """Formats a length to a tenth of a unit."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def line(points: Iterable[tuple[float, float]]) -> str:
    """Returns the path through points."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def text_width(words: str, size: float = 11.0) -> float:
    """Returns the approximate width of text in a sans-serif font of this size."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)
    return size * (_WIDE_LETTER * wide + _LETTER * (len(words) - wide))


def stacked(parts: Sequence[tuple[str, Chart]], *, name: str, title: str, caption: str) -> Chart:
    """Stacks charts of the same width, each with a heading."""
    drawn, top = [], 0.0
    for heading, chart in parts:
        drawn.append(text(heading, 0, top + 14, "heading"))
        drawn.append(element("g", chart.body, transform=f"translate(0 {number(top + HEADING - chart.top)})"))
        top += HEADING + chart.height + 8
    return Chart(
        name=name,
        title=title,
        about=" ".join(f"{heading}: {chart.about}" for heading, chart in parts),
        body=joined(drawn),
        width=max(chart.width for _, chart in parts),
        height=top,
        caption=caption,
    )
