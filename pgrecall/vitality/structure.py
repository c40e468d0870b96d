"""What the link graph adds: stretched time, spreading activation, revival."""

from __future__ import annotations

import math

STRETCH_PER_LINK = 0.1
STRETCH_LINKS = 10
SPREAD_HALF_LIFE_DAYS = 7.0
SPREAD_CAP = 1.0
HOP_DAMPING = 0.6
REVIVAL_RATE_PER_DAY = 0.2
REVIVAL_DAYS = math.log(100) / REVIVAL_RATE_PER_DAY
"""After this long less than 0.01 of a revival is left, and it is dropped."""
SEED_REVIVAL_DAYS = 14.0
"""Where the source cuts a revival off, at 0.06; the preset ``seed`` follows it."""


def stretch(in_degree: int) -> float:
    """How many times slower a memory ages for the live memories that link to it: 1 to 2."""
    return 1 + STRETCH_PER_LINK * min(in_degree, STRETCH_LINKS)


def spread_now(stored: float, days: float) -> float:
    """A stored spreading boost, at most 1, after ``days`` of halving every seven days."""
    return min(stored, SPREAD_CAP) * 2 ** -(max(days, 0) / SPREAD_HALF_LIFE_DAYS)


def spread_at_hop(utility: float, hops: int) -> float:
    """The share of an access's ``utility`` that reaches a memory ``hops`` links away."""
    return float(utility * HOP_DAMPING**hops)


def revival(days: float, *, until: float = REVIVAL_DAYS) -> float:
    """What a link gained ``days`` ago still adds: exp(-0.2 days), and nothing from ``until`` on."""
    if days >= until:
        return 0.0
    return math.exp(-REVIVAL_RATE_PER_DAY * max(days, 0))
