"""The effects of links on vitality: slower aging, spreading activation and revival.

An access spreads over the links in a damped walk, divided by the fan (Anderson 1983). Unlike in ACT-R, the
boost is kept with the memory and halves with time; it is not bound to a context.
"""

from __future__ import annotations

import math

from pgrecall.vitality.parameters import DEFAULT_WEIGHTS, VitalityWeights

SPREAD_CAP = 1.0
"""A memory's stored spreading boost never exceeds this, however many neighbours are used."""


def stretch(in_degree: int, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """Returns the factor by which references from live memories slow the aging of a memory: 1 to 2 by
    default."""
    return 1 + weights.stretch_per_link * min(in_degree, weights.stretch_links)


def halved(amount: float, days: float, half_life: float) -> float:
    """Returns the rest of ``amount`` after ``days`` days (negative counts as 0), halved every ``half_life``
    days."""
    return float(amount * 2 ** -(max(days, 0) / half_life))


def spread_now(stored: float, days: float, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """Returns the rest of a stored spreading boost (at most 1) after ``days`` days."""
    return halved(min(stored, SPREAD_CAP), days, weights.spread_half_life_days)


def revival(days: float, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """Returns the remaining effect of a link gained ``days`` ago, 0 to 1: exp(-rate * days), 0 once it is
    dropped."""
    if days >= weights.revival_days:
        return 0.0
    return math.exp(-weights.revival_rate * max(days, 0))
