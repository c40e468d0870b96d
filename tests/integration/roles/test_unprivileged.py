"""Everything as the roles it is meant for: real logins over real connections, none of them a superuser."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import attrgetter
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import DatabaseUnsuitable, InvalidInput, Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.nouns.keys.operations import new_token
from pgrecall.schema import roles
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import new_database
from tests.integration.client.client_calls import CALLS, timeless
from tests.waiting import PATIENCE

NOT_ALIKE = {"service.caller", "charts.overview", "history.versions"}  # versions name the role
"""Tells who asks; and when memories leave their zone, to the microsecond, after uses by the clock."""

LogIn = Callable[..., Memory]


@pytest.fixture
def log_in(database_url: str) -> Iterator[LogIn]:
    """A client that logs in as a role of its own with these rights, bound to a tenant (``*``: to none)."""
    made: list[str] = []
    clients: list[Memory] = []

    def run(may: roles.Rights, tenant: str = "*") -> Memory:
        role = f"role_{uuid.uuid4().hex[:12]}"
        roles.create(database_url, role, may=may, tenant=tenant, password=None)
        made.append(role)
        settings = Settings(
            tenant="acme", embedder="hash", embedder_dimensions=DIMENSIONS, database_url=database_url
        )
        url = make_conninfo(database_url, user=role)
        clients.append(Memory(url, settings=settings, embedder=HashEmbedder(DIMENSIONS)))
        return clients[-1]

    yield run
    for client in clients:
        client.close()
    with psycopg.connect(database_url, autocommit=True) as admin:
        for role in made:
            admin.execute(f"DROP ROLE {role}".encode())


@pytest.mark.parametrize("role", ["recall_reader", "recall_app", "pg_monitor"])
def test_a_role_that_stands_for_rights_is_no_login(database_url: str, role: str) -> None:
    """Its members, of any tenant, would all get these rights."""
    granted = "SELECT roleid, member FROM pg_auth_members WHERE member = %s::regrole"
    with psycopg.connect(database_url) as admin:
        before = admin.execute(granted, (role,)).fetchall()
        with pytest.raises(InvalidInput, match=f"^Role {role} stands for rights of others"):
            roles.create(database_url, role, may="worker", tenant="acme", password=None)
        assert admin.execute(granted, (role,)).fetchall() == before


def test_a_group_is_no_login(log_in: LogIn, database_url: str) -> None:
    member = log_in("reader").service.caller().role
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE group_{member}; GRANT group_{member} TO {member}".encode())
        try:
            with pytest.raises(InvalidInput, match=f"^Role group_{member} stands for rights of others"):
                roles.create(database_url, f"group_{member}", may="app", tenant="acme", password=None)
        finally:
            admin.execute(f"DROP ROLE group_{member}".encode())


def test_a_role_may_be_kept_out_of_the_log_by_many_at_once(log_in: LogIn, database_url: str) -> None:
    """As where programs start their first clients of an embedded server together."""
    reader = log_in("reader")
    role = reader.service.caller().role
    barrier = threading.Barrier(6)

    def say(_: int) -> None:
        barrier.wait(PATIENCE)
        for _ in range(20):
            roles.keep_out_of_the_log(database_url, role)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(say, range(6)))
    with psycopg.connect(database_url) as admin:
        settings = "SELECT setconfig FROM pg_db_role_setting WHERE setrole = %s::regrole"
        assert admin.execute(settings, (role,)).fetchall() == [(["log_min_messages=log"],)]


def test_a_worker_does_everything_as_a_superuser_would(
    log_in: LogIn, server: EmbeddedServer, template: str
) -> None:
    def answers(client: Memory) -> list[Any]:
        return [timeless(attrgetter(call.name)(client)(*call.positional, **call.named)) for call in CALLS]

    worker = log_in("worker")
    for url in new_database(server, template):
        settings = replace(worker.configuration, database_url=None)
        with Memory(url, settings=settings, embedder=HashEmbedder(DIMENSIONS)) as superuser:
            expected = answers(superuser)
    for call, wanted, found in zip(CALLS, expected, answers(worker), strict=True):
        assert found == wanted or call.by_the_clock or call.name in NOT_ALIKE, call.name


def test_a_worker_runs_the_jobs_of_all_tenants(log_in: LogIn) -> None:
    worker = log_in("worker")
    for tenant in ("acme", "globex"):
        worker.for_tenant(tenant).remember("The harbour opens")
    for job in ("fold", "vitality", "graph", "statistics", "expire", "prune", "verify", "embed"):
        outcomes = worker.jobs.run(job, all_tenants=True)
        assert [(run.tenant, run.state) for run in outcomes] == [("acme", "done"), ("globex", "done")], job
    assert [run.state for run in worker.jobs.run("partitions")] == ["done"]


def test_a_bound_worker_runs_the_jobs_of_its_tenant_alone(log_in: LogIn) -> None:
    for tenant in ("acme", "globex"):
        log_in("app").for_tenant(tenant).remember("The harbour opens")
    bound = log_in("worker", "acme")
    assert [run.tenant for run in bound.jobs.run("statistics", all_tenants=True)] == ["acme"]
    [refused] = bound.jobs.run("partitions")
    assert (refused.state, "that concerns all tenants" in str(refused.error)) == ("failed", True)


def test_a_bound_role_finds_grants_of_its_tenant_alone(log_in: LogIn) -> None:
    app, code = log_in("app"), new_token("c")
    assert app.keys.open_session(app.keys.create("key").secret, "cookie", 60)
    assert app.keys.open_grant("cookie", code, {}, 60)
    assert not app.for_tenant("globex").keys.open_grant("cookie", new_token("c"), {}, 60)
    assert app.for_tenant("globex").keys.grant(code) == log_in("app", "acme").keys.grant(code) is not None
    assert log_in("app", "globex").keys.grant(code) is None


def test_a_bound_role_also_reads_what_is_shared_with_its_tenant(log_in: LogIn) -> None:
    """Whatever tenant its client names."""
    log_in("app").for_tenant("team").remember("Aram mends the winch.")
    log_in("app", "team").readers.add("acme")
    for right, tenant in (("reader", "acme"), ("app", "acme"), ("app", "other")):
        client = log_in(right, tenant)
        for named in ("acme", "team", "other"):
            asked = client.for_tenant(named, also_reads=["team"] if named != "team" else ["acme"])
            result = asked.search("winch", log=False)
            shared = [hit.tenant for hit in result.hits]
            expected = ["team"] if tenant == "acme" and named != "team" else []
            assert shared == expected, (right, tenant, named)
    grants = log_in("app", "acme").keys
    issued, code = grants.create("key", also_reads=["team"]), new_token("c")
    assert grants.open_session(issued.secret, "shared", 60)
    assert grants.open_grant("shared", code, {}, 60)
    assert (grant := grants.grant(code)) is not None
    assert list(grant.also_reads) == ["team"]


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
def test_a_bound_worker_is_refused_before_anything_has_run(
    log_in: LogIn, database_url: str, plans: str
) -> None:
    """In a database without any rows, where a check within a WHERE clause would not be made."""
    role = log_in("worker", "acme").service.caller().role
    with psycopg.connect(make_conninfo(database_url, user=role), autocommit=True) as connection:
        connection.execute(f"SET plan_cache_mode = {plans}".encode())
        # A plan that reads no key.
        connection.execute("SET enable_indexscan = off; SET enable_bitmapscan = off")
        for call in ("report_job(1, 0, '{}', true)", "end_job(1, 'done', 0, '{}', NULL, true)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="that concerns all tenants"):
                connection.execute(f"SELECT recall.{call}".encode())
        for call in (
            "end_job(1, 'done', 0, '{}', p_now => 'infinity')",
            "expire_memories(p_now => 'infinity')",
            "expire_searches(p_now => 'infinity')",
        ):
            with pytest.raises(psycopg.errors.InvalidParameterValue, match="must be a moment"):
                connection.execute(f"SELECT recall.{call}".encode())


def test_an_app_runs_no_jobs_and_a_reader_changes_nothing(log_in: LogIn) -> None:
    app, reader = log_in("app"), log_in("reader", "acme")
    app.remember("The harbour opens", key="harbour")
    [refused] = app.jobs.run("statistics")
    assert (refused.state, "permission denied" in str(refused.error)) == ("failed", True)
    assert reader.get("harbour").body == "The harbour opens"
    assert reader.search("harbour", log=False).hits[0].key == "harbour"
    for change in (
        lambda: reader.remember("No"),
        lambda: reader.forget("harbour"),
        lambda: reader.search("harbour"),
        lambda: reader.settings.set("prune.grace_days", 1.0),
    ):
        with pytest.raises(DatabaseUnsuitable, match="permission denied"):
            change()
