"""kill -9 in the middle of each job, again and again, then once to the end: as an undisturbed run."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.jobs.catalogue import JOBS
from pgrecall.jobs.job import Job
from tests.conftest import NOW
from tests.databases import cloned, dropped
from tests.scale import SCALE
from tests.waiting import until

KILLS = 8 * SCALE
SEED = 20260601
FILL = Path(__file__).with_name("kill_fill.sql")
BATCHES = {"fold": 10, "vitality": 10, "expire": 3, "embed": 4, "dedupe": 10, "reembed": 8}
"""Rows in a step: so few that the kills find each of these jobs with work left to do."""

MANY = {"vectors": 5}
"""What counts as many for a job of one step, so that it has something to do."""

CHANGES_NOTHING = ("verify", "alerts")

STATE = {
    "activation": "to_jsonb(t) - 'computed_at' AS row FROM recall.activation t",
    "memory": "jsonb_build_array(id, archived_at, embedded_with, content_hash) AS row FROM recall.memory",
    "vector": "jsonb_build_array(id, archived, embedding::text) AS row "
    "FROM recall_private.stored_vectors('acme', NULL)",
    "shared": "jsonb_build_array(tenant, memory_id) AS row FROM recall.vector_shared",
    "home": "to_jsonb(tenant) AS row FROM recall.vector_home",
    "access": "to_jsonb(t) AS row FROM recall.access t",
    "queue": "to_jsonb(t) AS row FROM recall.access_queue t",
    "link": "to_jsonb(t) AS row FROM recall.link t",
    "archival": "to_jsonb(t) - 'id' AS row FROM recall.archival t",
    "floor": "to_jsonb(t) - 'id' - 'at' AS row FROM recall.floor_change t",
    "median": "to_jsonb(t) - 'computed_at' AS row FROM recall.layer_median t",
    "lexeme": "to_jsonb(t) AS row FROM recall.lexeme t",
    "setting": "to_jsonb(t) AS row FROM recall.setting t WHERE name <> 'statistics_at'",
    "plan": "to_jsonb(t) - 'plan_id' AS row FROM recall.plan_item t "
    "WHERE plan_id = (SELECT max(id) FROM recall.plan)",
    "compared": "to_jsonb(t) AS row FROM recall.compared t",
    "pair": "to_jsonb(t) AS row FROM recall.duplicate_pair t",
    "partition": "to_jsonb(inhrelid::regclass::text) AS row FROM pg_inherits "
    "WHERE inhparent = 'recall.access'::regclass",
}
"""What jobs change, but for the moments at which they did."""

Clone = Callable[[], str]
Perform = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def filled(server: EmbeddedServer, template: str) -> Iterator[str]:
    """The name of a database with work for every job."""
    name = "recall_kill"
    with psycopg.connect(server.url, autocommit=True) as admin:
        cloned(admin, name, template)
        with psycopg.connect(make_conninfo(server.url, dbname=name)) as connection:
            connection.execute(FILL.read_bytes())
        yield name
        dropped(admin, name)


@pytest.fixture
def clone(server: EmbeddedServer, filled: str) -> Iterator[Clone]:
    """Makes copies of the filled database, and gives their URLs."""
    made: list[str] = []
    with psycopg.connect(server.url, autocommit=True) as admin:

        def copy() -> str:
            made.append(f"{filled}_{len(made)}")
            cloned(admin, made[-1], filled)
            return make_conninfo(server.url, dbname=made[-1])

        yield copy
        for name in made:
            dropped(admin, name)


@pytest.fixture(scope="module")
def perform() -> Iterator[Perform]:
    """Runs a job in a process of its own; with ``kill_after`` it is killed that long after it began."""
    driver = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("kill_driver.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert driver.stdin is not None
    assert driver.stdout is not None

    def ask(url: str, job: Job, kill_after: float | None = None) -> dict[str, Any]:
        assert driver.stdin is not None
        assert driver.stdout is not None
        request = {
            "url": url, "job": job.name, "tenant": "*" if job.whole else "acme", "now": NOW.isoformat(),
            "batch": (BATCHES | MANY).get(job.name), "kill_after": kill_after,
            "embedder": "hash-new" if job.by_hand else "hash-64",
        }  # fmt: skip
        answer: dict[str, Any] = {"state": ["skipped", None]}
        while answer["state"] == ["skipped", None]:
            # A statement that a killed process left behind holds the lock until it ends by itself.
            driver.stdin.write(json.dumps(request) + "\n")
            driver.stdin.flush()
            answer = json.loads(driver.stdout.readline())
        return answer

    with driver:
        yield ask
        driver.stdin.close()


def state(url: str) -> dict[str, list[Any]]:
    """Everything that jobs change."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return {
            name: [row["row"] for row in connection.execute(f"SELECT {what} ORDER BY 1")]
            for name, what in STATE.items()
        }


def runs(url: str, job: Job) -> tuple[int, int]:
    """How many runs of a job there were, and how many of them did not come to their end."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE state IN ('running', 'abandoned')) "
            "FROM recall.job_run WHERE job = %s",
            (job.name,),
        ).fetchone()
    assert row is not None
    return row


def prepare(url: str, job: Job, perform: Perform) -> None:
    """What a job needs to have something to do: vectors."""
    if job.name in ("reembed", "vectors"):
        [embed] = [each for each in JOBS if each.name == "embed"]
        assert perform(url, embed)["state"] == ["done", None]


@pytest.mark.parametrize(
    "job", [job for job in JOBS if not (job.backs_up or job.follows)], ids=lambda job: job.name
)
def test_kills_at_any_instant_change_nothing(job: Job, clone: Clone, perform: Perform) -> None:
    undisturbed, killed = clone(), clone()
    for url in (undisturbed, killed):
        prepare(url, job, perform)
    before = state(undisturbed)
    whole = perform(undisturbed, job)
    assert whole["state"] == ["done", None]

    dice = random.Random(f"{SEED} {job.name}")
    # Many steps are left to the later kills too; a job of one step has all of it ahead each time.
    longest = whole["seconds"] / (0.75 * KILLS if job.name in BATCHES else 1)
    for _ in range(KILLS):
        run = perform(killed, job, dice.uniform(0, longest))
        assert run["began"]
        if run["state"] is not None:  # quicker than the whole one was: the machine has less to do now
            longest = min(longest, run["seconds"])
    while runs(killed, job)[1] == 0:  # all of them were quicker than the whole one
        longest /= 2
        perform(killed, job, dice.uniform(0, longest))
    assert runs(killed, job)[0] >= KILLS

    until(lambda: alone(killed), "the end of what killed ones had asked for")
    assert perform(killed, job)["state"] == ["done", None]
    wanted, found = state(undisturbed), state(killed)
    assert (wanted != before) is (job.name not in CHANGES_NOTHING)
    for name in STATE:
        assert found[name] == wanted[name], name
    assert in_order(killed) is (job.name == "fold")


def alone(url: str) -> bool:
    """Whether nobody else is connected to the database."""
    with psycopg.connect(url) as connection:
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return connection.execute(others).fetchone() == (0,)


def in_order(url: str) -> bool:
    """Whether all activations are what the log says."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', true)")
        return connection.execute("SELECT recall.rebuild()").fetchone() == (0,)
