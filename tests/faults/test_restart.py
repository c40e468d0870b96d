"""Postgres restarts, in good order or killed, under a service, a worker and callers, who all go on."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import pytest

from pgrecall import Memory
from tests.acceptance.cli.command_tools import command_line, environment
from tests.acceptance.http.http_tools import PLAIN, Served, serving
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.faults.victim import Victim
from tests.scale import SCALE
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.fault

CALLERS = 4
ROUNDS = ("stop", "kill") * SCALE


@dataclass
class Callers:
    """Who store and search without pause: the keys that were acknowledged, the statuses that came back."""

    served: Served
    stored: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    since: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def call(self, name: str) -> None:
        number = 0
        with httpx.Client(base_url=self.served.url, **PLAIN) as client:
            while not self.over.is_set():
                key = f"{name}-{number}"
                answer = client.post("/v1/memories", json={"body": f"The harbour, said {key}", "key": key})
                self._note(answer)
                if answer.is_success:
                    self.stored.append(key)
                    number += 1
                self._note(client.post("/v1/search", json={"query": "harbour"}))

    def _note(self, answer: httpx.Response) -> None:
        self.statuses[answer.status_code] += 1
        self.since[answer.status_code] += 1
        if answer.status_code == 503:
            self.problems.append(answer.json()["detail"])
            time.sleep(0.05)

    @contextmanager
    def calling(self) -> Iterator[None]:
        threads = [threading.Thread(target=self.call, args=(f"c{number}",)) for number in range(CALLERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.over.set()
            for thread in threads:
                thread.join(PATIENCE)


def test_a_restart_under_load(victim: Victim, client: Memory, inject: Inject) -> None:
    with victim.admin() as admin:
        admin.execute(
            "INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'job.fold.minutes', '0.002') "
            "ON CONFLICT DO NOTHING"
        )
    given = {"tenant": client.tenant, "connect_timeout": "5", "pool_size": "4"}
    with (
        serving(victim.url, **given) as served,
        subprocess.Popen(
            command_line("worker", "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(database_url=victim.url, **given),
        ) as worker,
    ):
        folds = Counter[str]()
        listening = threading.Thread(target=listen, args=(worker, folds))
        listening.start()
        callers = Callers(served)
        try:
            with callers.calling():
                for way in ROUNDS:
                    until(lambda: callers.since[200] > 20 and folds["done"] > 0, "work")
                    getattr(victim, way)()
                    inject(f"a restart under load: {way}")
                    victim.start()
                    callers.since.clear()
                    folds.clear()
                until(lambda: callers.since[200] > 20 and folds["done"] > 0, "work after the restarts")
            assert served.process.poll() is None
            assert worker.poll() is None
        finally:
            worker.kill()
            listening.join(PATIENCE)
    assert set(callers.statuses) <= {200, 201, 503}, callers.statuses
    assert all(problem.endswith(".") for problem in callers.problems)
    with victim.admin() as admin:
        kept = "SELECT count(*) FROM recall.memory WHERE tenant = %s AND key = ANY (%s)"
        assert admin.execute(kept, (client.tenant, callers.stored)).fetchone() == (len(callers.stored),)
    sound(victim.url, client.tenant, indexes=True)


def listen(worker: subprocess.Popen[bytes], folds: Counter[str]) -> None:
    """Counts how the folds of a worker end, as it says."""
    assert worker.stdout is not None
    for line in worker.stdout:
        document = json.loads(line)
        if document["job"] == "fold":
            folds[document["state"]] += 1
