"""What a transaction sees of others, from the text of ``pg_current_snapshot()``."""

from __future__ import annotations

from dataclasses import dataclass

_EPOCH = 2**32
"""Transaction ids in the log have 32 bits and begin again after the last one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The first transaction that had not begun when it was taken, and those that were under way."""

    following: int
    running: frozenset[int]

    @classmethod
    def read(cls, text: str) -> Snapshot:
        """From ``xmin:xmax:xip,xip``."""
        _, following, running = text.split(":")
        return cls(int(following) % _EPOCH, frozenset(int(xid) % _EPOCH for xid in running.split(",") if xid))

    def sees(self, xid: int) -> bool:
        """Whether it sees what a transaction has done, which has been committed since.

        Args:
            xid: its id of 32 bits, at most two thousand million away from the snapshot.
        """
        begun_before = (xid - self.following) % _EPOCH >= _EPOCH // 2
        return begun_before and xid not in self.running
