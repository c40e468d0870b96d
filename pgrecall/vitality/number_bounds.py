"""Bounds of tunable numbers, and one sentence for all the numbers that lie outside theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of numbers; ``above`` and ``below`` take its low and its high end out of it.

    >>> 1.0 in Bounds(0, 1, below=True)
    False
    """

    low: float
    high: float
    above: bool = False
    below: bool = False

    def __contains__(self, value: float) -> bool:
        """Whether it lies inside; nan and the infinities never do."""
        past_low = self.low < value if self.above else self.low <= value
        before_high = value < self.high if self.below else value <= self.high
        return past_low and before_high

    def __str__(self) -> str:
        return f"{'(' if self.above else '['}{self.low}, {self.high}{')' if self.below else ']'}"


def complaints(values: Iterable[tuple[str, float, Bounds]]) -> list[str]:
    """What to say of each (name, value, bounds) whose value lies outside, in the given order."""
    return [f"{name} is {value}, not in {bounds}" for name, value, bounds in values if value not in bounds]
