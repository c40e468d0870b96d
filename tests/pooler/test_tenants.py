"""Tenants share server connections of a pooler, and learn nothing of each other by it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall import Memory, RecallError
from pgrecall.schema import roles
from tests.given_server import Server
from tests.pooler.bouncer import bouncing
from tests.pooler.conftest import settings_of

TENANTS = ("acme", "globex", "initech")
TURNS = 10


@pytest.fixture
def service(server: Server, database_url: str) -> Iterator[tuple[str, str]]:
    """A role for any tenant and one bound to acme, and their URLs through a pooler."""
    names = [f"pooled_{uuid.uuid4().hex[:8]}" for _ in range(2)]
    for name, tenant in zip(names, ("*", "acme"), strict=True):
        roles.create(database_url, name, may="app", tenant=tenant, password=None)
    with bouncing(server.url, size=2, users=tuple(names)) as pooler:
        through = pooler.url(database_url)
        any_tenant, bound = (make_conninfo(through, user=name) for name in names)
        yield any_tenant, bound
    with psycopg.connect(database_url, autocommit=True) as admin:
        for name in names:
            roles.unbind(database_url, name)
            admin.execute(f"DROP OWNED BY {name}")
            admin.execute(f"DROP ROLE {name}")


def lived(url: str, tenant: str) -> set[str]:
    """Tenants of everything that a client of one tenant finds while others use the same connections."""
    seen = set()
    with Memory(settings=settings_of(url, tenant=tenant, pool_size=2)) as memory:
        for turn in range(TURNS):
            memory.remember(f"The gate code of {tenant} is {turn}", key=f"{turn}", author=tenant)
            seen |= {memory.get(f"{turn}").body.split()[4]}
            seen |= {hit.body.split()[4] for hit in memory.search("gate code", k=50).hits}
            with suppress(RecallError):  # an error in a pipeline must not leave its tenant behind
                memory.used(10**9, ["1"])
        assert memory.status().memories == TURNS
    return seen


def poison(url: str, tenant: str, stop: list[bool]) -> None:
    """Leaves another tenant in the session of every server connection, as a careless program may."""
    while not stop:
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))


def test_tenants_of_one_pool_see_their_own(service: tuple[str, str]) -> None:
    stop: list[bool] = []
    with ThreadPoolExecutor(4) as threads:
        poisoning = threads.submit(poison, service[0], "globex", stop)
        days = [threads.submit(lived, service[0], tenant) for tenant in TENANTS]
        try:
            for tenant, day in zip(TENANTS, days, strict=True):
                assert day.result() == {tenant}
        finally:
            stop.append(True)
            poisoning.result()


def test_nothing_of_a_call_stays_in_the_connection(service: tuple[str, str]) -> None:
    """No tenant, role, limit or temporary table is left for the next client."""
    left = (
        "SELECT coalesce(current_setting('recall.tenant', true), ''), current_setting('statement_timeout'), "
        "current_setting('synchronous_commit'), current_user = session_user, "
        "(SELECT count(*) FROM pg_class WHERE relpersistence = 't'), "
        "(SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors)"
    )
    with psycopg.connect(service[0], autocommit=True) as connection:
        before = connection.execute(left).fetchone()
    lived(service[0], "acme")
    with Memory(settings=settings_of(service[0], tenant="globex", timeout=30.0)) as memory:
        memory.search("gate")
        memory.record_access(memory.remember("note").id, "used")
    with psycopg.connect(service[0], autocommit=True) as connection:
        for _ in range(4):
            assert connection.execute(left).fetchone() == before


def test_a_bound_role_stays_bound(service: tuple[str, str]) -> None:
    """Its server connections are its own, and what others left in theirs is not in it."""
    any_tenant, bound = service
    lived(any_tenant, "globex")
    with Memory(settings=settings_of(bound, tenant="globex")) as memory:
        memory.remember("The gate code of acme is 1")
        assert [hit.body for hit in memory.search("gate code").hits] == ["The gate code of acme is 1"]
        caller = memory.service.caller()
    assert (caller.role, caller.tenant) == (conninfo_to_dict(bound)["user"], "acme")
