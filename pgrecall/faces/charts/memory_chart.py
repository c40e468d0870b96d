"""The chart of a memory: its past and future vitality, the bounds of its zones, and its accesses."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from markupsafe import Markup

from pgrecall.faces.charts.axes import WIDE, Frame, Scale, Tick, date_ticks, tick_labels, zone_bands
from pgrecall.faces.charts.svg import Chart, element, joined, line, number, text
from pgrecall.faces.wording import amount, counted, duration_words, moment, named
from pgrecall.nouns.charts.models import AccessRecord, VitalityPoint
from pgrecall.nouns.memories.models import StoredMemory
from pgrecall.vitality.parameters import ZoneThresholds

MAX_ACCESSES = 1000

_HEIGHT, _TOP, _FLOOR = 344.0, 18.0, 268.0


@dataclass(frozen=True, slots=True)
class _Measure:
    """The width of the chart, and the positions of the start, of now, and of the end."""

    width: float
    left: float
    now: float
    right: float
    narrow: bool = False


_WIDE, _NARROW = _Measure(1012.0, 52.0, 590.0, 950.0), _Measure(372.0, 46.0, 196.0, 318.0, True)

_HIGH = Scale(0, 1, _FLOOR, _TOP)
_AFTER = tuple(timedelta(seconds=seconds) for seconds in (-1, 0, 86_400))
_AHEAD, _FIRST_DAYS, _LAST_DAYS = 160, 1 / 24, 100 * 365.25
_SPANS = (
    Tick(1 / 24, "1 h"), Tick(1.0, "1 day"), Tick(7.0, "1 week"), Tick(30.44, "1 month"),
    Tick(365.25, "1 year"), Tick(3652.5, "10 years"), Tick(_LAST_DAYS, "100 years"),
)  # fmt: skip
_DAY = timedelta(days=1)
_TABLE_POINTS = 7
_PAST_AND_FUTURE = (
    "Left of “now”: the past. Right of it: what happens if it is never used again, on a scale that widens "
    "from hours to years."
)
_HELD = " Dotted: the level at which a pin or protection holds it, which decides its zone."


@dataclass(frozen=True, slots=True)
class Life:
    """The data of the chart: accesses, the curve until ``now`` and after it, and the zones."""

    memory: StoredMemory
    accesses: Sequence[AccessRecord]
    past: Sequence[VitalityPoint]
    future: Sequence[VitalityPoint]
    zones: ZoneThresholds
    now: datetime

    @property
    def table(self) -> list[VitalityPoint]:
        """A few evenly spaced points of the past and of the future."""
        sides = (self.past, self.future[1:])
        return [
            point
            for points in sides
            for point in points[:: max(len(points) // _TABLE_POINTS, 1)][:_TABLE_POINTS]
        ]


def past_instants(
    born: datetime, accesses: Sequence[AccessRecord], now: datetime, *, grid: int = 80, detailed: int = 150
) -> list[datetime]:
    """Returns times of the curve up to now: evenly spaced, and dense around the newest accesses, where it
    jumps."""
    span = max((now - born) / grid, timedelta(seconds=1))
    even = [born + step * span for step in range(grid)]
    close = [access.at + after for access in accesses[:detailed] for after in _AFTER]
    return sorted({at for at in (*even, *close, now) if born <= at <= now})


def future_instants(now: datetime) -> list[datetime]:
    """Returns times of the curve after now, logarithmically spaced from an hour to a hundred years."""
    ratio = (_LAST_DAYS / _FIRST_DAYS) ** (1 / (_AHEAD - 1))
    return [now, *(now + timedelta(days=_FIRST_DAYS * ratio**step) for step in range(_AHEAD))]


def days_until(future: Sequence[VitalityPoint], threshold: float, now: datetime) -> float | None:
    """Returns the days until the retention falls below a threshold for good: 0 if it already has, None if
    that takes more than a hundred years."""
    if future[-1].retention >= threshold:
        return None
    for before, after in reversed(list(pairwise(future))):
        if before.retention >= threshold:
            share = (before.retention - threshold) / (before.retention - after.retention)
            first, last = (max((point.at - now) / _DAY, 1e-3) for point in (before, after))
            return math.exp(math.log(first) + share * math.log(last / first))
    return 0.0


def memory_chart(life: Life, frame: Frame = WIDE) -> Chart:
    """Draws the vitality of a memory, past and future."""
    at = _NARROW if frame.narrow else _WIDE
    exits = dict(_days_in_zones(life))
    end = _end_of_future(exits)
    born = life.past[0].at
    past = Scale(born.timestamp(), life.now.timestamp(), at.left, at.now)
    future = Scale(_FIRST_DAYS, end, at.now, at.right, logarithmic=True)
    before = [(past(point.at.timestamp()), point) for point in life.past]
    after = [
        (future((point.at - life.now) / _DAY), point)
        for point in life.future
        if point.at <= life.now + end * 1.001 * _DAY
    ]
    floored = any(point.retention > point.vitality for _, point in (*before, *after))
    held = line((x, _HIGH(point.retention)) for x, point in (*before, *after))
    spans = [tick for tick in _SPANS if tick.value <= end and future(tick.value) > at.now + 50]
    dates = date_ticks(born, life.now, 2 if at.narrow else 4)[:-1]
    parts = [
        *_zones(life.zones, at),
        element("path", class_="now", d=f"M{number(at.now)} 8V314"),
        *([element("path", class_="held", d=held)] if floored else []),
        element("path", class_="curve", d=line((x, _HIGH(point.vitality)) for x, point in before)),
        element("path", class_="curve ahead", d=line((x, _HIGH(point.vitality)) for x, point in after)),
        *_accesses(life, past, at),
        *_exits(life, exits, future, at),
        tick_labels([*dates, Tick(life.now.timestamp(), "now")], past, 332, at.width),
        *(element("path", class_="notch", d=f"M{number(future(tick.value))} {_FLOOR:g}v5") for tick in spans),
        tick_labels(spans, future, 290, at.width),
    ]
    return Chart(
        name=f"life{frame.id_suffix}",
        title=named(life.memory.title, life.memory.key, life.memory.id, 80),
        about=_about(life, exits),
        caption=_PAST_AND_FUTURE + (_HELD if floored else "") + _lasts(exits),
        body=joined(parts),
        width=at.width,
        height=_HEIGHT,
        kind="life",
        curve=";".join(
            f"{number(x)} {number(_HIGH(point.vitality))} {_reading(point, life.now)}"
            for x, point in (*before, *after)
        ),
    )


def _about(life: Life, exits: dict[str, float | None]) -> str:
    """Describes the chart in words."""
    vitality = life.memory.vitality
    used = sum(access.kind not in ("retrieval", "write") for access in life.accesses)
    leaves = "".join(
        f" Without further use it leaves {zone} in {duration_words(days * _DAY)}."
        for zone, days in exits.items()
        if days is not None
    )
    return (
        f"Vitality is {amount(vitality.vitality)} now, in the zone {vitality.zone}.{leaves}{_lasts(exits)} "
        f"{counted(used, 'use')} in {counted(len(life.accesses), 'access', 'accesses')}."
    )


def _lasts(exits: dict[str, float | None]) -> str:
    """Returns a sentence about the zone that it never leaves; empty if there is none."""
    lasting = next((zone for zone, days in exits.items() if days is None), None)
    return f" Without further use it is still {lasting} in a century." if lasting else ""


def _days_in_zones(life: Life) -> Iterator[tuple[str, float | None]]:
    """Yields the days until it leaves its zone and each lower one; None for more than a hundred years."""
    for zone, bound, _ in reversed(zone_bands(life.zones)[1:]):
        days = days_until(life.future, bound, life.now)
        if days != 0:
            yield zone, days


def _end_of_future(exits: dict[str, float | None]) -> float:
    """Returns how many days of the future to draw."""
    days = [each for each in exits.values() if each is not None]
    return _LAST_DAYS if len(days) < len(exits) else min(max(6 * max(days, default=0), 30.0), _LAST_DAYS)


def _zones(zones: ZoneThresholds, at: _Measure) -> Iterator[Markup]:
    for zone, low, high in reversed(zone_bands(zones)):
        top, floor = _HIGH(high), _HIGH(low)
        yield element(
            "rect", class_=f"band {zone}", x=at.left, y=top, width=at.right - at.left, height=floor - top
        )
        if low:
            yield element("path", class_="bound", d=f"M{number(at.left)} {number(floor)}H{number(at.right)}")
        yield text(f"{low:g}", at.left - 6, floor + 4, anchor="end")
        yield text(zone, at.right + 7, (top + floor) / 2 + 4)
    yield text("1", at.left - 6, 22, anchor="end")


def _accesses(life: Life, across: Scale, at: _Measure) -> Iterator[Markup]:
    """Draws uses as dots on the curve and strokes below it, other accesses as strokes only."""
    for access in life.accesses:
        x = across(access.at.timestamp())
        if access.kind == "retrieval":
            drawn = element("title", f"shown {moment(access.at)}"), element("path", d=f"M{number(x)} 300V308")
            yield element("g", *drawn, class_="showing")
            continue
        place = min(bisect_left(life.past, access.at, key=lambda point: point.at), len(life.past) - 1)
        vitality = life.past[place].vitality
        yield element(
            "g",
            element("title", f"{access.kind} {moment(access.at)}, vitality {amount(vitality)}"),
            element("circle", cx=x, cy=_HIGH(vitality), r=3.2),
            element("path", d=f"M{number(x)} 278V294"),
            class_="use",
        )
    yield text("used", at.left - 6, 291, anchor="end")
    yield text("shown", at.left - 6, 309, anchor="end")


def _exits(life: Life, exits: dict[str, float | None], across: Scale, at: _Measure) -> Iterator[Markup]:
    """Marks where the curve leaves a zone, and when."""
    for zone, bound, _ in zone_bands(life.zones):
        if (days := exits.get(zone)) is not None:
            x, y = across(days), _HIGH(bound)
            early = not at.narrow and x < (at.now + at.right) / 2 - 30
            yield element("circle", class_="leaving", cx=x, cy=y, r=4)
            words = f"leaves {zone} in {duration_words(days * _DAY)}"
            yield text(words, x + (9 if early else -9), y - 8, "leaves", anchor="start" if early else "end")


def _reading(point: VitalityPoint, now: datetime) -> str:
    verb = "was" if point.at < now else "is" if point.at == now else "will be"
    return f"{point.at:%Y-%m-%d %H:%M}: vitality {verb} {point.vitality:.3f}, {point.zone}"
