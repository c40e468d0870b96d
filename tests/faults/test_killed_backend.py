"""kill -9 of the server process of a statement in the middle: its work is there whole, or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.database.pool import Database
from pgrecall.errors import DatabaseUnavailable
from pgrecall.jobs.catalogue import job_named
from pgrecall.jobs.runner import Runner
from pgrecall.nouns.jobs.models import JobOutcome
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.faults.killed_calls import KILLED_CALLS, LONG_AGO, NOW, KilledCall, drafts
from tests.faults.victim import ACTIVE, WAITING, Victim
from tests.scale import SCALE
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.fault


class Doing:
    """A call in a thread of its own: its result, or the error that a client may see when its server dies."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.result: object = None
        self.error: DatabaseUnavailable | None = None
        self._thread = threading.Thread(target=self._run, args=(call,))
        self._thread.start()

    def _run(self, call: Callable[[], object]) -> None:
        try:
            self.result = call()
        except DatabaseUnavailable as error:
            self.error = error

    def ended(self) -> bool:
        """Whether it came to its end undisturbed; what it says otherwise is a sentence with a way out."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the client hangs"
        if self.error is not None:
            assert self.error.message.endswith((".", "!")), self.error.message
            assert self.error.hint
        return self.error is None


def kill_at(victim: Victim, held: str, marker: str, doing: Callable[[], Doing]) -> Doing:
    """Kills the backend of a statement that waits for this table, having done what comes before."""
    with victim.admin() as holder, victim.admin() as watching:
        holder.autocommit = False
        holder.execute(f"LOCK TABLE recall.{held} IN SHARE ROW EXCLUSIVE MODE".encode())
        begun = doing()
        found = until(lambda: watching.execute(WAITING, (marker,)).fetchone(), f"a wait for {held}")
        victim.kill_backend(found[0])
    return begun


def kill_after(victim: Victim, seconds: float, marker: str, doing: Callable[[], Doing]) -> Doing:
    """Kills the backend of a statement so long after it was seen at work, unless it has ended by then."""
    with victim.admin() as watching:
        begun = doing()
        found = until(
            lambda: begun.result or begun.error or watching.execute(ACTIVE, (marker,)).fetchone(), marker
        )
        time.sleep(seconds)
        if isinstance(found, tuple) and watching.execute(ACTIVE, (marker,)).fetchone() == found:
            victim.kill_backend(found[0])
    return begun


def judge(victim: Victim, killed: KilledCall, client: Memory, turn: int, doing: Doing) -> None:
    """After the crash: all of it where it was acknowledged, else all or nothing; and it can be done again."""
    acknowledged = doing.ended()
    sound(victim.url, client.tenant)
    with victim.admin() as admin:
        done = killed.done(admin, client.tenant, turn)
        # A search does not wait for the disk: what it showed may be forgotten.
        assert done or not acknowledged or killed.name == "search"
        if not done:
            killed.do(client, turn)  # by the same client, which was not told anything
        assert killed.done(admin, client.tenant, turn)
    sound(victim.url, client.tenant)


@pytest.mark.parametrize("killed", KILLED_CALLS, ids=lambda killed: killed.name)
def test_a_backend_killed_in_the_middle(
    victim: Victim, client: Memory, killed: KilledCall, inject: Inject
) -> None:
    killed.prepare(client, 0)
    doing = kill_at(victim, killed.held, killed.marker, lambda: Doing(lambda: killed.do(client, 0)))
    inject("kill -9 of a backend in the middle of its work")
    judge(victim, killed, client, 0, doing)


@pytest.mark.parametrize(
    "killed", KILLED_CALLS if SCALE > 1 else KILLED_CALLS[:1], ids=lambda killed: killed.name
)
def test_a_backend_killed_at_any_instant(
    victim: Victim, client: Memory, killed: KilledCall, inject: Inject, dice: Any
) -> None:
    for turn in range(1, 2 + SCALE):
        killed.prepare(client, turn)
        doing = kill_after(
            victim,
            dice.uniform(0, 0.03),
            killed.marker,
            lambda turn=turn: Doing(lambda: killed.do(client, turn)),
        )
        judge(victim, killed, client, turn, doing)
        inject("kill -9 of a backend at some instant", doing.error is not None)
    sound(victim.url, client.tenant, indexes=True)


HELD = {
    "fold": ("activation", "recall.fold_accesses"),
    "expire": ("archival", "recall.expire_memories"),
    "vitality": ("layer_median", "recall.refresh_medians"),
    "graph": ("floor_change", "recall.refresh_graph"),
    "statistics": ("lexeme", "recall.refresh_lexemes"),
    "prune": ("plan_item", "recall.plan_prune"),
}


@pytest.mark.parametrize("name", HELD if SCALE > 1 else ("fold", "expire", "graph"))
def test_a_job_goes_on_after_its_backend_was_killed(
    victim: Victim, client: Memory, name: str, inject: Inject
) -> None:
    client.remember_many(drafts(0), now=LONG_AGO)
    with victim.admin() as admin:
        expiring = "UPDATE recall.memory SET expires_at = %s WHERE tenant = %s AND key LIKE '%%-5_'"
        admin.execute(expiring, (NOW, client.tenant))
    client.search("tide harbour", k=20)
    runner = Runner(Database(victim.url), pauses=(1.0,) * 150)
    ends: list[JobOutcome] = []
    held, marker = HELD[name]
    doing = kill_at(
        victim,
        held,
        marker,
        lambda: Doing(lambda: ends.extend(runner.sweep(job_named(name), [client.tenant]))),
    )
    inject("kill -9 of a backend in the middle of a job")
    assert doing.ended()
    [outcome] = ends
    assert outcome.state == "done", outcome
    assert outcome.attempt > 1
    sound(victim.url, client.tenant)
    assert sorted(run.state for run in client.jobs.runs(name)) == ["abandoned", "done"]
