"""How long a memory stays in each zone once it is no longer used: the days that a layer's rates stand for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgrecall.vitality.activation import MIN_AGE_DAYS, power_sum
from pgrecall.vitality.link_terms import stretch
from pgrecall.vitality.rates import LayerRates
from pgrecall.vitality.score import vitality_of
from pgrecall.vitality.weights import DEFAULT_WEIGHTS, VitalityWeights

NEVER_DAYS = 1e6 * 365.25
"""A million years; what lasts longer lasts for ever."""
ONE_ACCESS = (0.0,)
TEN_DAILY = tuple(float(days) for days in range(10))


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
    """When a memory of a layer leaves each zone, by bisection on the exact sum.

    Args:
        rates: of the layer; the oldest access is its birth and counts as its birth weight's whole units.
        days_before_last: for every access, at least one, by how many days it precedes the last; in any order.
        in_degree: how many live memories refer to it.
        min_age: younger ages count as this many days, as everywhere.

    Raises:
        ValueError: there is no access.
    """
    if not days_before_last:
        raise ValueError("days_before_last is empty; a memory has at least one access, its birth")
    births = [max(days_before_last)] * (int(rates.birth_weight) - 1)
    last = min(days_before_last)
    offsets = [days - last for days in (*days_before_last, *births)]
    clock = rates.clock / stretch(in_degree, weights)

    def vitality(days: float) -> float:
        ages = (clock * max(days + offset, min_age) for offset in offsets)
        return vitality_of(power_sum(ages, rates.effective_decay, min_age=0.0))

    def last_day_above(threshold: float) -> float:
        return _last_above(vitality, threshold)

    zones = rates.zones
    return ZoneHorizon(*map(last_day_above, (zones.active, zones.stale, zones.fading)))


def _last_above(vitality: Callable[[float], float], threshold: float) -> float:
    """The last day, to the last bit, at which a falling ``vitality`` is not below ``threshold``."""
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
