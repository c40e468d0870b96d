"""The worker and the service over a wire that is cut or dead: they go on, and no lock is left behind."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from pgrecall import Memory
from pgrecall.database.pool import Database
from pgrecall.jobs.catalogue import job_named
from pgrecall.jobs.runner import Runner
from pgrecall.nouns.jobs.models import JobOutcome
from tests.acceptance.cli.command_tools import command_line, environment
from tests.acceptance.http.http_tools import serving
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.faults.victim import WAITING, Victim
from tests.faults.wire import QUICKLY, Wire, wire
from tests.waiting import PATIENCE, gone, until

pytestmark = pytest.mark.fault


@pytest.fixture
def line(victim: Victim) -> Iterator[Wire]:
    with wire(victim.remote_url) as made:
        yield made


def test_the_lock_of_a_job_does_not_outlive_a_dead_wire(
    victim: Victim, client: Memory, line: Wire, inject: Inject
) -> None:
    client.remember("The harbour opens at six", key="harbour")
    far = Runner(Database(line.url + QUICKLY), pauses=(1.0,) * 150)
    ends: list[JobOutcome] = []
    working = threading.Thread(target=lambda: ends.extend(far.sweep(job_named("verify"), [client.tenant])))
    with victim.admin() as holder, victim.admin() as watching:
        holder.autocommit = False
        holder.execute("LOCK TABLE recall.memory IN ACCESS EXCLUSIVE MODE")
        there = partial(watching.execute, WAITING, ("recall.verify",))
        working.start()
        [waiting] = until(lambda: there().fetchone(), "a wait")
        line.go_dead()
        inject("a half-open connection under a job")
        until(lambda: gone(waiting), "its end")  # the next attempt may wait already
    working.join(PATIENCE)
    # Whoever comes before the server has noticed leaves the job to the next look.
    assert [outcome.state for outcome in ends] in (["done"], ["skipped"])
    [again] = far.sweep(job_named("verify"), [client.tenant])
    assert again.state == "done"
    sound(victim.url, client.tenant)


def test_a_service_and_a_worker_live_through_it(
    victim: Victim, client: Memory, line: Wire, inject: Inject
) -> None:
    with victim.admin() as admin:
        admin.execute(
            "INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'job.fold.minutes', '0.002') "
            "ON CONFLICT DO NOTHING"
        )
    given = {"connect_timeout": "6", "pool_size": "2", "tenant": client.tenant}
    url = line.url + QUICKLY

    def folded() -> bool:
        with victim.admin() as admin:
            waiting = "SELECT FROM recall.access_queue WHERE tenant = %s"
            return admin.execute(waiting, (client.tenant,)).fetchone() is None

    with (
        serving(url, **given) as served,
        subprocess.Popen(
            command_line("worker"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(database_url=url, **given),
        ) as worker,
    ):

        def answered() -> bool:
            answer = served.client.post("/v1/search", json={"query": "harbour"})
            assert answer.status_code in (200, 503), answer.text
            return answer.status_code == 200

        try:
            body = {"body": "The harbour opens at six", "key": "harbour"}
            until(lambda: served.client.post("/v1/memories", json=body).is_success, "a memory")
            for fault in ("cut", "go_dead"):
                until(answered, "an answer")
                until(folded, "a fold")
                getattr(line, fault)()
                inject(f"service and worker: {fault.replace('_', ' ')}")
                until(answered, "an answer")
                until(folded, "a fold")
            assert worker.poll() is None
        finally:
            worker.kill()
    sound(victim.url, client.tenant)
