"""What use adds to the score of a memory in a search.

S is as in vitality, except that younger accesses count as an hour old, and those of a cue as a day old: what
was used a moment ago is the work in hand rather than the answer to the next question. S is compared with the
median of the layer. Where most memories were used rarely and long ago, one use is many medians; S therefore
counts up to 63 of them.
"""

from __future__ import annotations

import math

MIN_AGE_DAYS = 1 / 24
"""Younger accesses count as an hour old."""
CUE_MIN_AGE_DAYS = 1.0
"""Younger accesses of a cue count as a day old."""
MOST_MEDIANS = 63.0
"""S counts up to this many times the median."""


def use_term(activation: float, median: float) -> float:
    """What use adds to the log-odds of a memory for each unit of weight: ln((1 + S / median) / 2).

    It is 0 at the median, -ln 2 without any use, and ln 32 at most: with the weight 0.5, use multiplies the
    odds of one memory over another by at most 8.

    Args:
        activation: S of the memory, at least 0.
        median: the median S of its layer, above 0.
    """
    return math.log((1 + min(activation / median, MOST_MEDIANS)) / 2)
