"""Servers and roles: those that do not fit are told so, those that do need no more than they must."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import DatabaseUnsuitable, Memory
from pgrecall.database.server import Extension, ServerFacts, require_suitable
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.migration.catalogue import fetch
from tests.server_folders import server_folder


@pytest.fixture
def plain_role(server: EmbeddedServer, empty_database: str) -> Iterator[str]:
    """The URL of the empty database for a role that may connect and nothing else."""
    role = f"plain_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        try:
            yield make_conninfo(empty_database, user=role)
        finally:
            fetch(empty_database, f"DROP OWNED BY {role}")
            admin.execute(f"DROP ROLE {role}")


def test_a_role_that_may_not_create_is_refused(plain_role: str) -> None:
    role = psycopg.conninfo.conninfo_to_dict(plain_role)["user"]
    with pytest.raises(DatabaseUnsuitable) as caught:
        migrate.upgrade(plain_role, dimensions=64)
    message = str(caught.value)
    assert f"role {role} may not create in database test_" in message
    assert "an administrator must run CREATE EXTENSION vector" in message
    assert "run `pgrecall init` again" in message


@pytest.fixture
def too_old() -> Iterator[str]:
    """The URL of a Postgres before 16, as Debian 12 has it."""
    programs = next(iter(Path("/usr/lib/postgresql").glob("1[0-5]/bin")), None)
    if programs is None:
        pytest.skip("This needs a Postgres before 16 in /usr/lib/postgresql.")
    account = "nobody" if os.geteuid() == 0 else None
    with server_folder() as folder:
        if account:
            shutil.chown(folder, account)
        data = str(folder / "data")

        def run(program: str, *arguments: str) -> None:
            command = [programs / program, "-D", data, *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, user=account)

        run("initdb", "-A", "trust", "-U", "postgres", "-N")
        run("pg_ctl", "-w", "-l", f"{data}/log", "-o", f"-c listen_addresses= -k {folder}", "start")
        try:
            yield make_conninfo(host=str(folder), user="postgres", dbname="postgres")
        finally:
            run("pg_ctl", "-m", "immediate", "stop")


def test_an_old_server_is_refused_before_anything_else(too_old: str) -> None:
    with pytest.raises(DatabaseUnsuitable, match=r"it is Postgres 1\d.*, and pgrecall needs 16 or newer"):
        migrate.upgrade(too_old, dimensions=64)
    assert fetch(too_old, "SELECT FROM pg_namespace WHERE nspname = 'recall'") == []


def test_a_role_that_may_create_needs_no_superuser(plain_role: str, empty_database: str) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(plain_role)
    fetch(empty_database, f"GRANT CREATE ON DATABASE {parts['dbname']} TO {parts['user']}")
    fetch(empty_database, "CREATE EXTENSION vector; CREATE EXTENSION pg_trgm")
    migrate.upgrade(plain_role, dimensions=64)
    with Memory(plain_role, settings=Settings(embedder="none")) as memory:
        memory.remember("The harbour contract")
        assert len(memory.search("contract").hits) == 1


def test_extensions_may_live_in_another_schema(empty_database: str) -> None:
    fetch(
        empty_database,
        'CREATE SCHEMA "Ext"; CREATE EXTENSION vector SCHEMA "Ext"; CREATE EXTENSION pg_trgm SCHEMA "Ext"',
    )
    migrate.upgrade(empty_database, dimensions=64)
    settings = Settings(database_url=empty_database, embedder="hash")
    with Memory(settings=settings, embedder=HashEmbedder(64)) as memory:
        memory.remember("The harbour contract is signed on Friday", key="a")
        memory.remember("Mira Okafor", layer="entity", title="Mira Okafor", key="b")
        assert memory.search("when is the contract signed?").hits[0].key == "a"
        assert memory.search("Mira Okafr").hits[0].key == "b"
        assert memory.status().memories == 2


def test_functions_work_with_any_search_path(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        connection.execute("SET search_path = pg_catalog")
        connection.execute("SELECT recall.remember('The harbour contract', 'Plan')")
        [hit] = connection.execute("SELECT key, body FROM recall.search('contract')").fetchall()
        assert hit == (None, "The harbour contract")


def test_an_extension_that_is_missing_is_named() -> None:
    facts = facts_with(extensions={"pg_trgm": Extension("1.6", None, True)})
    with pytest.raises(DatabaseUnsuitable, match=r"the extension vector is not installed .*pgvector 0\.8"):
        require_suitable(facts)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": 150004, "version_text": "15.4"}, "it is Postgres 15.4, and pgrecall needs 16 or newer"),
        ({"runs_triggers": False}, "session_replication_role is replica, so that no trigger runs"),
        ({"encoding": "LATIN1"}, "database db has the encoding LATIN1, and memories need UTF8"),
        ({"extensions": {"vector": Extension("0.7.4", None, True), "pg_trgm": Extension("1.6", "1.6", True)}},
         "pgvector is 0.7.4, and pgrecall needs 0.8 or newer"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_used_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DatabaseUnsuitable, match=re.escape(sentence)):
        require_suitable(facts_with(**changes))


def facts_with(**changes: Any) -> ServerFacts:
    values: dict[str, Any] = {
        "version": 180000,
        "version_text": "18.0",
        "role": "me",
        "database": "db",
        "encoding": "UTF8",
        "runs_triggers": True,
        "may_create": True,
        "extensions": {"vector": Extension("0.8.1", "0.8.1", True), "pg_trgm": Extension("1.6", "1.6", True)},
    }
    return ServerFacts(**(values | changes))
