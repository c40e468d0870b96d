"""Both cells and the directory are restored from their archives to a common restore point."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.cells import restore_points
from pgrecall.cells.moves.move import Mover
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import InvalidInput
from pgrecall.schema import migrate
from tests.conftest import DIMENSIONS
from tests.faults.victim import Victim
from tests.given_server import own_server_only
from tests.integration.cells.conftest import Installation
from tests.waiting import until

POINT = "before-the-accident"


class Archived:
    """A server that archives its log; its backup can be restored in its place."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._archive = folder, folder.with_name(f"{folder.name}-archive")
        first = EmbeddedServer.start(folder)
        with first, psycopg.connect(first.url, autocommit=True) as admin:
            self._archive.mkdir(mode=0o777)
            self._archive.chmod(0o777)
            for name, value in {
                "wal_level": "logical",
                "archive_mode": "on",
                "archive_command": f"cp %p {self._archive}/%f",
                "autovacuum": "off",
            }.items():
                admin.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        self.victim = Victim(EmbeddedServer.start(folder), "postgres", "")

    def back_up(self) -> None:
        """An online base backup, as of Postgres's low-level interface."""
        with self.victim.admin() as admin:
            admin.execute("SELECT pg_backup_start('base', true)")
            shutil.copytree(self._data, self._backup, ignore=shutil.ignore_patterns("postmaster.*", "pg_wal"))
            row = admin.execute("SELECT labelfile FROM pg_backup_stop()").fetchone()
        assert row is not None
        (self._backup / "pg_wal").mkdir()
        (self._backup / "backup_label").write_text(row[0])

    def restore(self) -> None:
        """The backup in place of the data, recovered from the archive to the restore point."""
        owner = self._data.stat()
        self.victim.stop()
        shutil.rmtree(self._data)
        shutil.copytree(self._backup, self._data)
        with (self._data / "postgresql.auto.conf").open("a") as settings:
            settings.write(
                f"restore_command = 'cp {self._archive}/%f %p'\nrecovery_target_name = '{POINT}'\n"
                "recovery_target_action = 'promote'\narchive_mode = 'off'\n"
            )
        (self._data / "recovery.signal").touch()
        self._data.chmod(0o700)
        for path in (self._data, *self._data.rglob("*")):
            shutil.chown(path, owner.st_uid, owner.st_gid)
        self.victim.start()
        with self.victim.admin() as admin:
            until(lambda: admin.execute("SELECT pg_is_in_recovery()").fetchone() == (False,), "promotion")

    @property
    def _data(self) -> Path:
        return self._folder / "postgres"

    @property
    def _backup(self) -> Path:
        return self._folder.with_name(f"{self._folder.name}-backup")


@pytest.fixture
def servers() -> Iterator[list[Archived]]:
    """A server for cell 0 and the directory, and one for cell 1."""
    own_server_only("needs servers of its own, and their archives")
    folder = Path(tempfile.mkdtemp(prefix="pgr-points-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with ExitStack() as stack:
            made = []
            for name in ("zero", "one"):
                made.append(Archived(folder / name))
                stack.callback(made[-1].victim.server.release)
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_all_are_restored_to_a_common_point(servers: list[Archived]) -> None:
    cells = [make_conninfo(server.victim.server.url, dbname="cell") for server in servers]
    directory = make_conninfo(servers[0].victim.server.url, dbname="directory")
    for server in servers:
        with server.victim.admin() as admin:
            admin.execute("CREATE DATABASE cell")
            admin.execute("CREATE DATABASE directory")
    for cell in cells:
        migrate.upgrade(cell, dimensions=DIMENSIONS)
    installation = Installation(directory, cells).add(0, 1)
    with installation.opened:
        for number, tenant in enumerate(("acme", "beta")):
            installation.fleet.place(tenant, number)
            installation.memory(tenant).remember(f"The winch of {tenant}.", key="winch")
        for server in servers:
            server.back_up()
        Mover(installation.fleet).move("acme", 1)
        for tenant in ("acme", "beta"):
            installation.memory(tenant).remember("Before the accident.", key="before")
        points = restore_points.make(installation.fleet, POINT)
        assert len(points) == 2  # the directory is in a server of a cell
        assert "/directory" in points[-1].address
        for tenant in ("acme", "beta"):
            installation.memory(tenant).remember("After it.", key="after")
        Mover(installation.fleet).move("beta", 0)
        for server in servers:
            with server.victim.admin() as admin:
                admin.execute("SELECT pg_switch_wal()")
    for server in servers:
        server.restore()
    with installation.opened:
        assert not [found for found in installation.fleet.check() if found.level == "fail"]
        assert {place.tenant: place.cell for place in installation.fleet.directory.places()} == {
            "acme": 1,
            "beta": 1,
        }
        for tenant in ("acme", "beta"):
            client = installation.memory(tenant)
            assert {memory.key for memory in client.list()} == {"winch", "before"}
            assert not [check for check in client.maintenance.verify() if check.problems]
            client.remember("Life goes on.")
        Mover(installation.fleet).finish("acme")
        Mover(installation.fleet).move("beta", 0)
        assert not [found for found in installation.fleet.check() if found.level == "fail"]


def test_no_restore_point_while_a_tenant_is_copied(two_cells: Installation) -> None:
    two_cells.fleet.place("acme", 0)
    two_cells.fleet.directory.run(
        "INSERT INTO recall_cells.move (tenant, source, target) VALUES ('acme', 0, 1)"
    )
    with pytest.raises(InvalidInput, match=r"^Tenant acme is being copied from cell 0 to 1\."):
        restore_points.make(two_cells.fleet, POINT)
    with pytest.raises(InvalidInput, match="is empty or too long"):
        restore_points.make(two_cells.fleet, "x" * 64)
