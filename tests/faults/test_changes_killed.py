"""Eight writers, kills, and a server that goes down: readers of changes miss and repeat nothing."""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from tests.faults.conftest import SEED
from tests.faults.victim import Victim
from tests.scale import SCALE, tell
from tests.waiting import until

WRITERS, SECONDS, READERS = 8, 3.0 * SCALE, 2
PAGE = "SELECT cursor, kind, id FROM recall.changes(%s, %s)"
LOGGED = (
    "SELECT kind, memory_id FROM recall.memory_change WHERE tenant = 'acme' AND memory_id IS NOT NULL "
    "ORDER BY era, xid, id"
)


@dataclass
class Noted:
    """The memories of acknowledged commits, and the number of kills."""

    made: set[int] = field(default_factory=set)
    kills: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def connected(url: str) -> psycopg.Connection[Any]:
    connection = psycopg.connect(url)
    connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
    connection.commit()
    return connection


def write(url: str, number: int, noted: Noted, stop: threading.Event) -> None:
    """Overlapping transactions of one to five changes, some of them slow, some rolled back."""
    chance = random.Random(SEED + number)
    while not stop.is_set():
        with (
            suppress(psycopg.OperationalError, psycopg.InterfaceError),
            closing(connected(url)) as connection,
        ):
            while not stop.is_set():
                _one(connection, chance, noted)


def _one(connection: psycopg.Connection[Any], chance: random.Random, noted: Noted) -> None:
    born: set[int] = set()
    for _ in range(chance.randint(1, 5)):
        key = f"{chance.randrange(40)}" if chance.random() < 0.5 else None
        row = connection.execute(
            "SELECT recall.remember(%s, p_key => %s)", (f"text {chance.random()}", key)
        ).fetchone()
        assert row is not None
        if key is None:
            born.add(row[0])
        time.sleep(chance.choice((0, 0, 0.002, 0.02)))
    if chance.random() < 0.2:
        connection.rollback()
        return
    connection.commit()
    with noted.lock:
        noted.made |= born


class Reader:
    """Follows the changes by small pages, from a cursor that it keeps when its connection goes."""

    def __init__(self, url: str, number: int) -> None:
        self.url, self.chance = url, random.Random(SEED - number)
        self.cursor: str | None = None
        self.read: list[tuple[str, int]] = []

    def follow(self, stop: threading.Event) -> None:
        while not stop.is_set():
            with suppress(psycopg.OperationalError), closing(connected(self.url)) as connection:
                while not stop.is_set():
                    if not self.page(connection):
                        time.sleep(0.002)

    def page(self, connection: psycopg.Connection[Any]) -> bool:
        rows = connection.execute(PAGE, (self.cursor, self.chance.randint(1, 30))).fetchall()
        connection.commit()
        if rows:
            self.read += [(kind, number) for _, kind, number in rows]
            self.cursor = rows[-1][0]
        return bool(rows)


def kill(victim: Victim, noted: Noted, chance: random.Random) -> None:
    """Ends the connection of a writer or a reader, in the middle of whatever it does."""
    with suppress(psycopg.OperationalError), victim.admin() as admin:
        others = admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchall()
        if others:
            admin.execute("SELECT pg_terminate_backend(%s)", chance.choice(others))
            noted.kills += 1


def crash(victim: Victim) -> None:
    """kill -9 of a server process: the server recovers from its log."""
    with victim.admin() as admin:
        row = admin.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        victim.kill_backend(row[0])
    until(victim.answers, "the server comes back")


@pytest.fixture
def emptied(victim: Victim) -> Victim:
    """The server with no memories of this tenant."""
    with victim.admin() as admin:
        admin.execute("DELETE FROM recall.memory WHERE tenant = 'acme'")
        admin.execute("DELETE FROM recall.memory_change WHERE tenant = 'acme'")
    return victim


def test_nothing_is_lost_or_repeated(emptied: Victim) -> None:
    victim, noted, chance = emptied, Noted(), random.Random(SEED)
    stop, stop_reading = threading.Event(), threading.Event()
    readers = [Reader(victim.url, number) for number in range(READERS)]
    writing = [
        threading.Thread(target=write, args=(victim.url, number, noted, stop)) for number in range(WRITERS)
    ]
    reading = [threading.Thread(target=reader.follow, args=(stop_reading,)) for reader in readers]
    for thread in (*writing, *reading):
        thread.start()
    try:
        ends, crashed = time.monotonic() + SECONDS, False
        while time.monotonic() < ends:
            time.sleep(0.1)
            kill(victim, noted, chance)
            if not crashed and time.monotonic() > ends - SECONDS / 2:
                crash(victim)
                crashed, ends = True, time.monotonic() + SECONDS / 2
    finally:
        stop.set()
        for thread in writing:
            thread.join()
    logged = _logged(victim)
    until(lambda: all(len(reader.read) >= len(logged) for reader in readers), "the readers come to the end")
    stop_reading.set()
    for thread in reading:
        thread.join()

    tell(f"{len(logged):,} changes, {noted.kills} kills")
    assert noted.kills > 5
    assert len(logged) > 100
    for reader in readers:
        assert reader.read == logged
    new = {number for kind, number in logged if kind == "new"}
    assert noted.made <= new
    assert len(new) == sum(kind == "new" for kind, _ in logged)
    with victim.admin() as admin:
        there = {row[0] for row in admin.execute("SELECT id FROM recall.memory WHERE tenant = 'acme'")}
    assert new == there  # what was rolled back, or died with its connection, is not told


def _logged(victim: Victim) -> list[tuple[str, int]]:
    with victim.admin() as admin:
        return [(row[0], row[1]) for row in admin.execute(LOGGED)]
