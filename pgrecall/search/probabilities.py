"""Probabilities, their log-odds, and the intervals of observed shares."""

from __future__ import annotations

import math

MAX_LOGIT = 500.0
"""Limit of log-odds whose exponential is computed; beyond it, probabilities are 0 or 1."""

Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


def logistic(log_odds: float) -> float:
    """Converts log-odds, clamped to ± ``MAX_LOGIT``, to a probability."""
    return 1 / (1 + math.exp(-min(max(log_odds, -MAX_LOGIT), MAX_LOGIT)))


def logit_of(probability: float) -> float:
    """Converts a probability, clamped to at least 1e-12 from 0 and 1, to log-odds."""
    inside = min(max(probability, 1e-12), 1 - 1e-12)
    return math.log(inside / (1 - inside))


def wilson_interval(share: float, count: float) -> tuple[float, float]:
    """Returns the 95 % interval of a share of ``count`` observations (E. B. Wilson, JASA 22, 1927).

    ``count`` is above 0, and may be a fraction: the effective size of a weighted sample.
    ``recall_private.wilson_interval`` computes the same.
    """
    centre = share + Z**2 / (2 * count)
    spread = Z * math.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2))
    scale = 1 + Z**2 / count
    # At a share of 0 or 1 one bound equals the share; rounding must not move it beyond.
    low, high = (centre - spread) / scale, (centre + spread) / scale
    return max(0.0, min(low, share)), min(1.0, max(high, share))
