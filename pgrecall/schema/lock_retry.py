"""Waiting for tables that others use, without holding everybody up behind oneself.

Whoever waits for a table's lock lets nobody past who comes later. So an upgrade waits for moments only, lets
those go who have come meanwhile, and tries again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeVar

from pgrecall.database.connections import connect
from pgrecall.errors import DatabaseError

T = TypeVar("T")

_LOCK_NOT_AVAILABLE = "55P03"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an upgrade waits for a table at a time, how often it tries, the pause in between; seconds."""

    wait: float = 4.0
    attempts: int = 8
    pause: float = 2.0

    @property
    def lock_timeout(self) -> str:
        """The same as Postgres takes it."""
        return f"{max(1, round(self.wait * 1000))}ms"

    def apply(self, work: Callable[[], T], url: str, *, timeout: float) -> T:
        """What the work results in, once it could get every lock.

        Raises:
            DatabaseError: it could not; who holds the tables is named.
        """
        for _ in range(self.attempts - 1):
            try:
                return work()
            except DatabaseError as error:
                if error.sqlstate != _LOCK_NOT_AVAILABLE:
                    raise
            time.sleep(self.pause)
        try:
            return work()
        except DatabaseError as error:
            if error.sqlstate != _LOCK_NOT_AVAILABLE:
                raise
            raise DatabaseError(
                f"The upgrade waited {self.attempts} times {self.wait:g} s for tables that others hold, "
                "and gave up; nothing was changed.",
                hint=_way_out(url, timeout),
                sqlstate=error.sqlstate,
            ) from error


def _way_out(url: str, timeout: float) -> str:
    with connect(url, timeout=timeout) as connection:
        holder = connection.execute((files(__package__) / "holders.sql").read_bytes()).fetchone()
    if holder is None:
        return "Try again when there is less to do."
    since = f", open since {holder['since']:%Y-%m-%d %H:%M:%S %Z}," if holder["since"] else ""
    return (
        f"A transaction of role {holder['role']} (process {holder['pid']}){since} holds "
        f"recall.{holder['relation']}: end it, or upgrade when it has ended."
    )
