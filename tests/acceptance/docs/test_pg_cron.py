"""What docs/howto/jobs.md schedules, run as the roles it is meant for; the extension is not here."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.schema import roles
from tests.acceptance.docs.doc_blocks import ROOT, blocks_of
from tests.databases import Query
from tests.integration.jobs.test_jobs_runner import shown

PAGE = ROOT / "docs" / "howto" / "jobs.md"
SCHEDULE = re.compile(r"SELECT cron\.schedule\('([\w-]+)', '([^']+)', \$job\$(.*?)\$job\$\);", re.S)
# What pg_cron reads: so many seconds, or five fields of cron.
TIMES = re.compile(r"[1-5]?\d seconds|(\S+ ){4}\S+")

LogIn = Callable[[str], "psycopg.Connection[Any]"]


@pytest.fixture
def log_in(database_url: str) -> Iterator[LogIn]:
    """A session of a worker's role that is bound to a tenant; ``*``: that may name any."""
    made: list[str] = []
    sessions: list[psycopg.Connection[Any]] = []

    def run(tenant: str) -> psycopg.Connection[Any]:
        role = f"role_{uuid.uuid4().hex[:12]}"
        roles.create(database_url, role, may="worker", tenant=tenant, password=None)
        made.append(role)
        sessions.append(psycopg.connect(make_conninfo(database_url, user=role), autocommit=True))
        return sessions[-1]

    yield run
    for session in sessions:
        session.close()
    with psycopg.connect(database_url, autocommit=True) as admin:
        for role in made:
            admin.execute(f"DROP ROLE {role}".encode())


def scheduled() -> dict[str, tuple[str, str]]:
    """The schedules of the page: when, and the statement, by name."""
    [block] = [block for block in blocks_of(PAGE) if block.text.startswith("SELECT cron.schedule(")]
    found = SCHEDULE.findall(block.text)
    assert SCHEDULE.sub("", block.text).strip() == ""
    return {name: (times, statement) for name, times, statement in found}


def states(query: Query) -> dict[tuple[str, str], str]:
    rows = query("SELECT DISTINCT ON (tenant, job) * FROM recall.job_run ORDER BY tenant, job, id DESC")
    return {(row["tenant"], row["job"]): row["state"] for row in rows}


def test_the_schedules_are_whole() -> None:
    found = scheduled()
    assert all(TIMES.fullmatch(times) for times, _ in found.values())
    named = ",".join(re.findall(r"'\{(.*)\}'", "".join(text for _, text in found.values()))).split(",")
    text = PAGE.read_text(encoding="utf-8")
    assert len(named) == len(set(named)) == 10
    stopped = re.findall(r"cron\.unschedule\('([\w-]+)'\)", text)
    assert stopped == list(found)


def test_what_is_scheduled_runs_every_job_for_every_tenant(query: Query, log_in: LogIn) -> None:
    for tenant in ("acme", "globex"):
        shown(query, "A note on the tide.", tenant=tenant)
    session = log_in("*")
    for _, statement in scheduled().values():
        session.execute(statement.encode())
    per_tenant = ("dedupe", "expire", "fold", "graph", "prune", "statistics", "vectors", "verify", "vitality")
    expected = {(tenant, job): "done" for tenant in ("acme", "globex") for job in per_tenant}
    assert states(query) == expected | {("*", "partitions"): "done"}
    assert query("SELECT count(*) AS n FROM recall.access_queue") == [{"n": 0}]
    for kind in ("prune", "dedupe"):
        assert query("SELECT count(*) AS n FROM recall.plan WHERE kind = %s", (kind,)) == [{"n": 2}]
    runs = len(query("SELECT FROM recall.job_run"))
    for _, statement in scheduled().values():  # nothing is due again
        session.execute(statement.encode())
    assert len(query("SELECT FROM recall.job_run")) == runs
    assert query("SELECT FROM recall.health_report() h WHERE h.alarms <> '{}'", tenant="acme") == []


def test_a_role_bound_to_a_tenant_runs_the_jobs_of_that_tenant(query: Query, log_in: LogIn) -> None:
    for tenant in ("acme", "globex"):
        shown(query, "A note on the tide.", tenant=tenant)
    session = log_in("acme")
    for _, statement in scheduled().values():
        session.execute(statement.encode())
    assert {tenant for tenant, _ in states(query)} == {"acme"}
    assert query("SELECT count(*) AS n FROM recall.access_queue") == [{"n": 1}]


def test_a_job_that_fails_is_recorded_and_the_others_run(query: Query, log_in: LogIn) -> None:
    shown(query, "A note on the tide.")
    query("DROP FUNCTION recall.expire_memories CASCADE")
    session = log_in("*")
    for _, statement in scheduled().values():
        session.execute(statement.encode())
    found = states(query)
    assert {job: state for (_, job), state in found.items() if state != "done"} == {"expire": "failed"}
    [alarm] = query("SELECT unnest(alarms) AS alarm FROM recall.health_report()", tenant="acme")
    assert alarm["alarm"].startswith("The job expire failed at")
