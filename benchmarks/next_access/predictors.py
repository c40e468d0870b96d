"""Other predictors of the next access: each scores every live item from its accesses.

By name, as in the report:

    exact     sum of age^-d over all accesses, with pgrecall's d
    seed_o1   the closed form ln(n/(1-d)) - d ln L, from the count and the first access
    lru, lfu  most recently used first; most frequently used first
    exp_7d, exp_30d   sum of 2^-(age / half-life)
    random    equal scores, which count by their expectation
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from benchmarks.next_access.access_log import Batch
from pgrecall.vitality.activation import MIN_AGE_DAYS, optimized_base_level
from pgrecall.vitality.parameters import PRESETS

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

DECAY = PRESETS["default"].layers["knowledge"].effective_decay
SEED_DECAY = 0.5


@dataclass(frozen=True)
class View:
    """All accesses at one moment; ``lives[access]`` is the life it belongs to, ``ages`` are in days."""

    items: tuple[str, ...]
    living: Integers
    """The life of each live item, in the order of ``items``."""
    lives: Integers
    ages: Floats
    born: int
    """The number of lives so far, including ended ones."""

    def total(self, weights: Floats) -> Floats:
        """The sum of the weights of the accesses of each live item."""
        sums = np.bincount(self.lives, weights=weights, minlength=self.born)
        return np.asarray(sums[self.living], dtype=np.float64)

    @cached_property
    def counts(self) -> Floats:
        return self.total(np.ones(len(self.ages)))

    @cached_property
    def newest(self) -> Floats:
        """The age of the newest access of each live item."""
        youngest = np.full(self.born, np.inf)
        np.minimum.at(youngest, self.lives, self.ages)
        return np.asarray(youngest[self.living])

    @cached_property
    def oldest(self) -> Floats:
        """The age of the first access of each live item."""
        eldest = np.zeros(self.born)
        np.maximum.at(eldest, self.lives, self.ages)
        return np.asarray(eldest[self.living])


class History:
    """The accesses so far. A deleted item that returns starts a new life."""

    def __init__(self) -> None:
        self._living: dict[str, int] = {}
        self._born = 0
        self._lives: list[int] = []
        self._times: list[int] = []

    def add(self, batch: Batch) -> None:
        for item in batch.born:
            self._living[item] = self._born
            self._born += 1
        for item in (*batch.born, *batch.accessed):
            self._lives.append(self._living[item])
            self._times.append(batch.at)
        for item in batch.deleted:
            del self._living[item]

    def view(self, now: int) -> View:
        """The accesses at ``now`` (epoch seconds, not before the newest access)."""
        return View(
            items=tuple(self._living),
            living=np.array(list(self._living.values()), dtype=np.int64),
            lives=np.array(self._lives, dtype=np.int64),
            ages=(now - np.array(self._times, dtype=np.float64)) / 86_400,
            born=self._born,
        )


def exact_sum(view: View) -> Floats:
    return view.total(np.maximum(view.ages, MIN_AGE_DAYS) ** -DECAY)


def closed_form(view: View) -> Floats:
    lifetimes = np.maximum(view.oldest, MIN_AGE_DAYS)
    return np.array(
        [
            optimized_base_level(int(count), lifetime, SEED_DECAY)
            for count, lifetime in zip(view.counts, lifetimes.tolist(), strict=True)
        ],
        dtype=np.float64,
    )


def recency(view: View) -> Floats:
    return -view.newest


def frequency(view: View) -> Floats:
    return view.counts


def exponential_sum(view: View, *, half_life: float) -> Floats:
    return view.total(np.exp2(-view.ages / half_life))


def no_opinion(view: View) -> Floats:
    return np.zeros(len(view.items))


PREDICTORS: Mapping[str, Callable[[View], Floats]] = {
    "exact": exact_sum,
    "seed_o1": closed_form,
    "lru": recency,
    "lfu": frequency,
    "exp_7d": partial(exponential_sum, half_life=7),
    "exp_30d": partial(exponential_sum, half_life=30),
    "random": no_opinion,
}
