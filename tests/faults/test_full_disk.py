"""A full disk: imports say so, reading goes on, and once there is room everything does."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Draft, Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import DatabaseError, DatabaseUnavailable
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import alone, dropped
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.faults.victim import Victim
from tests.given_server import embedded_only

pytestmark = pytest.mark.fault

MANY = 90
A_BATCH = 34
"""Drafts of 60,000 characters that an import stores at a time: as many as begin within 2,000,000."""
SIGNS = bytes(b"!$%()*,;=?^|~"[value % 13] for value in range(256))


def mount(folder: Path, options: str) -> None:
    """Mounts a file system in memory; skips the test where that is not permitted."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pgr-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        mount(folder, f"size={megabytes}m,mode=0755")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def drafts() -> Iterator[Draft]:
    """Notes that no compression makes small, and that fill a small disk long before their end."""
    dice = random.Random(7)
    for place in range(MANY):
        signs = dice.randbytes(60_000).translate(SIGNS).decode()
        yield Draft(f"The harbour {place} {signs}", key=f"n{place}", source="vault")


@contextmanager
def opened(url: str) -> Iterator[Memory]:
    settings = Settings(database_url=url, tenant="acme", embedder="none")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        yield memory


def stored(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM recall.memory").fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture
def cramped(victim: Victim) -> Iterator[tuple[str, Path]]:
    """The URL of a database on a disk of its own that is soon full, while the log of the server has room."""
    with small_disk(17) as disk:
        owner = (victim.server.data_dir / "postgres").stat()
        os.chown(disk, owner.st_uid, owner.st_gid)
        with victim.admin() as admin:
            # Else each new connection writes its cache of the catalogue anew, for which there is no room.
            admin.execute("ALTER SYSTEM SET autovacuum = off")
            admin.execute("SELECT pg_reload_conf()")
            admin.execute(f"CREATE TABLESPACE small LOCATION '{disk}'".encode())
            alone(admin, "CREATE DATABASE cramped TABLESPACE small")
            try:
                url = make_conninfo(victim.url, dbname="cramped")
                migrate.upgrade(url, dimensions=DIMENSIONS)
                with psycopg.connect(url) as roomy:  # as they are, texts fill the disk sooner
                    roomy.execute("ALTER TABLE recall.memory ALTER COLUMN body SET STORAGE EXTERNAL")
                    # The next upgrade finds no digest of the functions, and replaces them all.
                    roomy.execute("COMMENT ON SCHEMA recall_private IS NULL")
                yield url, disk
            finally:
                dropped(admin, "cramped")
                admin.execute("DROP TABLESPACE small")
                admin.execute("ALTER SYSTEM RESET autovacuum")
                admin.execute("SELECT pg_reload_conf()")


def test_a_disk_that_is_full(cramped: tuple[str, Path], inject: Inject) -> None:
    url, disk = cramped
    with opened(url) as memory:
        twice = [memory.remember(f"The crane waits for the tide, says {name}", key=name).id for name in "ab"]
        merge = memory.plans.merge(twice[0], twice[1:])
        works: dict[str, Callable[[], object]] = {
            "apply": lambda: memory.plans.apply(merge.id),
            "fold": lambda: memory.maintenance.fold(),
            "upgrade": lambda: migrate.upgrade(url),
        }
        with pytest.raises(
            DatabaseError, match="The disk of Postgres is full; nothing was changed"
        ) as caught:
            memory.import_drafts(drafts(), source="vault")
        inject("a full disk")
        assert caught.value.sqlstate == "53100"
        assert "Free some space" in caught.value.hint
        kept = stored(url) - len(twice)
        assert 0 < kept < MANY
        assert kept % A_BATCH == 0, "a batch is half there"
        sound(url, "acme")

        fill(disk)
        for key in ("n0", f"n{kept - 1}"):
            assert memory.get(key).key == key
        results = [memory.search("harbour", k=5) for _ in range(20)]  # some still find a page with room
        assert {len(result.hits) for result in results} == {5}
        assert results[-1].search_id is None
        assert any(reason.startswith("log: the disk of Postgres is full") for reason in results[-1].skipped)
        left = [name for name, work in works.items() if not done(work)]
        assert "upgrade" in left  # the others may find room in their pages
        sound(url, "acme")

        mount(disk, "remount,size=400m")
        assert all(done(works[name]) for name in left)
        assert memory.get("b").superseded_by == twice[0]
        assert memory.search("harbour", k=5).search_id is not None
        report = memory.import_drafts(drafts(), source="vault")
        assert (report.created, report.unchanged) == (MANY - kept, kept)
    sound(url, "acme", indexes=True)


def done(work: Callable[[], object]) -> bool:
    """Whether there was room for it; else nothing of it is there."""
    try:
        work()
    except DatabaseError as full:
        if "The disk of Postgres is full; nothing was changed" not in full.message:
            raise
        return False
    return True


def fill(disk: Path, leaving: int = 0) -> Path:
    """Takes what room is left, but for so many bytes."""
    filler = disk / "filler"
    room = os.statvfs(disk)
    with filler.open("wb") as file:
        try:
            for _ in range(max(0, (room.f_bavail * room.f_frsize - leaving) // 4096)):
                file.write(bytes(4096))
        except OSError:  # as full as can be
            pass
    return filler


@embedded_only("fills the disk of its server")
def test_a_disk_too_full_for_the_log_of_the_server(inject: Inject) -> None:
    with small_disk(160) as disk:
        home = disk / "data"
        with EmbeddedServer.start(home) as server:
            url = server.url
            migrate.upgrade(url, dimensions=DIMENSIONS)
            with opened(url) as memory:
                memory.remember("The harbour opens at six", key="before")
                filler = fill(disk, leaving=2 * 2**20)
                inject("a disk too full for the log")
                with pytest.raises(DatabaseError) as caught:
                    memory.import_drafts(drafts(), source="vault")
                assert caught.value.message.endswith(".")
                assert caught.value.hint
            restarted_in_vain(home)
        filler.unlink()
        with EmbeddedServer.start(home) as server:
            kept = stored(server.url)
            assert kept % A_BATCH == 1, "what was stored before, and whole batches"
            sound(server.url, "acme", indexes=True)
            with opened(server.url) as memory:
                assert memory.get("before").key == "before"
                assert memory.remember("The ferry leaves at nine").outcome == "created"


def restarted_in_vain(home: Path) -> None:
    """Where the server ended, a start without room says why; where it lives, it is just used."""
    try:
        EmbeddedServer.start(home).release()
    except DatabaseUnavailable as error:
        assert "No space left on device" in str(error)  # noqa: PT017
