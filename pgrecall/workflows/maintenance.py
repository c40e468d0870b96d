"""Upkeep that takes several steps."""

from __future__ import annotations

from pgrecall.operations import job_steps
from pgrecall.workflows.base import Flow

FOLD_ROWS = 100_000
"""How many searches a step folds at most: what is shown often is then folded once, not a hundred times over.

Searches never wait for a step. A use of one of its memories does: some seconds, if a million events
had gathered.
"""


def fold() -> Flow[int]:
    """Folds what searches have logged until nothing waits; the result counts the searches."""
    folded = 0
    while step := (yield job_steps.fold_accesses(FOLD_ROWS)):
        folded += step
    return folded
