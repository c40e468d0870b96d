"""The sum of docs/explanation/vitality.md over a log of accesses, written out without pgrecall."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

BURST = timedelta(minutes=10)
EXACT = 8
"""So many newest accesses count at their own times."""

CLOCK = {"entity": 0.1, "knowledge": 1.0, "episodic": 2.0, "activity": 3.0}
DECAY = 0.5
BIRTHS = {"entity": 2}
"""Creation counts once, and twice in this layer."""

ZONES = (("active", 0.6), ("stale", 0.3), ("fading", 0.1), ("dormant", -1.0))
FLOOR = 0.5
STRETCH, STRETCHED = 0.1, 10
REVIVAL_RATE, REVIVAL_END = 0.2, 23.02585093
MINUTE, HOUR, DAY = (timedelta(minutes=1), timedelta(hours=1), timedelta(days=1))
SHOWN = Fraction(1, 10)
"""Weight of being shown; everything else weighs 1."""


@dataclass(frozen=True)
class Event:
    """An access as it was recorded."""

    at: datetime
    kind: str
    session: str | None = None
    weight: Fraction | int | None = None
    merged_from: int | None = None
    """The memory whose access this is a copy of, for its keeper."""

    @property
    def counts(self) -> Fraction | int:
        if self.weight is not None:
            return self.weight
        return SHOWN if self.kind == "retrieval" else 1


def without_repeats(log: Iterable[Event]) -> list[Event]:
    """The first of each run of the same kind in the same session with gaps under ten minutes, by time."""
    newest: dict[tuple[str, str], datetime] = {}
    kept = []
    for event in sorted(log, key=lambda each: each.at):
        if event.session is not None:
            run = (event.kind, event.session)
            before = newest.get(run)
            newest[run] = event.at
            if before is not None and event.at - before < BURST:
                continue
        kept.append(event)
    return kept


def counted(log: Iterable[Event]) -> list[datetime]:
    """The time of each whole access, oldest first: where the sum of the weights passes a unit."""
    times: list[datetime] = []
    total = Fraction(0)
    for event in without_repeats(log):
        total += event.counts
        times += [event.at] * (int(total) - len(times))
    return times


@dataclass(frozen=True)
class Aging:
    """What decides how fast one memory ages: its layer and the references to it."""

    layer: str
    references: int = 0
    linked: datetime | None = None
    """When it gained its newest reference."""

    def share(self, age: timedelta) -> float:
        stretch = 1 + STRETCH * min(self.references, STRETCHED)
        return float((CLOCK[self.layer] * (age / DAY) / stretch) ** -DECAY)

    def revival(self, now: datetime) -> float:
        if self.linked is None:
            return 0.0
        days = max((now - self.linked) / DAY, 0.0)
        return math.exp(-REVIVAL_RATE * days) if days < REVIVAL_END else 0.0


def exact(times: Sequence[datetime], aging: Aging, now: datetime, youngest: timedelta = MINUTE) -> float:
    """The sum over all accesses, each at its own age."""
    return sum(aging.share(max(now - at, youngest)) for at in times)


def summed(times: Sequence[datetime], aging: Aging, now: datetime, youngest: timedelta = MINUTE) -> float:
    """The same from ten numbers: the eight newest, and one uniform tail back to the first."""
    recent, older = times[-EXACT:], times[:-EXACT]
    total = exact(recent, aging, now, youngest)
    if not older:
        return total
    near, far = (max(now - at, youngest) / DAY for at in (recent[0], times[0]))
    half = math.log(far / near) / 2
    mean = (near * far) ** (-DECAY / 2) * _shc((1 - DECAY) * half) / _shc(half)
    return float(total + len(older) * mean * aging.share(DAY))


def _shc(x: float) -> float:
    return math.sinh(x) / x if x else 1.0


def vitality_of(s: float) -> float:
    return s / (1 + s)


def zone_of(retention: float) -> str:
    return next(name for name, least in ZONES if retention >= least)
