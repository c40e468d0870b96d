"""What the link graph adds: stretched time, spreading activation, revival."""

from __future__ import annotations

import math

from pgrecall.vitality.weights import DEFAULT_WEIGHTS, VitalityWeights

SPREAD_CAP = 1.0
"""A memory's stored spreading boost never exceeds this, however many neighbours are used."""
SEED_REVIVAL_DAYS = 14.0
"""Where the source cuts a revival off, at 0.06; the preset ``seed`` follows it."""


def stretch(in_degree: int, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """How many times slower a memory ages for the live memories that refer to it: 1 to 2 by default."""
    return 1 + weights.stretch_per_link * min(in_degree, weights.stretch_links)


def halved(amount: float, days: float, half_life: float) -> float:
    """What is left of ``amount`` after ``days`` (none if negative) of halving every ``half_life`` days."""
    return float(amount * 2 ** -(max(days, 0) / half_life))


def spread_now(stored: float, days: float, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """What is left after ``days`` of a stored spreading boost, of which at most 1 counts."""
    return halved(min(stored, SPREAD_CAP), days, weights.spread_half_life_days)


def revival(days: float, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
    """What a link gained ``days`` ago still adds: exp(-rate * days), nothing once it is dropped; 0 to 1."""
    if days >= weights.revival_days:
        return 0.0
    return math.exp(-weights.revival_rate * max(days, 0))
