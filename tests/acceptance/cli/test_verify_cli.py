"""The command verify: silent when nothing breaks, exit code 1 with what does."""

from __future__ import annotations

import uuid

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.acceptance.cli.command_tools import Command
from tests.databases import Query


@pytest.fixture
def two_tenants(query: Query) -> None:
    for tenant in ("acme", "globex"):
        query(
            "SELECT recall.remember('A note on the tide.', p_title => 'Tide', p_key => 'tide')", tenant=tenant
        )


def break_names(query: Query) -> None:
    query("DELETE FROM recall.name WHERE tenant = 'globex'")


@pytest.mark.usefixtures("two_tenants")
def test_what_is_in_order(pgrecall: Command) -> None:
    done = pgrecall("verify", tenant="acme")
    assert (done.code, done.err) == (0, "")
    assert done.out == "acme: 19 checks, no problem.\n"
    everyone = pgrecall("verify", "--all-tenants", tenant="acme")
    assert (everyone.code, [line.split(":")[0] for line in everyone.out.splitlines()]) == (
        0,
        ["acme", "globex"],
    )
    assert pgrecall("verify", "--json", tenant="acme").json["problems"] == 0


@pytest.mark.usefixtures("two_tenants")
def test_what_is_not(pgrecall: Command, query: Query) -> None:
    break_names(query)
    assert pgrecall("verify", tenant="acme").code == 0
    done = pgrecall("verify", tenant="globex")
    assert (done.code, done.err) == (1, "")
    [ident] = query("SELECT id FROM recall.memory WHERE tenant = 'globex'")
    assert done.out.startswith("globex: 1 of 19 checks fail.\n")
    [row] = [line for line in done.out.splitlines() if line.startswith("names")]
    assert row.split()[:3] == ["names", "1", str(ident["id"])]
    everyone = pgrecall("verify", "--all-tenants", "--json", tenant="acme")
    assert everyone.code == 1
    assert everyone.json["problems"] == 1
    assert {
        each["tenant"]: [check["name"] for check in each["checks"] if check["problems"]]
        for each in everyone.json["tenants"]
    } == {"acme": [], "globex": ["names"]}


def test_nothing_at_all(pgrecall: Command) -> None:
    done = pgrecall("verify", "--all-tenants")
    assert (done.code, done.out) == (0, "There is no tenant to verify.\n")
    assert pgrecall("verify", "--now", "someday").code == 2


@pytest.mark.usefixtures("two_tenants")
def test_a_reader_verifies_its_own_tenant(pgrecall: Command, query: Query, database_url: str) -> None:
    break_names(query)
    role = f"role_{uuid.uuid4().hex[:12]}"
    pgrecall("roles", "create", role, "--for", "acme", "--reader")
    try:
        mine = make_conninfo(database_url, user=role)
        assert pgrecall("verify", database_url=mine, tenant="acme").code == 0
        refused = pgrecall("verify", "--all-tenants", database_url=mine, tenant="acme")
        assert refused.code == 3
        assert "pgrecall roles create" in refused.err or "GRANT" in refused.err
    finally:
        with psycopg.connect(database_url, autocommit=True) as admin:
            admin.execute(f"DROP ROLE IF EXISTS {role}".encode())
