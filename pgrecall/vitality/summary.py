"""The bounded summary of a memory's accesses: count, first, and the newest few exactly.

Feeding the same accesses in any order gives the same summary, so replays and late events are safe.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass

from pgrecall.vitality.activation import MIN_AGE_DAYS, power_sum_hybrid

RECENT = 8
"""How many newest access times the database keeps exactly (k of Petrov's hybrid)."""

SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class AccessSummary:
    """``count`` accesses, the ``first`` and the newest ``recent`` (newest first), in epoch seconds."""

    count: int
    first: float
    recent: tuple[float, ...]
    keep: int = RECENT

    @classmethod
    def of(cls, times: Iterable[float], *, keep: int = RECENT) -> AccessSummary:
        """The summary of these access times (at least one), in any order."""
        ordered = sorted(times, reverse=True)
        return cls(len(ordered), ordered[-1], tuple(ordered[:keep]), keep)

    def add(self, time: float) -> AccessSummary:
        """The summary after one more access, early, late or in between."""
        negated = [-known for known in self.recent]
        insort(negated, -time)
        newest = tuple(-known for known in negated[: self.keep])
        return AccessSummary(self.count + 1, min(self.first, time), newest, self.keep)

    def power_sum(
        self, now: float, decay: float, clock: float = 1.0, *, min_age: float = MIN_AGE_DAYS
    ) -> float:
        """The decayed sum at ``now``; ``clock`` layer days pass per day."""
        ages = [clock * max((now - time) / SECONDS_PER_DAY, min_age) for time in self.recent]
        oldest = clock * max((now - self.first) / SECONDS_PER_DAY, min_age)
        return power_sum_hybrid(ages, self.count, oldest, decay, min_age=0.0)
