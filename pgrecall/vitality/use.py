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
LEAST_DOUBT = 0.25
"""Of the weight, however relevant the best candidate is."""


def use_term(activation: float, median: float) -> float:
    """What use adds to the log-odds of a memory for each unit of weight: ln((1 + S / median) / 2).

    It is 0 at the median, -ln 2 without any use, and ln 32 at most.

    Args:
        activation: S of the memory, at least 0.
        median: the median S of its layer, above 0.
    """
    return math.log((1 + min(activation / median, MOST_MEDIANS)) / 2)


def weight_beside(weight: float, best: float) -> float:
    """The weight of use in a search: the less the text says, the more use counts.

    It is twice the weight where nothing seems to answer, the weight itself at a relevance of one half, and
    half of it from three quarters on.

    Args:
        weight: that of the setting ``vitality.weight``, of the profile or of the search.
        best: the largest relevance among the candidates, 0 to 1.
    """
    return 2 * weight * max(1 - best, LEAST_DOUBT)


def head_start(weight: float) -> float:
    """By how many log-odds a memory must be behind the most relevant one so that no use lifts it past that.

    With the weight 0.5 it has an eighth of the odds.
    """
    return weight * math.log(1 + MOST_MEDIANS)
