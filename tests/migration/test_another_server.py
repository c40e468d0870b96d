"""A whole life, dumped and restored into a fresh server; and a server that loses a backend in an upgrade."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import DatabaseUnavailable, Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.given_server import leave_alone
from tests.migration.catalogue import DEFINITIONS, catalogue, fetch
from tests.migration.old_schemas import fill, take_to
from tests.migration.test_dump import program, run
from tests.migration.test_every_revision import rows, settled
from tests.migration.test_interrupted import ONE_WAIT, WAITING
from tests.server_folders import server_folder
from tests.tenant_world import all_answers, fill_tenant
from tests.waiting import PATIENCE, gone, until

STATISTICS = "SELECT * FROM recall.lexeme ORDER BY 1, 2"
MEDIANS = "SELECT * FROM recall.layer_median ORDER BY 1, 2"


@pytest.fixture(scope="module")
def fresh_server() -> Iterator[EmbeddedServer]:
    """A server of this file's own, on which nothing has been installed yet."""
    with server_folder() as folder, EmbeddedServer.start(folder / "data", fast=True) as running:
        leave_alone(running.url)  # other statistics make other plans, which add up in another order
        yield running


@pytest.fixture(scope="module")
def lived(shared_url: str) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """A database with two tenants, and all answers of the one that has lived."""
    settings = Settings(database_url=shared_url, tenant="acme", embedder="hash")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        fill_tenant(memory, shared_url)
        memory.for_tenant("other").remember("The harbour of others")
    return shared_url, all_answers(shared_url, "acme")


@pytest.mark.parametrize("form", ["custom", "plain"])
def test_a_dump_answers_the_same_on_a_fresh_server(
    form: str,
    lived: tuple[str, dict[str, list[dict[str, Any]]]],
    fresh_server: EmbeddedServer,
    tmp_path: Path,
) -> None:
    """Searches with scores and order, vitality, the past, plans, statistics; roles and rights as declared."""
    url, answers = lived
    fetch(fresh_server.url, f"CREATE DATABASE {form}")
    restored = make_conninfo(fresh_server.url, dbname=form)
    file = str(tmp_path / "memories.dump")
    if form == "custom":  # as docs/howto/backup.md has it
        run([program("pg_dump"), "--format=custom", f"--file={file}", url])
        without = ["--exit-on-error", "--no-owner", "--no-privileges"]
        run([program("pg_restore"), *without, f"--dbname={restored}", file])
    else:
        run([program("pg_dump"), "--no-owner", "--no-privileges", f"--file={file}", url])
        run([program("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={file}", restored])
    migrate.upgrade(restored)
    assert fetch(restored, "SELECT problem FROM recall.access_problems()") == []
    assert fetch(restored, DEFINITIONS) == fetch(url, DEFINITIONS)
    after = all_answers(restored, "acme")
    kept = answers.keys() - {"languages"}  # those come with the server: 18 knows Estonian, 16 does not
    assert [name for name in kept if after[name] != answers[name]] == []
    assert [fetch(restored, sql) for sql in (STATISTICS, MEDIANS)] == [
        fetch(url, sql) for sql in (STATISTICS, MEDIANS)
    ]
    with Memory(restored, settings=Settings(embedder="none", tenant="acme")) as memory:
        assert memory.remember("a new one").id > max(row["id"] for row in answers["memories"])


def test_a_backend_that_is_killed_takes_nothing_with_it(fresh_server: EmbeddedServer) -> None:
    """The server ends all its backends then, and comes back by itself; the upgrade is tried again."""
    fetch(fresh_server.url, "CREATE DATABASE old")
    url = make_conninfo(fresh_server.url, dbname="old")
    take_to(url, "0001")
    fill(url, "0001")
    before = (catalogue(url), rows(url, "0001"))
    fetch(url, "CHECKPOINT")  # servers of tests report a commit before it is on disk
    with ThreadPoolExecutor(1) as threads, psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE recall.lexeme IN SHARE MODE")
        upgrade = threads.submit(migrate.upgrade, url, lock_retry=ONE_WAIT)
        [(pid,)] = until(lambda: fetch(url, WAITING, ("recall.lexeme",)), "a wait")
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(DatabaseUnavailable):
            upgrade.result(PATIENCE)
        with suppress(psycopg.OperationalError):
            holder.rollback()
    # The client hears of it before the postmaster does, which till then lets anybody in.
    until(lambda: gone(pid), "the end of a server process")
    until(lambda: _answers(url), "recovery")
    assert (catalogue(url), rows(url, "0001")) == before
    assert migrate.upgrade(url).changed
    assert settled(url) == []


def _answers(url: str) -> bool:
    try:
        return bool(fetch(url, "SELECT 1"))
    except psycopg.OperationalError:
        return False
