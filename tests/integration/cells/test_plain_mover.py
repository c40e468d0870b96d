"""A role that is no superuser moves tenants, as on a managed Postgres: `cell check` says what it needs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.cells.fleet import Fleet
from pgrecall.cells.moves.move import Mover
from pgrecall.cells.moves.rights import missing_rights
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import DatabaseUnsuitable
from tests.databases import dropped
from tests.integration.cells.conftest import Installation, installed
from tests.integration.cells.test_move import clean, digests, fill, held, memories
from tests.waiting import until

PASSWORD = "secret of a test"


def asks_for_a_password(server: EmbeddedServer, role: str) -> bool:
    """Whether the server has read its rules by now."""
    try:
        psycopg.connect(make_conninfo(server.url, user=role, password="")).close()
    except psycopg.OperationalError:
        return True
    return False


@pytest.fixture
def role(logical_server: EmbeddedServer) -> Iterator[str]:
    """An administrator of databases who is no superuser, and has to give a password."""
    name = f"mover_{uuid.uuid4().hex[:8]}"
    rules = logical_server.data_dir / "postgres" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all {name} scram-sha-256\n{before}")
    with psycopg.connect(logical_server.url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'".encode())
        admin.execute(f"GRANT recall_owner TO {name} WITH INHERIT FALSE, SET TRUE".encode())
        admin.execute(f"GRANT recall_worker TO {name}".encode())
        admin.execute("SELECT pg_reload_conf()")
        until(lambda: asks_for_a_password(logical_server, name), "the question for a password")
        yield name
        rules.write_text(before)
        admin.execute("SELECT pg_reload_conf()")
        admin.execute(f"DROP ROLE {name}".encode())


@pytest.fixture
def plain(logical_server: EmbeddedServer, role: str) -> Iterator[Installation]:
    """Two cells whose directory the role has made itself, in a database of its own."""
    with installed(logical_server, "cells_fresh", 2) as made:
        name = f"directory_{role}"
        with psycopg.connect(logical_server.url, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name} OWNER {role}".encode())
            try:
                url = make_conninfo(logical_server.url, dbname=name, user=role, password=PASSWORD)
                cells = [make_conninfo(cell, user=role, password=PASSWORD) for cell in made.cells]
                yield Installation(url, cells, made.opened).add(0, 1)
            finally:
                made.opened.close()
                for cell in made.cells:
                    with psycopg.connect(cell, autocommit=True) as there:
                        there.execute(f"DROP OWNED BY {role}".encode())
                dropped(admin, name)


def grant(logical_server: EmbeddedServer, installation: Installation) -> list[str]:
    """Does what `cell check` asks for, as an administrator; returns it."""
    done = []
    for finding in list(installation.fleet.check()):
        if finding.fix:
            assert finding.cell is not None
            cell = installation.fleet.directory.cell(finding.cell)
            url = Fleet(logical_server.url).at(cell.address).url
            with psycopg.connect(url, autocommit=True) as admin:
                admin.execute(finding.fix.encode())
            done.append(finding.fix)
    return done


def test_a_plain_role_moves_a_tenant(logical_server: EmbeddedServer, plain: Installation, role: str) -> None:
    plain.fleet.place("acme", 0)
    client = plain.memory()
    fill(client)
    plain.ask(0, "SET ROLE recall_owner; SELECT recall.move_vectors_to_own_table(3)", "acme")
    with pytest.raises(DatabaseUnsuitable, match=r"In the source cell: Role .* does not have the rights of"):
        Mover(plain.fleet).move("acme", 1)
    asked = grant(logical_server, plain)
    assert {fix.split(" ")[0] + " " + fix.split(" ")[1] for fix in asked} == {
        "GRANT recall_owner", "GRANT CREATE", "ALTER ROLE", "GRANT pg_create_subscription",
    }  # fmt: skip
    assert [finding.message for finding in plain.fleet.check() if "No moves" in finding.message] == []
    before = digests(plain, 0)
    mover = Mover(plain.fleet)
    mover.move("acme", 1)
    assert memories(digests(plain, 1)) == memories(before)
    assert held(plain, 1)["vector_1"] == 12
    written = client.remember("Written in cell 1.")
    mover.undo("acme")
    assert client.get(written.id).body == "Written in cell 1."
    assert held(plain, 1) == {}
    mover.move("acme", 1)
    mover.finish("acme")
    assert held(plain, 0) == {}
    clean(plain)


def test_without_a_password_it_says_so(
    logical_server: EmbeddedServer, plain: Installation, role: str
) -> None:
    grant(logical_server, plain)
    rules = logical_server.data_dir / "postgres" / "pg_hba.conf"
    rules.write_text(rules.read_text().replace(f"local all {role} scram-sha-256", f"local all {role} trust"))
    with psycopg.connect(logical_server.url, autocommit=True) as admin:
        admin.execute("SELECT pg_reload_conf()")
    until(lambda: not asks_for_a_password(logical_server, role), "trust")
    cell = plain.fleet.cell(plain.fleet.directory.cells()[0])
    [lack] = missing_rights(cell, "source")
    assert lack.message == f"Role {role} logs in without a password, but its subscription needs one."
    assert missing_rights(cell, "target") == ()
