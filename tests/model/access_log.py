"""Folding the access log of a memory into its summary: a burst counts once, weights add up to whole accesses.

The fold depends on the log, not on the order in which it arrived: after a late access the whole log of the
memory is folded again. The summary that the database keeps must equal this one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from pgrecall.vitality.activation import AccessSummary
from pgrecall.vitality.parameters import Bounds, bounds_errors
from tests.model.vitality import whole, without_repeats

BURST_SECONDS = 600.0
CREDIT_UNITS = 1_000_000
"""Weights count in whole millionths, as in the database."""
EPOCH_BOUNDS = Bounds(-1e12, 1e12)
"""Moments that a float tells apart to the millisecond; they include all dates of Postgres."""


@dataclass(frozen=True, slots=True)
class LoggedAccess:
    """One access in the log of a memory.

    Attributes:
        at: when, in epoch seconds.
        weight: the number of accesses it counts as, 0 to 100.
        kind: write, read, reference, used or retrieval.
        session: the session it happened in, if known.

    Raises:
        ValueError: names all values out of bounds.
    """

    at: float
    weight: float
    kind: str
    session: str | None = None

    def __post_init__(self) -> None:
        if wrong := bounds_errors((("at", self.at, EPOCH_BOUNDS), ("weight", self.weight, Bounds(0, 100)))):
            raise ValueError("; ".join(wrong))


@dataclass(frozen=True, slots=True)
class FoldedLog:
    """The summary of a log's whole accesses, and the part of a unit (0 to below 1) that is left over."""

    summary: AccessSummary
    credit: float


def without_bursts(
    events: Iterable[LoggedAccess], burst_seconds: float = BURST_SECONDS
) -> list[LoggedAccess]:
    """The accesses that count, in order of time, those of one moment in the given order.

    An access does not count when one of the same session and kind lies less than ``burst_seconds`` before
    it, whether that one counts or not: a run of accesses with short gaps is one access, at its start.
    """
    return without_repeats(events, _microseconds(burst_seconds), lambda event: _microseconds(event.at))


def fold(events: Iterable[LoggedAccess], burst_seconds: float = BURST_SECONDS) -> FoldedLog:
    """The summary and the credit of a whole log, given in any order.

    A weight of 1 is one access at once, ten of 0.1 are one at the tenth, and a birth of 2.5 is two and leaves
    half a unit.

    Raises:
        ValueError: the weights never reach a whole unit, so there is no access to sum up.
    """
    counting = without_bursts(events, burst_seconds)
    times, credit = whole(
        (event.at, Fraction(round(event.weight * CREDIT_UNITS), CREDIT_UNITS)) for event in counting
    )
    if not times:
        raise ValueError(f"the log's weights come to {float(credit)}, less than one access")
    return FoldedLog(AccessSummary.of(times), float(credit))


def _microseconds(seconds: float) -> int:
    """Postgres keeps microseconds: ten minutes are ten minutes though the floats differ by a hair."""
    return round(seconds * 1_000_000)
