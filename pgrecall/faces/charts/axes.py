"""Shared parts of charts: scales, readable ticks, bands of zones, and legends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, get_args

from markupsafe import Markup

from pgrecall.faces.charts.svg import element, joined, number, text, text_width
from pgrecall.vitality.parameters import Zone, ZoneThresholds

ZONES: tuple[Zone, ...] = get_args(Zone)
WIDTH, LEFT, RIGHT = 968.0, 52.0, 960.0
"""Width of a chart, and the ends of its axes."""

_TEXT = 12.0


@dataclass(frozen=True, slots=True)
class Frame:
    """The width of a chart, the ends of its axes, and the suffix of the ids in it.

    A page contains each chart twice, wide and narrow, and shows the one that fits the screen.
    """

    width: float = WIDTH
    left: float = LEFT
    right: float = RIGHT
    id_suffix: str = ""

    @property
    def narrow(self) -> bool:
        """Whether there is room for only a few labels."""
        return self.width < 600


WIDE = Frame()
NARROW = Frame(356.0, 36.0, 350.0, "-narrow")


class Tick(NamedTuple):
    """A value on an axis and its label."""

    value: float
    name: str


class Band(NamedTuple):
    """A zone and its bounds, as retention from 0 to 1."""

    zone: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values in [``low``, ``high``] to [``start``, ``end``]; values outside are clamped."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.0
        return round(self.start + share * (self.end - self.start), 1)


def zone_bands(zones: ZoneThresholds) -> tuple[Band, ...]:
    """Returns the zones, lowest first."""
    lows = (0.0, zones.fading, zones.stale, zones.active, 1.0)
    return tuple(
        Band(zone, low, high) for zone, low, high in zip(reversed(ZONES), lows[:-1], lows[1:], strict=True)
    )


def count_ticks(high: float) -> list[Tick]:
    """Returns ticks from 0 to a round number that is at least ``high``."""
    power = 1
    while high > 10 * power:
        power *= 10
    top = next(step * power for step in (1, 2, 4, 6, 8, 10) if high <= step * power)
    steps = 4 if top % 4 == 0 else 2 if top % 2 == 0 else 1
    return [Tick(count, f"{count:,}") for count in (top * step // steps for step in range(steps + 1))]


def power_ticks(high: float) -> list[Tick]:
    """Returns powers of ten from 1 to at least ``high``."""
    return [Tick(10**power, f"{10**power:,}") for power in range(math.ceil(math.log10(max(high, 10))) + 1)]


def share_ticks() -> list[Tick]:
    """Returns ticks from 0 to 1 in steps of 0.2."""
    return [Tick(fifth / 5, f"{fifth / 5:g}") for fifth in range(6)]


def date_ticks(begin: datetime, end: datetime, steps: int = 4) -> list[Tick]:
    """Returns ``steps`` + 1 dates in seconds since 1970, labelled with the time of day if they are close
    together."""
    form = "%Y-%m-%d" if end - begin > timedelta(days=steps) else "%m-%d %H:%M"
    dates = [begin + (end - begin) * step / steps for step in range(steps + 1)]
    return [Tick(date.timestamp(), f"{date:{form}}") for date in dates]


def grid_lines(ticks: Iterable[Tick], scale: Scale, left: float = LEFT, right: float = RIGHT) -> Markup:
    """Draws horizontal grid lines with labels on the left."""
    return joined(
        element("path", class_="level", d=f"M{number(left)} {scale(value)}H{number(right)}")
        + text(name, left - 6, scale(value) + 4, anchor="end")
        for value, name in ticks
    )


def tick_labels(ticks: Iterable[Tick], scale: Scale, y: float, width: float = WIDTH) -> Markup:
    """Draws labels below a chart, within its width; omits a label that would touch the previous one."""
    drawn, free = [], -math.inf
    for value, name in ticks:
        half = text_width(name, _TEXT) / 2
        middle = min(scale(value), width - half - 6)
        if middle - half > free:
            drawn.append(text(name, middle, y, anchor="middle"))
            free = middle + half + 8
    return joined(drawn)


def legend(
    entries: Sequence[tuple[Markup, str]], y: float, left: float = 0.0, width: float = WIDTH
) -> tuple[Markup, float]:
    """Draws samples of 16 units with their labels, in lines from ``y`` downwards.

    Returns:
        The legend, and the height of its lines.
    """
    drawn, x, top = [], left, y
    for sample, words in entries:
        room = 22 + text_width(words, _TEXT)
        if x > left and x + room > left + width:
            x, top = left, top + 20
        drawn.append(element("g", sample, transform=f"translate({number(x + 8)} {number(top)})"))
        drawn.append(text(words, x + 22, top + 4))
        x += room + 20
    return element("g", *drawn, class_="legend"), top + 20 - y


def swatch(class_: str) -> Markup:
    """Draws the sample of an area for a legend."""
    return element("rect", class_=class_, x=-6, y=-6, width=12, height=12)
