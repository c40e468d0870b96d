"""Cells that do not answer: only one call at a time tries them; others fail immediately."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from pgrecall.errors import CellUnavailable, DatabaseBusy, DatabaseUnavailable, RecallError

PAUSE_SECONDS = 2.0
"""Seconds after a failure before a cell is tried again."""


class Outages:
    """Which cells failed last, by address. May be used by several threads.

    A call that waits for a cell that is down holds a thread, and a request of the service: without this,
    calls for its tenants would in the end keep those of other cells waiting.

    Args:
        timeout: seconds that one attempt may take, during which no other is made.
    """

    def __init__(self, timeout: float, clock: Callable[[], float] = monotonic) -> None:
        self._timeout = timeout
        self._clock = clock
        self._failures: dict[str, tuple[float, CellUnavailable]] = {}

    def raise_if_resting(self, address: str) -> None:
        """Raises the last failure of a cell during its pause, or while another call tries it."""
        if address not in self._failures:
            return
        until, failure = self._failures[address]
        now = self._clock()
        if now < until:
            raise CellUnavailable(failure.cell, failure.reason)
        self._failures[address] = (now + self._timeout + PAUSE_SECONDS, failure)

    def note_answer(self, address: str) -> None:
        """Notes that a cell has answered."""
        if address in self._failures:
            self._failures.pop(address, None)

    def note_error(self, cell: int, address: str, error: RecallError) -> RecallError:
        """The error of a call to a cell; where no connection could be made that is noted, and named."""
        if not isinstance(error, DatabaseUnavailable):
            self.note_answer(address)
            return error
        if error.lost or isinstance(error, DatabaseBusy | CellUnavailable):
            return error
        named = CellUnavailable(cell, error)
        self._failures[address] = (self._clock() + PAUSE_SECONDS, named)
        return named
