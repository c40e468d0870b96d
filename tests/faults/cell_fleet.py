"""Two cells on servers that tests may kill, with processes of users, and a judgement of what is in them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from pgrecall import Memory
from pgrecall.cells.fleet import Fleet
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.cli.command_tools import environment
from tests.conftest import DIMENSIONS
from tests.faults.judging import sound
from tests.faults.victim import Victim

TENANTS = ("acme", "beta", "gamma")

SERVER = {
    "wal_level": "logical",
    "max_logical_replication_workers": "8",
    "max_sync_workers_per_subscription": "4",
    "wal_retrieve_retry_interval": "100ms",
}


@dataclass
class KillableCells:
    """The servers of cell 0, which has the directory too, and of cell 1."""

    victims: tuple[Victim, Victim]
    directory: str
    folder: Path
    users: subprocess.Popen[bytes] | None = None
    rounds: int = field(default=0)

    @property
    def fleet(self) -> Fleet:
        return Fleet(self.directory, timeout=20)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def ask(self, cell: int, sql: str, *values: object) -> list[dict[str, object]]:
        """The rows of a statement in one cell."""
        with psycopg.connect(self.victims[cell].url, row_factory=dict_row) as connection:
            return connection.execute(sql.encode(), values).fetchall()

    def start_users(self) -> None:
        """Starts a process of users: 8 writers and 4 searchers of three tenants."""
        self.rounds += 1
        module, prefix = "tests.faults.cell_users", f"p{self.rounds}"
        with (self.folder / "users.log").open("ab") as log:
            self.users = subprocess.Popen(
                [sys.executable, "-m", module, self.directory, str(self.ledger), prefix],
                env=environment(),
                stdout=log,
                stderr=log,
            )

    def kill_users(self) -> None:
        """kill -9 of that process."""
        if self.users is not None:
            self.users.send_signal(signal.SIGKILL)
            self.users.wait()
            self.users = None

    def noted(self, kind: str) -> list[list[str]]:
        """The lines of one kind in the ledger, without a last one that a kill has cut."""
        text = self.ledger.read_text() if self.ledger.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        return [words[1:] for words in (line.split("\t") for line in lines) if words[0] == kind]

    def judge(self, home: int) -> None:
        """Every tenant lives in one cell, with everything that was acknowledged, once; all of it is in order.

        Args:
            home: the cell in which acme has to live.
        """
        assert self.noted("broken") == []
        homes = {tenant: self._home(tenant) for tenant in TENANTS}
        assert homes == {"acme": home, "beta": 0, "gamma": 1}
        stored: dict[str, dict[str, int]] = {tenant: {} for tenant in TENANTS}
        for tenant, number, text in self.noted("stored"):
            assert text not in stored[tenant]
            stored[tenant][text] = int(number)
        used = Counter((tenant, int(number)) for tenant, number in self.noted("used"))
        for tenant, cell in homes.items():
            rows = self.ask(
                cell, "SELECT id, body FROM recall.memory WHERE tenant = %s AND body LIKE 'Note %%'", tenant
            )
            bodies = Counter(str(row["body"]) for row in rows)
            assert [body for body, times in bodies.items() if times > 1] == []
            there = {str(row["body"]): row["id"] for row in rows}
            assert {text: there.get(text) for text in stored[tenant]} == stored[tenant]
            uses = self.ask(
                cell,
                "SELECT memory_id, count(*) AS times FROM recall.access "
                "WHERE tenant = %s AND kind = 'used' AND memory_id = ANY (%s) GROUP BY 1",
                tenant,
                list(stored[tenant].values()),
            )
            counted = {row["memory_id"]: row["times"] for row in uses}
            assert {number for number, times in counted.items() if times != 1} == set()
            assert {number for name, number in used if name == tenant} <= set(counted)
            self._in_order(tenant, cell)
        self._nothing_is_left(home)

    def _home(self, tenant: str) -> int:
        """The one cell that takes the tenant for its own, which the directory has to know."""
        query = "SELECT FROM recall.resident WHERE tenant = %s AND state = 'here' AND cell IS NULL"
        here = [cell for cell in (0, 1) if self.ask(cell, query, tenant)]
        place = self.fleet.directory.find(tenant)
        assert place is not None
        assert here == [place.cell], tenant
        return place.cell

    def _in_order(self, tenant: str, cell: int) -> None:
        """Vitality is the exact sum over the log: to compute it anew changes nothing. `verify` is clean."""
        settings = Settings(tenant=tenant, embedder="hash", connect_timeout=20)
        with Memory(self.victims[cell].url, settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
            memory.maintenance.fold()
            assert memory.maintenance.rebuild() == 0
        sound(self.victims[cell].url, tenant, indexes=True)

    def _nothing_is_left(self, home: int) -> None:
        rows = self.ask(1 - home, "SELECT relation FROM recall_private.tenant_digests('acme') WHERE held > 0")
        assert rows == []
        for cell in (0, 1):
            for query in (
                "SELECT pubname FROM pg_publication",
                "SELECT subname FROM pg_subscription",
                "SELECT slot_name FROM pg_replication_slots",
                "SELECT roname FROM pg_replication_origin",
            ):
                assert self.ask(cell, query) == [], cell
        assert {finding.level for finding in self.fleet.check()} == {"ok"}


@contextmanager
def killable_cells(folder: Path) -> Iterator[KillableCells]:
    """Two servers with fsync in a folder, each with a cell; acme and beta live in cell 0, gamma in cell 1."""
    with ExitStack() as opened:
        victims = []
        for cell in (0, 1):
            server = opened.enter_context(EmbeddedServer.start(folder / str(cell)))
            with psycopg.connect(server.url, autocommit=True) as admin:
                for name, value in SERVER.items():
                    admin.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
                admin.execute(b"CREATE DATABASE cell")
            victim = Victim(server, "cell", "")
            victim.stop()
            victim.start()
            migrate.upgrade(victim.url, dimensions=DIMENSIONS)
            victims.append(victim)
        with psycopg.connect(victims[0].server.url, autocommit=True) as admin:
            admin.execute(b"CREATE DATABASE directory")
        directory = make_conninfo(victims[0].server.url, dbname="directory")
        made = KillableCells((victims[0], victims[1]), directory, folder)
        opened.callback(made.kill_users)
        for victim in victims:
            made.fleet.add(victim.url)
        for tenant, cell in zip(TENANTS, (0, 0, 1), strict=True):
            made.fleet.place(tenant, cell)
        yield made


def environment_of(cells: KillableCells) -> dict[str, str]:
    """What a command of an administrator of these cells finds in its environment."""
    return environment(cells=cells.directory) | {"PYTHONUNBUFFERED": "1", "PATH": os.environ["PATH"]}
