"""A memory's life as a picture: its curve until now over days, from now on over ever longer steps, the bounds
of its zones, and its uses."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from pgrecall.faces.charts.plots_memory import Life, days_until
from pgrecall.faces.page.charts import Rule
from pgrecall.models.charts import VitalityPoint
from pgrecall.vitality.parameters import ZoneThresholds

__all__ = ["Life", "LifeLine", "lifeline"]

WIDE, FLOOR, TOP = 960.0, 268.0, 18.0
LEFT, NOW, RIGHT = 52.0, 590.0, 950.0
"""Where the past begins, where it becomes the future, and where that ends."""

_FIRST, _LAST = 1 / 24, 36_525.0
_SPANS = ((1 / 24, "1 h"), (1.0, "1 day"), (7.0, "1 week"), (30.44, "1 month"), (365.25, "1 year"),
          (3652.5, "10 years"), (_LAST, "100 years"))  # fmt: skip
_ROOM = 56.0
"""From the middle of a name to that of the next."""

_TOLD = 14
"""Points of the curve that a table lists."""


class Zone(NamedTuple):
    """A band of the picture, and the line at its lower bound."""

    name: str
    low: float
    top: float
    height: float


class Use(NamedTuple):
    """An access: a mark on the curve where it was a use, beneath it where the memory was merely shown."""

    kind: str
    at: datetime
    x: float
    y: float
    vitality: float


class Leaving(NamedTuple):
    """Where the curve leaves a zone."""

    zone: str
    days: float
    x: float
    y: float
    early: bool
    """Whether there is more room for words at its right."""


@dataclass(frozen=True, slots=True)
class LifeLine:
    """The picture. ``told`` are points for a table, ``readings`` for a pointer: place and words of each."""

    zones: tuple[Zone, ...]
    past: str
    future: str
    held: str
    uses: tuple[Use, ...]
    showings: tuple[Use, ...]
    leavings: tuple[Leaving, ...]
    lasting: str | None
    days: tuple[Rule, ...]
    spans: tuple[Rule, ...]
    told: tuple[VitalityPoint, ...]
    readings: tuple[tuple[float, float, str], ...]


def lifeline(life: Life) -> LifeLine:
    """The picture of a life."""
    leaving = dict(_days_in_zones(life))
    end = _reach(leaving)
    before, after = _past_scale(life), _future_scale(life.now, end)
    future = [point for point in life.future if point.at <= life.now + timedelta(days=end * 1.001)]
    marks = [_use(life, access.kind, access.at, before) for access in life.accesses]
    drawn = [(before(point.at), point) for point in life.past] + [
        (after(point.at), point) for point in future
    ]
    floored = any(point.retention > point.vitality for _, point in drawn)
    return LifeLine(
        zones=tuple(_zones(life.zones)),
        past=_path((before(point.at), point.vitality) for point in life.past),
        future=_path((after(point.at), point.vitality) for point in future),
        held=_path((x, point.retention) for x, point in drawn) if floored else "",
        uses=tuple(mark for mark in marks if mark.kind != "retrieval"),
        showings=tuple(mark for mark in marks if mark.kind == "retrieval"),
        leavings=tuple(_leavings(life, leaving, after)),
        lasting=next((zone for zone, days in leaving.items() if days is None), None),
        days=tuple(_days(life)),
        spans=tuple(
            _apart(Rule(name, after(life.now + timedelta(days=days))) for days, name in _SPANS if days <= end)
        ),
        told=tuple(_told(life.past, future)),
        readings=tuple((x, _high(point.vitality), _reading(point, life.now)) for x, point in drawn),
    )


def _days_in_zones(life: Life) -> Iterator[tuple[str, float | None]]:
    """After how many days each zone it is in, or beneath, is left: None where a century does not suffice."""
    bounds = (("active", life.zones.active), ("stale", life.zones.stale), ("fading", life.zones.fading))
    for zone, bound in bounds:
        days = days_until(life.future, bound, life.now)
        if days != 0:
            yield zone, days


def _reach(leaving: dict[str, float | None]) -> float:
    """How many days of the future are drawn."""
    if None in leaving.values():
        return _LAST
    last = max((days for days in leaving.values() if days), default=_FIRST)
    return min(max(6 * last, 30.0), _LAST)


def _past_scale(life: Life) -> Callable[[datetime], float]:
    begin, length = life.past[0].at, (life.now - life.past[0].at) / timedelta(seconds=1) or 1.0
    return lambda at: round(LEFT + (at - begin) / timedelta(seconds=1) / length * (NOW - LEFT), 1)


def _future_scale(now: datetime, end: float) -> Callable[[datetime], float]:
    """Each step as long as the last is times longer: an hour, a day, a week, a month."""

    def place(at: datetime) -> float:
        days = min(max((at - now) / timedelta(days=1), _FIRST), end)
        return round(NOW + math.log(days / _FIRST) / math.log(end / _FIRST) * (RIGHT - NOW), 1)

    return place


def _use(life: Life, kind: str, at: datetime, scale: Callable[[datetime], float]) -> Use:
    """Where an access stands: on the curve as it was right after it."""
    place = min(bisect_left(life.past, at, key=lambda point: point.at), len(life.past) - 1)
    vitality = life.past[place].vitality
    return Use(kind, at, scale(max(at, life.past[0].at)), _high(vitality), vitality)


def _leavings(
    life: Life, leaving: dict[str, float | None], scale: Callable[[datetime], float]
) -> Iterator[Leaving]:
    bounds = {"active": life.zones.active, "stale": life.zones.stale, "fading": life.zones.fading}
    for zone, days in leaving.items():
        if days is not None:
            x = scale(life.now + timedelta(days=days))
            yield Leaving(zone, days, x, _high(bounds[zone]), x < (NOW + RIGHT) / 2 - 30)


def _zones(zones: ZoneThresholds) -> Iterator[Zone]:
    bounds = (("active", zones.active, 1.0), ("stale", zones.stale, zones.active),
              ("fading", zones.fading, zones.stale), ("archived", 0.0, zones.fading))  # fmt: skip
    for name, low, high in bounds:
        yield Zone(name, low, _high(high), round(_high(low) - _high(high), 1))


def _days(life: Life) -> Iterator[Rule]:
    begin, length = life.past[0].at, life.now - life.past[0].at
    form = "%Y-%m-%d" if length > timedelta(days=4) else "%m-%d %H:%M"
    for step in range(4):
        yield Rule(f"{begin + length * step / 4:{form}}", round(LEFT + (NOW - LEFT) * step / 4, 1))


def _apart(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Those that leave room for each other's names, and for that of now."""
    last = NOW
    for rule in rules:
        middle = min(rule.place, RIGHT - _ROOM / 2)
        if middle - last >= _ROOM:
            yield rule
            last = middle


def _told(past: Sequence[VitalityPoint], future: Sequence[VitalityPoint]) -> Iterator[VitalityPoint]:
    """A few points of either side, evenly taken."""
    for points in (past, future[1:]):
        step = max(len(points) // (_TOLD // 2), 1)
        yield from points[::step][: _TOLD // 2]


def _reading(point: VitalityPoint, now: datetime) -> str:
    what = "was" if point.at < now else "is" if point.at == now else "will be"
    return f"{point.at:%Y-%m-%d %H:%M}: vitality {what} {point.vitality:.3f}, {point.zone}"


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x} {_high(value)}" for x, value in points)


def _high(vitality: float) -> float:
    return round(FLOOR - min(max(vitality, 0.0), 1.0) * (FLOOR - TOP), 1)
