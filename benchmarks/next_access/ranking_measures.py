"""How good a ranking was, and how sure of that we are.

Equal scores are no order: each measure is its exact expectation over all orders of what is tied, so no
figure depends on a seed, on ids or on the order of rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.intervals import RESAMPLES, Floats

Mask = np.ndarray[Any, np.dtype[np.bool_]]

MEASURES = ("mrr", "auc", "recall_at_10", "auc_7d")


def judge(scores: Floats, used_next: Mask, used_in_week: Mask) -> tuple[float, ...]:
    """The MEASURES of one ranking; ``used_*`` mark what was used, at least one item each."""
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
    """How often a relevant item scores above another one, ties counting half; NaN without both kinds."""
    hits = int(relevant.sum())
    others = len(scores) - hits
    if not hits or not others:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle_rank = np.cumsum(counts) - (counts - 1) / 2
    return float((middle_rank[place][relevant].sum() - hits * (hits + 1) / 2) / (hits * others))


def recall_at(k: int, scores: Floats, relevant: Mask) -> float:
    """Expected share of the relevant items that is among the first k."""
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    ahead = np.cumsum(counts) - counts
    return float(np.clip((k - ahead) / counts, 0, 1)[place][relevant].mean())


def mean_of(values: Floats) -> float | None:
    """The mean of what is a number; None when nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def block_length(count: int) -> int:
    return max(1, round(math.sqrt(count)))


def resampled_means(values: Floats, seed: int) -> Floats:
    """Means of RESAMPLES moving-block resamples: neighbours in time are alike, so they stay together.

    Blocks are about sqrt(n) long. One seed cuts all series of one length at the same places, so the
    difference of two results is that of a paired resample.
    """
    length = block_length(len(values))
    summed = np.concatenate([[0.0], np.cumsum(values)])
    blocks = (summed[length:] - summed[:-length]) / length
    drawn = -(-len(values) // length)
    starts = np.random.default_rng(seed).integers(0, len(blocks), size=(RESAMPLES, drawn))
    return np.asarray(blocks[starts].mean(axis=1))
