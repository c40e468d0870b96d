"""A database that is backed up, wrecked and restored is the same: every tenant answers as before."""

from __future__ import annotations

import stat
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall.errors import DatabaseError, DatabaseUnsuitable, InvalidInput, SchemaMismatch
from pgrecall.jobs.catalogue import job_named
from pgrecall.schema import migrate
from pgrecall.schema.aside import ASIDE
from pgrecall.schema.backups.making import make_backup
from pgrecall.schema.backups.programs import BrokenOff, find_program
from pgrecall.schema.backups.restoring import restore_backup
from tests.conftest import DIMENSIONS
from tests.databases import new_database
from tests.given_server import Server
from tests.integration.export.export_tools import client, lines_of
from tests.migration.old_schemas import fill, take_to
from tests.tenant_world import all_answers, fill_tenant

TENANTS = ("acme", "globex")


@pytest.fixture(scope="module", autouse=True)
def _programs(server: Server) -> None:
    """Skips the tests where no program fits a given server."""
    with psycopg.connect(server.url) as connection:
        try:
            find_program("pg_dump", connection.info.server_version)
        except InvalidInput as error:
            pytest.skip(error.message)


@pytest.fixture(scope="module", params=(1, 7))
def world(request: pytest.FixtureRequest, server: Server, template: str) -> Iterator[str]:
    """A database with two tenants, of which one has a vector table of its own."""
    for url in new_database(server, template):
        for number, tenant in enumerate(TENANTS):
            with client(url, tenant) as memory:
                fill_tenant(memory, url, seed=request.param + number)
        with client(url, "acme") as memory:
            runner = memory.jobs.runner()
            runner._task = type(runner._task)(batch=5)
            [moved] = runner.sweep(job_named("vectors"), ["acme"])
            assert moved.counts == {"moved": moved.done}
        let_in(url)
        yield url


def let_in(url: str) -> None:
    """Lets a reader, a page and a remote client into the tenants, and shares a memory."""
    with client(url, "acme") as acme, client(url, "globex") as globex:
        globex.readers.add("acme", may_share=True)
        acme.share(acme.remember("The gate is open.").id, "globex")
        acme.keys.create("agent", also_reads=["globex"])
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO recall.page_session (tenant, digest, key_id, ends_at) "
            "SELECT tenant, '\\x01', id, now() + '1 day' FROM recall.api_key"
        )
        connection.execute(
            "INSERT INTO recall.oauth_grant (tenant, digest, key_id, secret, access, terms, ends_at) "
            "SELECT tenant, '\\x02', id, '\\x03', '\\x04', '{\"scope\": \"read\"}', now() + '1 day' "
            "FROM recall.api_key"
        )


@pytest.fixture(scope="module")
def backup(world: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backups") / "world.dump"
    sizes: list[int] = []
    made = make_backup(world, path, progress=sizes.append)
    assert (made.path, made.bytes, made.revision) == (path, path.stat().st_size, migrate.head_revision())
    assert sizes[-1] == made.bytes
    return path


def exported(url: str) -> dict[str, list[str]]:
    found = {}
    for tenant in TENANTS:
        with client(url, tenant) as memory:
            found[tenant] = lines_of(memory)
    return found


def owners(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT DISTINCT relowner::regrole::text FROM pg_class "
            "WHERE relnamespace = 'recall'::regnamespace"
        ).fetchall()
    return {owner for (owner,) in rows}


def rows_of_all_tables(url: str) -> dict[str, list[str]]:
    """The rows of every table, as text, in an order of their own."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
            "WHERE schemaname IN ('recall', 'recall_private')"
        ).fetchall()
        return {
            table: sorted(row for (row,) in connection.execute(f"SELECT t::text FROM {table} t".encode()))
            for (table,) in tables
        }


def test_every_table_is_as_before(world: str, backup: Path, empty_database: str) -> None:
    """Also those that no export has: keys, grants of remote clients, sessions of the page, readers."""
    restore_backup(empty_database, backup)
    before, after = rows_of_all_tables(world), rows_of_all_tables(empty_database)
    assert [table for table in before if before[table] != after.get(table)] == []
    assert [
        name for name in ("api_key", "oauth_grant", "page_session", "reader") if not before[f"recall.{name}"]
    ] == []


def test_every_tenant_is_as_before(world: str, backup: Path, empty_database: str) -> None:
    steps: list[str] = []
    done = restore_backup(empty_database, backup, progress=steps.append)
    assert (done.revision, done.upgraded.left) == (migrate.head_revision(), ())
    assert steps == ["reading", "restoring", "upgrading", "analysing"]
    assert exported(empty_database) == exported(world)
    for tenant in TENANTS:
        assert all_answers(empty_database, tenant) == all_answers(world, tenant)
        with client(empty_database, tenant) as memory:
            assert [check.name for check in memory.maintenance.verify() if check.problems] == []
            assert memory.remember("A memory of after.").outcome == "created"
    assert owners(empty_database) == owners(world)
    assert not migrate.upgrade(empty_database).changed


def test_a_wreck_is_replaced(world: str, backup: Path, server: Server) -> None:
    name = conninfo_to_dict(world)["dbname"]
    for wreck in new_database(server, str(name)):
        with psycopg.connect(wreck) as connection:
            connection.execute("TRUNCATE recall.access; DELETE FROM recall.memory WHERE tenant = 'globex'")
        wrecked = exported(wreck)
        with pytest.raises(InvalidInput, match="has tables of pgrecall already"):
            restore_backup(wreck, backup)
        assert exported(wreck) == wrecked
        restore_backup(wreck, backup, replace=True)
        assert exported(wreck) == exported(world)
        with psycopg.connect(wreck) as connection:
            left = connection.execute(
                "SELECT FROM pg_namespace WHERE nspname ~ '_before_restore$'"
            ).fetchall()
        assert left == []


@pytest.mark.parametrize("share", [0.0001, 0.02, 0.5, 0.99])
def test_a_cut_file_changes_nothing(
    share: float, backup: Path, database_url: str, tmp_path: Path, empty_database: str
) -> None:
    cut = tmp_path / "cut.dump"
    content = backup.read_bytes()
    cut.write_bytes(content[: int(len(content) * share)])
    with client(database_url, "acme") as memory:
        memory.remember("The one that is here.", key="here")
        with pytest.raises((InvalidInput, DatabaseError)):
            restore_backup(database_url, cut, replace=True)
        assert memory.get("here").body == "The one that is here."
    with pytest.raises((InvalidInput, DatabaseError)):
        restore_backup(empty_database, cut)
    assert migrate.inspect(empty_database).revision is None


def test_bytes_that_are_no_text_are_refused_with_the_name_of_the_file(
    database_url: str, tmp_path: Path, empty_database: str
) -> None:
    with client(database_url, "acme") as memory:
        memory.remember("The winch is in the boat house.")
    file = tmp_path / "changed.dump"
    make_backup(database_url, file)
    content = file.read_bytes()
    at = content.find(b"boat house")
    at = at if at >= 0 else len(content) - 200  # this pg_dump compresses: the end of a block is wrong
    file.write_bytes(content[:at] + b"\xff\xfe" * 5 + content[at + 10 :])
    with pytest.raises(DatabaseError, match=r"changed\.dump cannot be restored: ") as refused:
        restore_backup(empty_database, file)
    assert "Nothing was changed" in refused.value.hint
    assert migrate.inspect(empty_database).revision is None


def test_a_restore_that_was_killed_can_be_undone(backup: Path, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for name, aside in ASIDE.items():
            connection.execute(f"ALTER SCHEMA {name} RENAME TO {aside}".encode())
        with pytest.raises(InvalidInput, match="an earlier restore was killed") as refused:
            restore_backup(database_url, backup, replace=True)
        with pytest.raises(SchemaMismatch, match="set aside in the schema recall_before_restore"):
            migrate.upgrade(database_url)  # no empty memories beside them
        assert migrate.inspect(database_url).revision is None
        undo = refused.value.hint.partition("have them back: ")[2].partition(" to give")[0]
        connection.execute(undo.encode())
    assert migrate.inspect(database_url).revision == migrate.head_revision()


def test_what_is_left_of_memories_that_were_dropped_is_refused(backup: Path, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA recall CASCADE")
        with pytest.raises(SchemaMismatch, match=r"schema recall_private, and recall.* is gone") as refused:
            restore_backup(database_url, backup)
        with pytest.raises(SchemaMismatch, match=r"schema recall_private, and recall.* is gone"):
            migrate.upgrade(database_url, dimensions=DIMENSIONS)
        connection.execute(refused.value.hint.partition(": ")[2].encode())
    assert restore_backup(database_url, backup).upgraded.left == ()


def test_an_older_backup_is_upgraded_and_a_newer_one_refused(
    server: Server, database_url: str, tmp_path: Path, empty_database: str
) -> None:
    for old in new_database(server, "template1"):
        take_to(old, "0012")
        fill(old, "0012")
        assert make_backup(old, tmp_path / "old.dump").revision == "0012"
    done = restore_backup(empty_database, tmp_path / "old.dump")
    assert (done.revision, done.upgraded.after.revision) == ("0012", migrate.head_revision())
    with client(empty_database, "acme") as memory:
        assert memory.status().memories > 0
        assert [check.name for check in memory.maintenance.verify() if check.problems] == []
    for revision, words in (("9999", "newer than this pgrecall"), ("huh", "never a revision")):
        with psycopg.connect(database_url) as connection:
            connection.execute("UPDATE recall.alembic_version SET version_num = %s", (revision,))
        make_backup(database_url, tmp_path / revision)
        for target in new_database(server, "template1"):
            with pytest.raises(SchemaMismatch, match=words):
                restore_backup(target, tmp_path / revision)
            assert migrate.inspect(target).revision is None


def test_only_a_role_that_reads_everything_backs_up(
    world: str, backup: Path, server: Server, tmp_path: Path, empty_database: str
) -> None:
    """Row security would leave out rows without a word."""
    role = f"keeper_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN".encode())
        try:
            admin.execute(f"GRANT recall_worker TO {role}".encode())
            url = make_conninfo(world, user=role)
            with pytest.raises(
                DatabaseUnsuitable, match="A backup needs a role that may read everything"
            ) as no:
                make_backup(url, tmp_path / "thin.dump")
            assert f"GRANT recall_owner TO {role}" in no.value.hint
            assert list(tmp_path.iterdir()) == []
            admin.execute(f"GRANT recall_owner TO {role} WITH INHERIT FALSE, SET TRUE".encode())
            make_backup(url, tmp_path / "whole.dump")
        finally:
            admin.execute(f"DROP ROLE {role}".encode())
    restore_backup(empty_database, tmp_path / "whole.dump")
    assert exported(empty_database) == exported(world)


def test_a_backup_is_private_and_replaces_nothing_unasked(database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.dump"
    path.write_text("mine")
    with pytest.raises(InvalidInput, match=r"kept\.dump exists already"):
        make_backup(database_url, path)
    assert path.read_text() == "mine"
    link = tmp_path / "link.dump"
    link.symlink_to(path)
    make_backup(database_url, link, replace=True)
    assert link.is_symlink()
    assert path.read_bytes().startswith(b"PGDMP")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {each.name for each in tmp_path.iterdir()} == {"kept.dump", "link.dump"}


@pytest.mark.parametrize("where", ["missing/x.dump", "", "a" * 300, "/dev/null", "/proc/x.dump"])
def test_a_place_that_cannot_be_written(where: str, database_url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        make_backup(database_url, tmp_path / where, replace=True)
    assert list(tmp_path.iterdir()) == []
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_backup_that_is_stopped_leaves_nothing(database_url: str, tmp_path: Path) -> None:
    stop = Event()
    with psycopg.connect(database_url) as holder:
        holder.execute("LOCK TABLE recall.memory")  # pg_dump waits for it
        with pytest.raises(BrokenOff):
            make_backup(database_url, tmp_path / "x.dump", stop=stop, progress=lambda _: stop.set())
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_backup_is_refused(empty_database: str, tmp_path: Path) -> None:
    other, text = tmp_path / "other.dump", tmp_path / "export.jsonl"
    text.write_text('{"pgrecall": "export"}\n')
    with pytest.raises(InvalidInput, match="is not a backup"):
        restore_backup(empty_database, text)
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        restore_backup(empty_database, tmp_path / "none.dump")
    with pytest.raises(SchemaMismatch, match="nothing to back up"):
        make_backup(empty_database, other)
    with psycopg.connect(empty_database) as connection:
        program = find_program("pg_dump", connection.info.server_version)
    subprocess.run([program, "--format=custom", f"--file={other}", f"--dbname={empty_database}"], check=True)
    with pytest.raises(InvalidInput, match="is a dump of another database"):
        restore_backup(empty_database, other)
    newer = bytearray(other.read_bytes())
    newer[6] += 100  # the second part of the version of its format
    other.write_bytes(newer)
    with pytest.raises(InvalidInput, match="unsupported version") as refused:
        restore_backup(empty_database, other)
    assert refused.value.hint.startswith("A pg_dump newer than ")
