"""Installed and used without a superuser, as on a managed Postgres: by a database owner with CREATEROLE.

The extension that is not trusted was created beforehand, and an administrator has granted the roles, which
another database of the server has already.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.schema import migrate, roles
from pgrecall.schema.backups.making import make_backup
from pgrecall.schema.backups.restoring import restore_backup
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.conftest import bare_pgrecall
from tests.conftest import DIMENSIONS
from tests.databases import dropped
from tests.given_server import Server
from tests.integration.client.client_calls import CALLS, timeless
from tests.integration.roles.test_unprivileged import NOT_ALIKE
from tests.migration.catalogue import STALE

__all__ = ["bare_pgrecall"]

JOBS = ("fold", "vitality", "graph", "statistics", "expire", "prune", "verify", "embed")


@dataclass(frozen=True, slots=True)
class Managed:
    """A database on a managed server: its URL as its owner, and the roles that the owner created."""

    url: str
    app: str
    worker: str

    def client(self, role: str | None = None, tenant: str = "acme") -> Memory:
        settings = Settings(tenant=tenant, embedder="hash", embedder_dimensions=DIMENSIONS)
        url = make_conninfo(self.url, user=role) if role else self.url
        return Memory(url, settings=settings, embedder=HashEmbedder(DIMENSIONS))


@pytest.fixture
def managed(server: Server, template: str) -> Iterator[Managed]:
    """Installed by its owner, who is no superuser. The template has made the roles of the server."""
    owner = f"owner_{uuid.uuid4().hex[:8]}"
    admin_url = make_conninfo(server.url, dbname=owner)
    found = Managed(make_conninfo(admin_url, user=owner), f"{owner}_app", f"{owner}_worker")
    with psycopg.connect(server.url, autocommit=True) as admin:
        for statement in (
            f"CREATE ROLE {owner} LOGIN CREATEROLE",
            f"CREATE DATABASE {owner} OWNER {owner}",
            f"GRANT recall_owner TO {owner} WITH INHERIT FALSE, SET TRUE",
            f"GRANT recall_worker, recall_app TO {owner} WITH ADMIN OPTION",
        ):
            admin.execute(statement.encode())
        with psycopg.connect(admin_url, autocommit=True) as there:
            there.execute("CREATE EXTENSION vector")
        try:
            assert migrate.upgrade(found.url, dimensions=DIMENSIONS).left == ()
            roles.create(found.url, found.app, may="app", tenant="*", password=None)
            roles.create(found.url, found.worker, may="worker", tenant="*", password=None)
            yield found
        finally:
            dropped(admin, owner)
            for role in (found.app, found.worker, owner):
                admin.execute(f"DROP ROLE IF EXISTS {role}".encode())


def test_a_backup_comes_back(managed: Managed, tmp_path: Path) -> None:
    with managed.client(managed.app) as client:
        client.remember("The tide gauge at Skarvik.", key="gauge")
    make_backup(managed.url, tmp_path / "managed.dump")
    with psycopg.connect(managed.url) as connection:
        connection.execute("SET LOCAL ROLE recall_owner; DROP SCHEMA recall, recall_private CASCADE")
    assert restore_backup(managed.url, tmp_path / "managed.dump").upgraded.left == ()
    with managed.client(managed.app) as client:
        assert client.get("gauge").body == "The tide gauge at Skarvik."


def answers(client: Memory) -> list[Any]:
    """What every method of a client answers, without times."""
    return [timeless(attrgetter(call.name)(client)(*call.positional, **call.named)) for call in CALLS]


def test_every_call_answers_as_it_does_for_a_superuser(managed: Managed, memory: Memory) -> None:
    assert (managed.client().service.caller().superuser, memory.service.caller().superuser) == (False, True)
    expected = answers(memory)
    with managed.client(managed.worker) as worker:
        found = answers(worker)
    for call, wanted, given in zip(CALLS, expected, found, strict=True):
        assert given == wanted or call.by_the_clock or call.name in NOT_ALIKE, call.name


def test_jobs_an_export_and_an_import(managed: Managed) -> None:
    file = io.BytesIO()
    with managed.client(managed.worker) as worker:
        for number in range(20):
            worker.remember(f"The harbour opens at {number}", key=f"k{number}")
        for job in JOBS:
            assert [run.state for run in worker.jobs.run(job)] == ["done"], job
        assert [run.state for run in worker.jobs.run("partitions")] == ["done"]
        worker.export.write(file)
    file.seek(0)
    with managed.client(managed.app, tenant="copy") as app:
        app.export.read(file)
        assert app.status().memories == 20
        assert app.search("harbour at 7", k=3).hits


def test_an_upgrade_by_the_owner(managed: Managed) -> None:
    with psycopg.connect(managed.url) as owner:
        owner.execute("SET ROLE recall_owner")
        owner.execute(STALE)
    done = migrate.upgrade(managed.url)
    assert (done.changed, done.left) == (True, ())
    assert roles.rights(managed.url) == ()
    with managed.client() as memory:
        memory.remember("The harbour contract")
        assert len(memory.search("contract").hits) == 1


def test_the_command_line(managed: Managed, bare_pgrecall: Command) -> None:
    given = {"database_url": managed.url, "tenant": "acme"}
    for command in (("init", "--dimensions", str(DIMENSIONS)), ("upgrade",), ("status",), ("roles", "list")):
        ended = bare_pgrecall(*command, **given)
        assert ended.code == 0, (command, ended)
    findings = bare_pgrecall("doctor", "--json", **given).json["findings"]
    assert [found for found in findings if found["level"] == "fail"] == []
    as_app = given | {"database_url": make_conninfo(managed.url, user=managed.app)}
    assert bare_pgrecall("doctor", "--only", "roles", "--strict", allow_superuser="0", **as_app).code == 0
