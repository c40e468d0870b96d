"""Upkeep that takes several steps."""

from __future__ import annotations

from pgrecall.flows.base import Flow
from pgrecall.operations import upkeep

FOLD_ROWS = 1000
"""How many searches a step folds: its row locks are short and its memory small."""


def fold() -> Flow[int]:
    """Folds what searches have logged until nothing waits; the result counts the searches."""
    folded = 0
    while step := (yield upkeep.fold_accesses(FOLD_ROWS)):
        folded += step
    return folded
