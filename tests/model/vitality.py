"""The sum of docs/explanation/vitality.md over a log of accesses, written out without pgrecall."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from tests.model.parameters import Rates

EXACT = 8
"""So many newest accesses count at their own times."""

MINUTE, HOUR, DAY = (timedelta(minutes=1), timedelta(hours=1), timedelta(days=1))


T = TypeVar("T")
E = TypeVar("E", bound="Repeatable")


class Repeatable(Protocol):
    """An access that may repeat another."""

    @property
    def kind(self) -> str: ...
    @property
    def session(self) -> str | None: ...


def fraction(weight: float) -> Fraction:
    """A weight as it is written: ten times 0.1 are one."""
    return Fraction(str(weight))


@dataclass(frozen=True)
class Event:
    """An access as it was recorded."""

    at: datetime
    kind: str
    session: str | None
    weight: Fraction
    told: datetime
    merged_from: int | None = None
    """The memory whose access this is a copy of, for its keeper."""


def without_repeats(log: Iterable[E], burst: Any, at: Callable[[E], Any] = attrgetter("at")) -> list[E]:
    """The first of each run of the same kind in the same session with gaps below a burst, by time."""
    newest: dict[tuple[str, str], Any] = {}
    kept = []
    for event in sorted(log, key=at):
        if event.session is not None:
            run, before = (event.kind, event.session), newest.get((event.kind, event.session))
            newest[run] = at(event)
            if before is not None and at(event) - before < burst:
                continue
        kept.append(event)
    return kept


def whole(weighted: Iterable[tuple[T, Fraction]]) -> tuple[list[T], Fraction]:
    """The time of each whole access, where the sum of the weights passes a unit, and what is left over."""
    times: list[T] = []
    total = Fraction(0)
    for at, weight in weighted:
        total += weight
        times += [at] * (int(total) - len(times))
    return times, total - len(times)


@dataclass(frozen=True)
class Aging:
    """What decides how fast one memory ages: its layer, and by how much the references to it slow that."""

    rates: Rates
    stretch: float = 1.0

    def share(self, age: timedelta) -> float:
        clock, exponent = self.rates.aging
        return float((clock * (age / DAY) / self.stretch) ** -exponent)

    def exact(self, times: Sequence[datetime], now: datetime, youngest: timedelta = MINUTE) -> float:
        """The sum over all accesses, each at its own age."""
        return sum(self.share(max(now - at, youngest)) for at in times)

    def parts(
        self, times: Sequence[datetime], now: datetime, youngest: timedelta = MINUTE
    ) -> tuple[float, float]:
        """The same from ten numbers: the eight newest, and one uniform tail back to the first."""
        recent, older = times[-EXACT:], times[:-EXACT]
        if not older:
            return self.exact(recent, now, youngest), 0.0
        _, exponent = self.rates.aging
        near, far = (max(now - at, youngest) / DAY for at in (recent[0], times[0]))
        half = math.log(far / near) / 2
        mean = (near * far) ** (-exponent / 2) * _shc((1 - exponent) * half) / _shc(half)
        return self.exact(recent, now, youngest), len(older) * mean * self.share(DAY)


def _shc(x: float) -> float:
    return math.sinh(x) / x if x else 1.0


@dataclass(frozen=True)
class Terms:
    """The terms of S."""

    recent: float
    tail: float
    spread: float
    revival: float

    @property
    def activation(self) -> float:
        return self.recent + self.tail + self.spread + self.revival

    @property
    def vitality(self) -> float:
        return self.activation / (1 + self.activation)
