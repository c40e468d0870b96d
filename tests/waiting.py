"""Waiting for what somebody else brings about, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import psutil
import psycopg

T = TypeVar("T")

PATIENCE = 200.0
"""Seconds after which a test says what it waited for in vain; only a defect takes so long."""

BLOCKED = (
    "SELECT pid FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"
)


def until(condition: Callable[[], T], what: str, *, pause: float = 0.01) -> T:
    """What the condition says once it says something true."""
    limit = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < limit, f"{what} did not happen"
        time.sleep(pause)
    return found


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has asked for its end yet has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def blocked(connection: psycopg.Connection[Any], many: int = 1) -> int:
    """The server process of a session of this connection's database that waits for a lock, once so many do.

    It is looked for over another connection, for this one may be in the middle of anything, and would see in
    a transaction again and again what it has seen first.
    """
    with psycopg.connect(connection.info.dsn, autocommit=True) as watching:
        return int(
            until(
                lambda: len(rows := watching.execute(BLOCKED).fetchall()) >= many and rows[0][0],
                f"{many} waits for locks",
            )
        )
