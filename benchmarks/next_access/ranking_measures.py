"""Measures of rankings and their confidence intervals.

Each measure is its exact expectation over all orders of equal scores, so no figure depends on a seed, on ids
or on the order of rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.intervals import RESAMPLES, Floats

Mask = np.ndarray[Any, np.dtype[np.bool_]]

MEASURES = ("mrr", "auc", "recall_at_10", "auc_7d")


def judge(scores: Floats, used_next: Mask, used_in_week: Mask) -> tuple[float, ...]:
    """The MEASURES of one ranking; ``used_*`` mark relevant items, at least one each."""
    return (
        reciprocal_rank(scores, used_next),
        area_under_curve(scores, used_next),
        recall_at(10, scores, used_next),
        area_under_curve(scores, used_in_week),
    )


def reciprocal_rank(scores: Floats, relevant: Mask) -> float:
    """Expected 1 / rank of the first relevant item, the highest score first.

    >>> reciprocal_rank(np.array([2.0, 1.0, 1.0]), np.array([False, True, False]))  # rank 2 or 3
    0.41666666666666663
    """
    best = scores[relevant].max()
    ahead = int((scores > best).sum())
    tied = int((scores == best).sum())
    hits = int((scores[relevant] == best).sum())
    expected, none_yet = 0.0, 1.0
    for place in range(1, tied - hits + 2):
        hit_here = hits / (tied - place + 1)
        expected += none_yet * hit_here / (ahead + place)
        none_yet *= 1 - hit_here
    return expected


def area_under_curve(scores: Floats, relevant: Mask) -> float:
    """The probability that a relevant item scores above another; ties count half; NaN without both kinds."""
    hits = int(relevant.sum())
    others = len(scores) - hits
    if not hits or not others:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle_rank = np.cumsum(counts) - (counts - 1) / 2
    return float((middle_rank[place][relevant].sum() - hits * (hits + 1) / 2) / (hits * others))


def recall_at(k: int, scores: Floats, relevant: Mask) -> float:
    """The expected share of the relevant items among the first k."""
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    ahead = np.cumsum(counts) - counts
    return float(np.clip((k - ahead) / counts, 0, 1)[place][relevant].mean())


def mean_of(values: Floats) -> float | None:
    """The mean of the numbers among the values; None if there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def block_length(count: int) -> int:
    return max(1, round(math.sqrt(count)))


def resampled_means(values: Floats, seed: int) -> Floats:
    """Means of RESAMPLES moving-block resamples, since neighbours in time are correlated.

    Blocks have about sqrt(n) values. One seed cuts all series of the same length at the same positions, so
    differences of two results are those of paired resamples.
    """
    length = block_length(len(values))
    summed = np.concatenate([[0.0], np.cumsum(values)])
    blocks = (summed[length:] - summed[:-length]) / length
    drawn = -(-len(values) // length)
    starts = np.random.default_rng(seed).integers(0, len(blocks), size=(RESAMPLES, drawn))
    return np.asarray(blocks[starts].mean(axis=1))
