"""Who may serve: no superuser unless told, and the commands that make roles for those who do."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.acceptance.cli.command_tools import Command


@pytest.fixture
def role(database_url: str) -> Iterator[str]:
    """The name of a role that a test may make."""
    name = f"role_{uuid.uuid4().hex[:12]}"
    yield name
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute(f"DROP ROLE IF EXISTS {name}".encode())


@pytest.mark.parametrize(
    "command", [("serve", "--port", "0"), ("worker", "--once"), ("mcp", "--http", "--port", "0")]
)
def test_a_superuser_does_not_serve(pgrecall: Command, command: tuple[str, ...]) -> None:
    done = pgrecall(*command, allow_superuser="0")
    assert "Role postgres is a superuser: a fault here could expose all tenants" in done.err
    assert "pgrecall roles create NAME --any-tenant" in done.err
    assert done.code != 0


def test_a_superuser_serves_on_request(pgrecall: Command) -> None:
    assert pgrecall("worker", "--once", "--allow-superuser", allow_superuser="0").code == 0


def test_roles_are_made_bound_and_listed(pgrecall: Command, role: str, database_url: str) -> None:
    done = pgrecall("roles", "create", role, "--any-tenant", "--worker", role_password="it's a secret")
    assert (done.code, done.err) == (0, f"Role {role} may act for any tenant.\n")
    as_role = make_conninfo(database_url, user=role)
    assert pgrecall("worker", "--once", allow_superuser="0", database_url=as_role).code == 0
    with psycopg.connect(database_url) as admin:
        stored = admin.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", (role,)).fetchone()
        assert stored is not None
        assert stored[0].startswith("SCRAM-SHA-256$")

    assert pgrecall("roles", "bind", role, "acme").out == f"Role {role} acts for tenant acme.\n"
    [bound] = pgrecall("roles", "list", "--json").json
    assert (bound["role"], bound["tenant"], bound["may"], bound["may_log_in"]) == (
        role,
        "acme",
        "worker",
        True,
    )
    doctor = pgrecall("doctor", "--only", "roles", allow_superuser="0", database_url=as_role)
    assert f"Role {role} (worker) acts for tenant acme alone." in doctor.out
    # Nothing changes but what is asked for.
    assert pgrecall("roles", "create", role, "--for", "acme", "--reader").code == 0
    [bound] = pgrecall("roles", "list", "--json").json
    assert bound["may"] == "reader"
    assert pgrecall("roles", "unbind", role).out == "Unbound.\n"
    doctor = pgrecall("doctor", "--only", "roles", allow_superuser="0", database_url=as_role)
    assert (doctor.code, "is bound to no tenant and may not choose one" in doctor.out) == (1, True)


def test_only_administrators_bind(pgrecall: Command, role: str, database_url: str) -> None:
    pgrecall("roles", "create", role, "--for", "acme")
    as_role = make_conninfo(database_url, user=role)
    for command in (
        ("bind", role, "globex"),
        ("unbind", role),
        ("list",),
        ("create", "other", "--any-tenant"),
    ):
        done = pgrecall("roles", *command, database_url=as_role)
        assert (done.code, done.out) == (3, ""), command


@pytest.mark.parametrize(
    "arguments", [("create", "x"), ("bind", "x"), ("bind", "x", "*"), ("bind", "x", "a", "--any-tenant")]
)
def test_whom_a_role_acts_for_must_be_clear(pgrecall: Command, arguments: tuple[str, ...]) -> None:
    assert pgrecall("roles", *arguments).code == 2


def test_the_doctor_prints_the_sql_that_mends_rights(pgrecall: Command, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute("GRANT SELECT ON recall.memory TO recall_reader; DROP POLICY own ON recall.link")
        done = pgrecall("doctor", "--json", "--only", "roles")
        assert done.code == 1
        fixes = [entry["fix"] for entry in done.json["findings"] if entry["fix"]]
        assert sorted(fixes) == [
            "CREATE POLICY own ON recall.link FOR ALL USING "
            "(tenant = ( SELECT recall.current_tenant() AS current_tenant));",
            "REVOKE ALL ON recall.memory FROM recall_reader;",
        ]
        for fix in fixes:
            admin.execute(fix.encode())
    assert pgrecall("doctor", "--only", "roles").code == 0
