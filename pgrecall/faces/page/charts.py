"""Pictures of all memories, as numbers that templates draw: zones by layer, vitality, zones over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from pgrecall.faces.charts.plots_style import ZONES
from pgrecall.models.charts import OverviewLayer, ZoneShare
from pgrecall.vitality.parameters import ZoneThresholds

WIDE, FLOOR = 960.0, 200.0
LEFT, TOP = 52.0, 14.0
BAR = 320.0
_SEEN = 1.5
"""The least that is drawn of what is there."""


class Piece(NamedTuple):
    """A part of a bar: whose, how many, from where on, how wide or high."""

    zone: str
    memories: int
    start: float
    size: float


@dataclass(frozen=True, slots=True)
class Column:
    """The memories with a vitality of ``low`` to ``high``; ``zone`` is None where layers differ in theirs."""

    low: float
    high: float
    memories: int
    zone: str | None
    x: float
    width: float
    top: float
    height: float


class Rule(NamedTuple):
    """A value at an axis, and where it stands."""

    name: str
    place: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """Columns of one width, lines at their side, and the bounds of the zones where they are common."""

    columns: tuple[Column, ...]
    levels: tuple[Rule, ...]
    bounds: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Band:
    """What a zone held, as the outline of an area."""

    zone: str
    outline: str


@dataclass(frozen=True, slots=True)
class Instant:
    """What the zones held at an instant; ``x`` to ``x + width`` is where a pointer is told so."""

    at: datetime
    zones: Mapping[str, int]
    x: float
    width: float

    @property
    def memories(self) -> int:
        return sum(self.zones.values())


@dataclass(frozen=True, slots=True)
class OverTime:
    """Zones over time, of all layers that are shown or of one: ``name`` is empty for all."""

    name: str
    bands: tuple[Band, ...]
    instants: tuple[Instant, ...]
    levels: tuple[Rule, ...]
    days: tuple[Rule, ...]


def zone_bars(layers: Sequence[OverviewLayer]) -> tuple[tuple[Piece, ...], ...]:
    """A bar for each layer, as long as the layer is large, parted by zones."""
    unit = BAR / max((layer.memories for layer in layers), default=1)
    return tuple(tuple(_pieces(layer, unit)) for layer in layers)


def columns(layers: Sequence[OverviewLayer], zones: ZoneThresholds | None) -> Distribution:
    """How many memories of all these layers have which vitality."""
    counts = [sum(each) for each in zip(*(layer.counts for layer in layers), strict=True)]
    top = _round_up(max(counts, default=0))
    width = (WIDE - LEFT) / max(len(counts), 1)
    drawn = []
    for place, memories in enumerate(counts):
        low, high = place / len(counts), (place + 1) / len(counts)
        height = max(memories / top * (FLOOR - TOP), _SEEN) if memories else 0.0
        zone = None if zones is None else zones.zone((low + high) / 2)
        x, top_at = round(LEFT + place * width + 1.5, 1), round(FLOOR - height, 1)
        drawn.append(Column(low, high, memories, zone, x, round(width - 3, 1), top_at, round(height, 1)))
    bounds = [] if zones is None else [zones.fading, zones.stale, zones.active]
    return Distribution(
        tuple(drawn),
        tuple(_levels(top)),
        tuple(Rule(f"{bound:g}", round(LEFT + bound * (WIDE - LEFT), 1)) for bound in bounds),
    )


def over_time(shares: Sequence[ZoneShare], now: datetime) -> tuple[OverTime, ...]:
    """A picture of all layers and, where there are several, a picture of each, to one scale of time."""
    layers: dict[str, float] = defaultdict(float)
    for share in shares:
        layers[share.layer] = max(layers[share.layer], share.memories)
    if len({share.at for share in shares}) < 2:
        return ()
    names = sorted(layers, key=lambda name: (-layers[name], name)) if len(layers) > 1 else []
    return tuple(_over_time(shares, name, now) for name in ("", *names))


def _over_time(shares: Sequence[ZoneShare], name: str, now: datetime) -> OverTime:
    moments = sorted({share.at for share in shares})
    held: dict[datetime, dict[str, float]] = {at: dict.fromkeys(ZONES, 0.0) for at in moments}
    for share in shares:
        if name in ("", share.layer):
            held[share.at][share.zone] += share.memories
    begin, length = moments[0], (moments[-1] - moments[0]) / timedelta(seconds=1)

    def across(at: datetime) -> float:
        return round(LEFT + (at - begin) / timedelta(seconds=1) / length * (WIDE - LEFT), 1)

    top = _round_up(max(sum(zones.values()) for zones in held.values()))
    half = (WIDE - LEFT) / (len(moments) - 1) / 2
    instants = tuple(
        Instant(
            at,
            {zone: round(many) for zone, many in held[at].items()},
            round(across(at) - half, 1),
            round(2 * half, 1),
        )
        for at in moments
    )
    return OverTime(
        name,
        tuple(_bands([across(at) for at in moments], [held[at] for at in moments], top)),
        instants,
        tuple(_levels(top)),
        tuple(_days(begin, now, across(begin), across(moments[-1]))),
    )


def _bands(places: Sequence[float], held: Sequence[Mapping[str, float]], top: float) -> Iterator[Band]:
    """The zones on each other, the least alive at the ground: its height is what a plan may take."""
    beneath = [0.0] * len(places)
    for zone in reversed(ZONES):
        above = [low + zones[zone] for low, zones in zip(beneath, held, strict=True)]
        if above != beneath:
            upper = [f"{x} {_height(many, top)}" for x, many in zip(places, above, strict=True)]
            lower = [f"{x} {_height(many, top)}" for x, many in zip(places, beneath, strict=True)]
            yield Band(zone, f"M{'L'.join(upper)}L{'L'.join(reversed(lower))}Z")
        beneath = above


def _pieces(layer: OverviewLayer, unit: float) -> Iterator[Piece]:
    start = 0.0
    for zone in ZONES:
        memories = layer.zones.get(zone, 0)
        if memories:
            size = max(memories * unit, _SEEN)
            yield Piece(zone, memories, round(start, 1), round(size, 1))
            start += size


def _height(memories: float, top: float) -> float:
    return round(FLOOR - memories / top * (FLOOR - TOP), 1)


def _levels(top: int) -> Iterator[Rule]:
    steps = 4 if top % 4 == 0 else 2 if top % 2 == 0 else 1
    for step in range(steps + 1):
        memories = top * step // steps
        yield Rule(f"{memories:,}", _height(memories, top))


def _days(begin: datetime, end: datetime, left: float, right: float) -> Iterator[Rule]:
    """A few dates beneath, the years where they are far apart."""
    form = "%Y-%m-%d" if end - begin > timedelta(days=2) else "%m-%d %H:%M"
    for step in range(5):
        yield Rule(f"{begin + (end - begin) * step / 4:{form}}", round(left + (right - left) * step / 4, 1))


def _round_up(count: float) -> int:
    """The next number that is easily read: 1, 2, 4, 6, 8 or 10 times a power of ten."""
    power = 1
    while count > 10 * power:
        power *= 10
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if count <= step * power)
