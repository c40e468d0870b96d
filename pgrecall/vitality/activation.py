"""Base-level activation: the decayed sum of accesses, exactly and from a bounded summary.

The power law of forgetting is Anderson & Schooler (1991): S = sum over accesses of age^-d. The summary keeps
the newest k accesses exactly and treats the older ones as evenly spread (the hybrid of Petrov, 2006).
Functions return the sum S, not its logarithm B = ln S: sums add up, and vitality is S / (1 + S).
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SECONDS_PER_DAY = 86_400
MIN_AGE_DAYS = 60 / 86_400
"""Younger ages, and future ones (clock skew), count as one minute."""
RECENT = 8
"""Number of newest access times that the database keeps exactly (k of Petrov's hybrid)."""


def power_sum(ages: Iterable[float], decay: float, *, min_age: float = MIN_AGE_DAYS) -> float:
    """Returns the sum of age^-decay over ages in days, each at least ``min_age``.

    >>> power_sum([1.0, 4.0], 0.5)
    1.5
    """
    return math.fsum(max(age, min_age) ** -decay for age in ages)


def tail_mean(newest: float, oldest: float, decay: float) -> float:
    """Returns the mean of x^-decay for x uniform on [newest, oldest], in days, 0 < newest <= oldest.

    The textbook quotient loses every digit near decay = 1 and near newest = oldest; this form,
    (ab)^(-d/2) shc((1-d) r/2) / shc(r/2) with r = ln(b/a), is accurate for any decay > 0.

    >>> tail_mean(3.0, 3.0, 1.0) == 1 / 3
    True
    """
    half_log_ratio = math.log(oldest / newest) / 2
    scale = float((newest * oldest) ** (-decay / 2))
    return scale * _shc((1 - decay) * half_log_ratio) / _shc(half_log_ratio)


def power_sum_hybrid(
    recent: Sequence[float], count: int, oldest: float, decay: float, *, min_age: float = MIN_AGE_DAYS
) -> float:
    """Returns Petrov's hybrid: the sum over ``recent`` ages, the other ``count - len(recent)`` as an even
    tail.

    Args:
        recent: the smallest ages in days, ascending; at least one.
        count: number of all accesses.
        oldest: age of the first access in days.

    Exact when ``count == len(recent)``.
    """
    exact = power_sum(recent, decay, min_age=min_age)
    older = count - len(recent)
    if older <= 0:
        return exact
    boundary = max(recent[-1], min_age)
    return exact + older * tail_mean(boundary, max(oldest, boundary), decay)


def optimized_base_level(count: int, lifetime: float, decay: float) -> float | None:
    """Returns the O(1) closed form ln(n/(1-d)) - d ln L, for comparison only; None where it is undefined.

    It ignores the last access, is undefined for decay >= 1 and is not monotone in decay; nothing
    in pgrecall ranks by it (Fisher, Houpt & Gunzelmann 2018).
    """
    if decay >= 1:
        return None
    return math.log(count / (1 - decay)) - decay * math.log(lifetime)


def _shc(x: float) -> float:
    """sinh(x)/x, continued by 1 at 0."""
    return math.sinh(x) / x if x else 1.0


@dataclass(frozen=True, slots=True)
class AccessSummary:
    """``count`` accesses, the ``first`` and the newest ``recent`` (newest first), in epoch seconds.

    The same accesses in any order give the same summary, so replays and late events are safe.
    """

    count: int
    first: float
    recent: tuple[float, ...]
    keep: int = RECENT

    @classmethod
    def of(cls, times: Iterable[float], *, keep: int = RECENT) -> AccessSummary:
        """Returns the summary of these access times (at least one), in any order."""
        ordered = sorted(times, reverse=True)
        return cls(len(ordered), ordered[-1], tuple(ordered[:keep]), keep)

    def add(self, time: float) -> AccessSummary:
        """Returns the summary after one more access, at any time."""
        negated = [-known for known in self.recent]
        insort(negated, -time)
        newest = tuple(-known for known in negated[: self.keep])
        return AccessSummary(self.count + 1, min(self.first, time), newest, self.keep)

    def power_sum(
        self, now: float, decay: float, clock: float = 1.0, *, min_age: float = MIN_AGE_DAYS
    ) -> float:
        """Returns the decayed sum at ``now``; ``clock`` is the number of layer days per day."""
        ages = [clock * max((now - time) / SECONDS_PER_DAY, min_age) for time in self.recent]
        oldest = clock * max((now - self.first) / SECONDS_PER_DAY, min_age)
        return power_sum_hybrid(ages, self.count, oldest, decay, min_age=0.0)
