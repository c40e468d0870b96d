"""The job that backs up: names of its own, the newest kept, and nothing else in the folder touched."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.jobs.catalogue import job_named
from pgrecall.jobs.worker import Worker
from pgrecall.schema.backups.folder import BackupFolder
from pgrecall.schema.backups.restoring import restore_backup
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query
from tests.integration.export.export_tools import client

Made = Callable[..., Memory]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "backups"


@pytest.fixture
def worker_memory(database_url: str, folder: Path) -> Made:
    """A client whose worker backs up into the folder."""

    def made(**given: object) -> Memory:
        settings = replace(Settings(database_url=database_url, backup_dir=folder, backup_keep=3), **given)
        return Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS))

    return made


def test_the_newest_are_kept_and_others_left_alone(
    worker_memory: Made, folder: Path, database_url: str, empty_database: str
) -> None:
    database = conninfo_to_dict(database_url)["dbname"]
    folder.mkdir(parents=True)
    others = {
        "notes.txt", f"pgrecall-{database}x-20200101T000000Z.dump", f"pgrecall-{database}.dump",
        f"pgrecall-{database}-20200101T000000Z.dump.gz", f"pgrecall-{database}-cell2-20200101T000000Z.dump",
    }  # fmt: skip
    for name in others:
        (folder / name).write_text("mine")
    (folder / f"pgrecall-{database}-20200101T000000Z.dump").mkdir()
    left = folder / f"pgrecall-{database}-20200101T000000Z.dump.0123abcd.part"
    left.write_text("of a run that was killed")
    with worker_memory() as memory:
        memory.remember("The tide gauge at Skarvik.", key="gauge")
        outcomes = [memory.jobs.run("backup", now=NOW + timedelta(hours=hour))[0] for hour in range(5)]
    assert [(each.state, each.done, each.counts["deleted"]) for each in outcomes] == [
        ("done", 1, 0), ("done", 1, 0), ("done", 1, 0), ("done", 1, 1), ("done", 1, 1),
    ]  # fmt: skip
    mine = sorted(path for path in folder.iterdir() if path.is_file() and path.name not in others)
    assert [path.name for path in mine] == [
        f"pgrecall-{database}-20260601T{12 + hour}0000Z.dump" for hour in (2, 3, 4)
    ]
    assert outcomes[-1].counts["bytes"] == mine[-1].stat().st_size
    assert all((folder / name).read_text() == "mine" for name in others)
    restore_backup(empty_database, mine[-1])
    with client(empty_database, "default") as restored:
        assert restored.get("gauge").body == "The tide gauge at Skarvik."


def test_a_new_backup_outlives_those_of_a_clock_that_was_ahead(
    worker_memory: Made, folder: Path, database_url: str
) -> None:
    database = conninfo_to_dict(database_url)["dbname"]
    with worker_memory(backup_keep=2) as memory:
        for days in (365, 366, 0, 1, 2):
            [made] = memory.jobs.run("backup", now=NOW + timedelta(days=days))
            assert made.state == "done"
            newest = f"pgrecall-{database}-{NOW + timedelta(days=days):%Y%m%d}T120000Z.dump"
            assert newest in {path.name for path in folder.iterdir()}
    assert sorted(path.name[-21:-13] for path in folder.iterdir()) == ["20260602", "20260603"]


def test_a_worker_backs_up_where_it_has_a_folder(worker_memory: Made, folder: Path, query: Query) -> None:
    with worker_memory(backup_dir=None) as memory:
        assert "backup" not in {one.job for one in Worker(memory.jobs.runner()).run_once()}
        [refused] = memory.jobs.run("backup")
        assert (refused.state, refused.error) == ("failed", "There is no folder for backups.")
        assert any("The job backup failed" in alarm for alarm in memory.status().alarms)
    query("DELETE FROM recall.job_run")
    with worker_memory() as memory:
        [done] = [one for one in Worker(memory.jobs.runner()).run_once() if one.job == "backup"]
        assert (done.state, done.tenant) == ("done", "*")
        [state] = [job for job in memory.jobs.list() if job.name == "backup"]
        assert (state.state, state.minutes) == ("waiting", 1440)
        assert "backup" not in {one.job for one in Worker(memory.jobs.runner()).run_once()}
    [file] = folder.iterdir()
    assert re.fullmatch(r"pgrecall-\w+-\d{8}T\d{6}Z\.dump", file.name)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_failed_backup_deletes_nothing(worker_memory: Made, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file")
    with worker_memory() as memory:
        [done] = memory.jobs.run("backup")
    assert (done.state, done.permanent) == ("failed", True)
    assert "The folder of backups" in str(done.error)
    folder.unlink()
    with worker_memory(backup_keep=1) as memory:
        [first] = memory.jobs.run("backup", now=NOW)
        [again] = memory.jobs.run("backup", now=NOW)  # the name is taken
    assert (first.state, again.state) == ("done", "failed")
    assert len(list(folder.iterdir())) == 1


def test_a_role_for_backups_of_its_own(worker_memory: Made, folder: Path, database_url: str) -> None:
    from pgrecall.schema import roles

    role = conninfo_to_dict(database_url)["dbname"] + "_worker"
    roles.create(database_url, role, may="worker", tenant="*", password=None)
    try:
        own = Settings(database_url=make_conninfo(database_url, user=role)).database_url
        with worker_memory(database_url=own) as memory:
            [refused] = memory.jobs.run("backup")
        assert "needs a role that may read everything" in str(refused.error)
        with worker_memory(
            database_url=own, backup_url=Settings(backup_url=database_url).backup_url
        ) as memory:
            [done] = memory.jobs.run("backup")
        assert done.state == "done"
    finally:
        with psycopg.connect(database_url) as admin:
            admin.execute(f"DROP OWNED BY {role}".encode())
            admin.execute(f"DROP ROLE {role}".encode())


def test_a_cell_names_its_backups_after_itself(database_url: str, folder: Path, query: Query) -> None:
    query("""INSERT INTO recall.setting VALUES ('*', 'cell', '{"number": 3}')""")
    made, _ = BackupFolder(database_url, folder, 1).add(now=NOW)
    assert made.path is not None
    assert made.path.name.endswith("-cell3-20260601T120000Z.dump")


def test_no_program_is_one_sentence(
    database_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An empty PATH without the extra, and a program that is too old."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInput, match=r"need pg_dump of Postgres \d+ or newer; there is none") as none:
        BackupFolder(database_url, folder, 1).add()
    assert re.search(r"postgresql-client-\d+ on Debian and Ubuntu", none.value.hint)
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 15.4'\n")
    old.chmod(0o755)
    with pytest.raises(InvalidInput, match=r"pg_dump is of version 15"):
        BackupFolder(database_url, folder, 1).add()
    assert job_named("backup").backs_up
