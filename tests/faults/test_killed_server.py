"""kill -9 of the server while many write: what was acknowledged is there once, the rest whole or not."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from pgrecall import Access, Draft, Memory
from pgrecall.errors import DatabaseUnavailable
from pgrecall.nouns.memories.models import DraftLink
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.faults.victim import Victim
from tests.scale import SCALE
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.fault

WRITERS = 6
KILLS = 2 * SCALE
PART = 8


@dataclass
class Writer:
    """One who stores memories and uses them, and asks again whenever it got no answer."""

    memory: Memory
    name: str
    stop: threading.Event
    acknowledged: list[str] = field(default_factory=list)

    def write(self) -> None:
        turn = 0
        while not self.stop.is_set():
            self._until_answered(f"{self.name}-{turn}")
            turn += 1

    def _until_answered(self, part: str) -> None:
        keys = [f"{part}-{place}" for place in range(PART)]
        drafts = [Draft(f"About {key}", key=key, links=(DraftLink(keys[0]),)) for key in keys]
        uses = [Access(key, "used", session_id=part, idempotency_key=f"{key} used") for key in keys]
        stored = False
        while not self.stop.is_set() and (not stored or keys[0] not in self.acknowledged):
            try:
                if not stored:
                    self.memory.remember_many(drafts)
                    stored = True
                self.memory.record_accesses(uses)
                self.acknowledged.extend(keys)
            except DatabaseUnavailable:
                time.sleep(0.05)


@pytest.fixture
def writers(client: Memory) -> Iterator[list[Writer]]:
    """Writers at work; stopped at the end, when each has had its last answer."""
    stop = threading.Event()
    made = [Writer(client, f"w{number}", stop) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as threads:
        running = [threads.submit(writer.write) for writer in made]
        try:
            yield made
        finally:
            stop.set()
            for one in running:
                one.result(timeout=PATIENCE)


def answered(writers: list[Writer]) -> int:
    return sum(len(writer.acknowledged) for writer in writers)


def test_the_server_killed_under_writers(
    victim: Victim, client: Memory, writers: list[Writer], dice: random.Random, inject: Inject
) -> None:
    for _ in range(KILLS):
        before = answered(writers)
        until(lambda before=before: answered(writers) > before + 4 * PART, "an answer to the writers")
        time.sleep(dice.uniform(0, 0.2))
        victim.kill()
        acknowledged = {key for writer in writers for key in list(writer.acknowledged)}
        inject("kill -9 of the server under writers")
        victim.start()
        judge(victim, client.tenant, acknowledged)
    before = answered(writers)
    until(lambda: answered(writers) > before, "an answer after the restart")
    for writer in writers:
        writer.stop.set()
    sound(victim.url, client.tenant, indexes=True)


COUNTS = (
    "SELECT (SELECT count(*) FROM recall.memory m WHERE m.tenant = %(tenant)s AND m.key = ANY (%(keys)s)), "
    "(SELECT count(*) FROM recall.access e JOIN recall.memory m ON m.tenant = e.tenant "
    "AND m.id = e.memory_id WHERE e.tenant = %(tenant)s AND m.key = ANY (%(keys)s) AND e.kind = 'used')"
)
HALVES = (
    "SELECT (SELECT count(*) FROM (SELECT regexp_replace(m.key, '-\\d+$', '') AS part FROM recall.memory m "
    "WHERE m.tenant = %(tenant)s GROUP BY 1 HAVING count(*) <> %(part)s) h), "
    "(SELECT count(*) FROM (SELECT e.session_id FROM recall.access e WHERE e.tenant = %(tenant)s "
    "AND e.kind = 'used' GROUP BY 1 HAVING count(*) <> %(part)s) u), "
    "(SELECT count(*) FROM recall.access_key k WHERE k.tenant = %(tenant)s "
    "AND NOT EXISTS (SELECT FROM recall.access e WHERE e.tenant = k.tenant AND e.memory_id = k.memory_id "
    "AND e.kind = 'used'))"
)


def judge(victim: Victim, tenant: str, acknowledged: set[str]) -> None:
    """Everything that was answered is there once; what was not, as a whole or not at all."""
    with victim.admin() as admin:
        known = {"tenant": tenant, "keys": sorted(acknowledged), "part": PART}
        counted = admin.execute(COUNTS, known).fetchone()
        assert counted == (len(acknowledged), len(acknowledged))
        assert admin.execute(HALVES, known).fetchone() == (0, 0, 0)
    sound(victim.url, tenant)
