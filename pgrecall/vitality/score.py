"""Activation, vitality and retention of a memory, term by term, and how long it stays in each zone.

Links slow aging, spread activation and revive. An access spreads over the links in a damped walk, divided by
the fan (Anderson, 1983). Unlike in ACT-R, the boost is kept with the memory and halves with time; it is not
bound to a context.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgrecall.vitality.activation import MIN_AGE_DAYS, SECONDS_PER_DAY, AccessSummary, power_sum
from pgrecall.vitality.parameters import DEFAULT_WEIGHTS, LayerRates, Rates, VitalityWeights

NEVER_DAYS = 1e6 * 365.25
"""A million years; longer durations count as for ever."""
SPREAD_CAP = 1.0
"""A memory's stored spreading boost never exceeds this, however many neighbours are used."""

ONE_ACCESS = (0.0,)
TEN_DAILY = tuple(float(days) for days in range(10))


def link_stretch(in_degree: int, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """Returns the factor by which references from live memories slow the aging of a memory: 1 to 2 by
    default."""
    return 1 + weights.stretch_per_link * min(in_degree, weights.stretch_links)


def half_life_decay(amount: float, days: float, half_life: float) -> float:
    """Returns the rest of ``amount`` after ``days`` days (negative counts as 0), halved every ``half_life``
    days."""
    return float(amount * 2 ** -(max(days, 0) / half_life))


def spread_now(stored: float, days: float, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """Returns the rest of a stored spreading boost (at most 1) after ``days`` days."""
    return half_life_decay(min(stored, SPREAD_CAP), days, weights.spread_half_life_days)


def revival(days: float, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """Returns the remaining effect of a link gained ``days`` ago, 0 to 1: exp(-rate * days), 0 once it is
    dropped."""
    if days >= weights.revival_days:
        return 0.0
    return math.exp(-weights.revival_rate * max(days, 0))


def vitality_of(activation: float) -> float:
    """S / (1 + S): the logistic function of ln S, without logarithm or exponential."""
    return activation / (1 + activation) if math.isfinite(activation) else 1.0


@dataclass(frozen=True, slots=True)
class ActivationTerms:
    """The weighted terms of S at one time; each is at least 0."""

    recent: float
    tail: float
    spread: float
    revival: float

    @property
    def activation(self) -> float:
        """S, the sum of all terms."""
        return self.recent + self.tail + self.spread + self.revival

    @property
    def base(self) -> float:
        """B = ln S, ACT-R's base-level activation."""
        return math.log(self.activation)

    @property
    def vitality(self) -> float:
        """S / (1 + S), from 0 to 1."""
        return vitality_of(self.activation)

    def retention(self, *, protected: bool, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
        """Vitality with the protection floor applied; for zones and pruning, never for ranking."""
        return max(self.vitality, weights.protection_floor) if protected else self.vitality


def activation_terms(
    summary: AccessSummary,
    rates: Rates,
    now: float,
    *,
    in_degree: int = 0,
    spread: float = 0.0,
    spread_at: float | None = None,
    last_linked_at: float | None = None,
    weights: VitalityWeights = DEFAULT_WEIGHTS,
) -> ActivationTerms:
    """Computes every term of S at ``now``.

    Args:
        now: time in epoch seconds, like the other times; later times count as ``now``.
        in_degree: number of live memories that refer to this one.
        spread: the spreading boost stored at ``spread_at``; without a time it counts nothing.
        last_linked_at: when the memory gained its newest link.
    """
    clock = rates.clock / link_stretch(in_degree, weights)
    total = summary.power_sum(now, rates.effective_decay, clock)
    recent = math.fsum(
        (clock * max((now - time) / SECONDS_PER_DAY, MIN_AGE_DAYS)) ** -rates.effective_decay
        for time in summary.recent
    )
    boost = 0.0
    if spread_at is not None:
        boost = spread_now(spread, (now - spread_at) / SECONDS_PER_DAY, weights)
    link = 0.0
    if last_linked_at is not None:
        link = revival((now - last_linked_at) / SECONDS_PER_DAY, weights)
    return ActivationTerms(
        recent=recent,
        tail=max(total - recent, 0.0),
        spread=weights.spread_weight * boost,
        revival=weights.revival_weight * link,
    )


@dataclass(frozen=True, slots=True)
class ZoneHorizon:
    """Days after the last access until which a memory is at least in the zone; inf for ever, 0 for never."""

    active: float
    stale: float
    fading: float


def days_in_zones(
    rates: LayerRates,
    days_before_last: Sequence[float] = ONE_ACCESS,
    weights: VitalityWeights = DEFAULT_WEIGHTS,
    *,
    in_degree: int = 0,
    min_age: float = MIN_AGE_DAYS,
) -> ZoneHorizon:
    """Computes when a memory of a layer leaves each zone, by bisection on the exact sum.

    Args:
        rates: of the layer; the oldest access is its birth and counts as its birth weight's whole units.
        days_before_last: for every access (at least one) the days between it and the last one, in any order.
        in_degree: number of live memories that refer to it.
        min_age: younger ages count as this many days, as everywhere.

    Raises:
        ValueError: there is no access.
    """
    if not days_before_last:
        raise ValueError("days_before_last is empty; a memory has at least one access, its birth")
    births = [max(days_before_last)] * (int(rates.birth_weight) - 1)
    last = min(days_before_last)
    offsets = [days - last for days in (*days_before_last, *births)]
    clock = rates.clock / link_stretch(in_degree, weights)

    def vitality(days: float) -> float:
        ages = (clock * max(days + offset, min_age) for offset in offsets)
        return vitality_of(power_sum(ages, rates.effective_decay, min_age=0.0))

    def last_day_above(threshold: float) -> float:
        return _last_above(vitality, threshold)

    zones = rates.zones
    return ZoneHorizon(*map(last_day_above, (zones.active, zones.stale, zones.fading)))


def _last_above(vitality: Callable[[float], float], threshold: float) -> float:
    """Returns the last time in days at which a falling ``vitality`` is not below ``threshold``, exact to the
    last bit."""
    if vitality(0.0) < threshold:
        return 0.0
    if vitality(NEVER_DAYS) >= threshold:
        return math.inf
    low, high = 0.0, NEVER_DAYS
    while low < (middle := (low + high) / 2) < high:
        if vitality(middle) >= threshold:
            low = middle
        else:
            high = middle
    return low
