"""Retries of an upgrade that waits for locks.

A session that waits for a table lock blocks every session that asks for the table after it. So an upgrade
waits briefly, lets other sessions proceed, and tries again.
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

_LOCK_NOT_AVAILABLE, _DEADLOCK = "55P03", "40P01"

_NAME_CHARACTERS = 200
"""Postgres' limit of the names of prepared transactions, in bytes."""


@dataclass(frozen=True, slots=True)
class LockRetry:
    """Seconds to wait for a table at a time, number of attempts, seconds of pause between them."""

    wait: float = 4.0
    attempts: int = 8
    pause: float = 2.0

    @property
    def lock_timeout(self) -> str:
        """``wait`` as a Postgres setting."""
        return f"{max(1, round(self.wait * 1000))}ms"

    def apply(self, work: Callable[[], T], url: str, *, timeout: float) -> T:
        """Runs the work until it gets every lock, and returns its result.

        Raises:
            DatabaseError: it did not get them; the role that holds the tables is named.
        """
        for _ in range(self.attempts - 1):
            try:
                return work()
            except DatabaseError as error:
                if error.sqlstate not in (_LOCK_NOT_AVAILABLE, _DEADLOCK):
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
                hint=_lock_hint(url, timeout),
                sqlstate=error.sqlstate,
            ) from error


def _lock_hint(url: str, timeout: float) -> str:
    with connect(url, timeout=timeout) as connection:
        holder = connection.execute((files(__package__) / "lock_holders.sql").read_bytes()).fetchone()
    if holder is None:
        return "Try again when there is less to do."
    since = f", open since {holder['since']:%Y-%m-%d %H:%M:%S %Z}," if holder["since"] else ""
    if holder["prepared"] is not None:
        name = str(holder["prepared"])[:_NAME_CHARACTERS].replace("'", "''")
        return (
            f"A prepared transaction of role {holder['role']}{since} holds recall.{holder['relation']}: "
            f"end it with ROLLBACK PREPARED '{name}' or COMMIT PREPARED."
        )
    return (
        f"A transaction of role {holder['role']} (process {holder['pid']}){since} holds "
        f"recall.{holder['relation']}: end it, or upgrade when it has ended."
    )
