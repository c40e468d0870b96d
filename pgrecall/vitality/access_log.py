"""From the access log of a memory to its summary: bursts count once, weights gather to whole accesses.

The fold is a function of the log, not of the order in which it arrived: a late access changes what the log
says, and the memory is folded anew. What the database keeps for a memory must equal this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pgrecall.vitality.number_bounds import Bounds, complaints
from pgrecall.vitality.summary import AccessSummary

BURST_SECONDS = 600.0
CREDIT_UNITS = 1_000_000
"""Weights are cumulated in whole millionths, for ten times 0.1 is a hair below 1 in floating point."""
EPOCH_BOUNDS = Bounds(-1e12, 1e12)
"""Moments that can be told apart to the millisecond; Postgres' own dates with room to spare."""


@dataclass(frozen=True, slots=True)
class LoggedAccess:
    """One use of a memory as the log holds it.

    Attributes:
        at: when, in epoch seconds.
        weight: as how many accesses it counts, 0 to 100.
        kind: write, read, reference, used or retrieval.
        session: the session it happened in, when known.

    Raises:
        ValueError: names every value out of bounds at once.
    """

    at: float
    weight: float
    kind: str
    session: str | None = None

    def __post_init__(self) -> None:
        if wrong := complaints((("at", self.at, EPOCH_BOUNDS), ("weight", self.weight, Bounds(0, 100)))):
            raise ValueError("; ".join(wrong))


@dataclass(frozen=True, slots=True)
class FoldedLog:
    """What a log comes to: its whole accesses summed up, and the part of a unit (0 to below 1) left over."""

    summary: AccessSummary
    credit: float


def counted(events: Iterable[LoggedAccess], burst_seconds: float = BURST_SECONDS) -> list[LoggedAccess]:
    """The accesses that count, in order of time, those of one moment in the given order.

    An access does not count when one of the same session and kind lies less than ``burst_seconds`` before
    it, whether that one counts or not: a run of uses with short gaps is one use, at its start.
    """
    newest: dict[tuple[str, str], int] = {}
    burst = _microseconds(burst_seconds)
    counting = []
    for event in sorted(events, key=lambda logged: logged.at):
        if event.session is not None:
            run, moment = (event.session, event.kind), _microseconds(event.at)
            repeats = run in newest and moment - newest[run] < burst
            newest[run] = moment
            if repeats:
                continue
        counting.append(event)
    return counting


def fold(events: Iterable[LoggedAccess], burst_seconds: float = BURST_SECONDS) -> FoldedLog:
    """The summary and the credit of a whole log, given in any order.

    The weights of the counted accesses are cumulated in order of time; each whole unit that the sum passes
    is one access at the time of the event that passed it. So a weight of 1 is one access at once, ten of
    0.1 are one at the tenth, and a birth of 2.5 is two and leaves half a unit.

    Raises:
        ValueError: the weights never reach a whole unit, so there is no access to sum up.
    """
    total = 0
    times: list[float] = []
    for event in counted(events, burst_seconds):
        whole_before = total // CREDIT_UNITS
        total += round(event.weight * CREDIT_UNITS)
        times.extend([event.at] * (total // CREDIT_UNITS - whole_before))
    if not times:
        raise ValueError(f"the log's weights come to {total / CREDIT_UNITS}, less than one access")
    return FoldedLog(AccessSummary.of(times), total % CREDIT_UNITS / CREDIT_UNITS)


def _microseconds(seconds: float) -> int:
    """Postgres keeps microseconds: ten minutes are ten minutes though the floats differ by a hair."""
    return round(seconds * 1_000_000)
