"""What use adds to the score of a memory in a search.

S is as in vitality, except that younger accesses count as an hour old, and those of a cue as a day old: what
was used a moment ago is the work in hand rather than the answer to the next question. S is compared with the
median of the layer, up to 63 times of it. Where most memories were used rarely and long ago, one use is many
medians, and says less; where all are used a lot, it is few. Each median therefore weighs the more, the fewer
of them one use is worth, so that one use multiplies the odds of a memory by at most 8 everywhere.
"""

from __future__ import annotations

import math

MIN_AGE_DAYS = 1 / 24
"""Younger accesses count as an hour old."""
CUE_MIN_AGE_DAYS = 1.0
"""Younger accesses of a cue count as a day old."""
MOST_MEDIANS = 63.0
"""S counts up to this many times the median."""
MOST_SCALE = 1.6
"""By how much a median weighs more at most, where one use is worth few of them."""


def fresh(clock: float = 1.0, decay: float = 0.5, birth_weight: float = 1.0) -> float:
    """S of a memory stored an hour ago. One use adds no more to S if nothing links to the memory.

    Args:
        clock: days of the layer's own clock in a day.
        decay: of the layer.
        birth_weight: accesses that storing counts as, at least 1.
    """
    return float(birth_weight * (clock * MIN_AGE_DAYS) ** -decay)


def use_term(activation: float, median: float, newest: float) -> float:
    """What use adds to the log-odds of a memory for each unit of weight: k ln((1 + S / median) / 2).

    It is 0 at the median. k = ln 64 / ln(1 + u), between 1 and 1.6; u is the S of a fresh memory in medians,
    which one use does not exceed. So (1 + u)^k is at most 64: with the weight 0.5, one use multiplies the
    odds of a memory by at most 8, and all its uses by at most 28.

    Args:
        activation: S of the memory, at least 0.
        median: the median S of its layer, above 0.
        newest: S of a memory stored an hour ago in its layer (``fresh``).
    """
    worth = min(max(newest / median, 1.0), MOST_MEDIANS)  # up to 12 medians the scale is the same
    scale = min(MOST_SCALE, math.log(1 + MOST_MEDIANS) / math.log(1 + worth))
    return scale * math.log((1 + min(activation / median, MOST_MEDIANS)) / 2)
