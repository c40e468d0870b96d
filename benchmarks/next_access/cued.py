"""One item of a batch is the cue: how well are the others foreseen?

By name, as in the report:

    pgrecall      a search by the cue alone, as it ships
    association   the cosine of the batches that the items share, counted over the whole past, unbounded
    no cue        the vitality of every living memory
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from benchmarks.next_access.access_log import Batch
from benchmarks.next_access.ranking_measures import reciprocal_rank

CUED = ("pgrecall", "association", "no cue")
POOL = 50


class Association:
    """Which items were used together so far, and how often."""

    def __init__(self) -> None:
        self._batches: dict[str, int] = defaultdict(int)
        self._shared: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def add(self, batch: Batch) -> None:
        for item in batch.accessed:
            self._batches[item] += 1
            for other in batch.accessed:
                if other != item:
                    self._shared[item][other] += 1
        for item in batch.deleted:
            self._batches.pop(item, None)
            for other in self._shared.pop(item, {}):
                self._shared[other].pop(item, None)

    def scores(self, cue: str) -> dict[str, float]:
        return {
            other: count / math.sqrt(self._batches[cue] * self._batches[other])
            for other, count in self._shared[cue].items()
        }


def cue_of(batch: Batch) -> str | None:
    """An item of the batch, drawn by its name; None where nothing else would be left to foresee."""
    if len(batch.accessed) < 2:
        return None
    return random.Random(batch.name).choice(sorted(batch.accessed))


def judge_cued(
    cue: str, batch: Batch, found: list[str], association: Association, vitality: Mapping[str, float]
) -> tuple[float, ...]:
    """The reciprocal rank of the first other item of the batch, by predictor in the order of CUED."""
    others = [item for item in vitality if item != cue]
    place = {item: POOL - rank for rank, item in enumerate(found)}
    wanted = np.array([item in batch.accessed for item in others])
    rankings = (place, association.scores(cue), vitality)
    return tuple(
        _reciprocal(np.array([scores.get(item, 0.0) for item in others]), wanted) for scores in rankings
    )


def _reciprocal(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]], wanted: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> float:
    """What is not found at all counts nothing."""
    return reciprocal_rank(scores, wanted) if scores[wanted].max() > 0 else 0.0
