"""The effect of use on the score of a memory in a search.

S is as in vitality, except that younger accesses count as an hour old, and those of a cue as a day old: a
memory that was used a moment ago belongs to the current work rather than to the answer to the next question.
S is compared with the median of the layer, up to 63 times the median. Where most memories were used rarely
and long ago, one use equals many medians and means less; where all are used a lot, it equals few. Therefore a
median has a larger weight where one use equals fewer of them, so that one use multiplies the odds of a memory
by at most 8 in every layer.

"""

from __future__ import annotations

import math

MIN_AGE_DAYS = 1 / 24
"""Younger accesses count as an hour old."""
CUE_MIN_AGE_DAYS = 1.0
"""Younger accesses of a cue count as a day old."""
MAX_MEDIANS = 63.0
"""S counts up to this many times the median."""
MAX_SCALE = 1.6
"""Maximum factor of the weight of a median, where one use equals few of them."""


def fresh_activation(clock: float = 1.0, decay: float = 0.5, birth_weight: float = 1.0) -> float:
    """Returns S of a memory stored an hour ago. One use adds no more to S if nothing links to the memory.

    Args:
        clock: days of the layer's own clock in a day.
        decay: of the layer.
        birth_weight: accesses that storing counts as, at least 1.
    """
    return float(birth_weight * (clock * MIN_AGE_DAYS) ** -decay)


def use_term(activation: float, median: float, newest: float) -> float:
    """Returns the amount that use adds to the log-odds of a memory per unit of weight: k ln((1 + S / median)
    / 2).

    It is 0 at the median. k = ln 64 / ln(1 + u), between 1 and 1.6; u is the S of a fresh memory in medians,
    which one use does not exceed. So (1 + u)^k is at most 64: with the weight 0.5, one use multiplies the
    odds of a memory by at most 8, and all its uses by at most 28.

    Args:
        activation: S of the memory, at least 0.
        median: the median S of its layer, above 0.
        newest: S of a memory stored an hour ago in its layer (``fresh_activation``).
    """
    worth = min(max(newest / median, 1.0), MAX_MEDIANS)  # up to 12 medians the scale is the same
    scale = min(MAX_SCALE, math.log(1 + MAX_MEDIANS) / math.log(1 + worth))
    return scale * math.log((1 + min(activation / median, MAX_MEDIANS)) / 2)
