"""A Postgres server that tests may kill: its processes, their deaths, and how long it takes to come back."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from pgrecall.embedded.shared_server import EmbeddedServer
from tests.waiting import gone, until

ACTIVE = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' "
    "AND pid <> pg_backend_pid() AND query LIKE '%%' || %s || '%%'"
)
WAITING = ACTIVE + " AND wait_event_type = 'Lock'"


@dataclass
class Victim:
    """A server of the tests' own, with a database in it; it runs with fsync, as users run it."""

    server: EmbeddedServer
    database: str
    address: str

    @property
    def url(self) -> str:
        return make_conninfo(self.server.url, dbname=self.database)

    @property
    def remote_url(self) -> str:
        """The same over TCP."""
        return make_conninfo(self.url, host=self.address, sslmode="disable")

    @contextmanager
    def admin(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection beside those under test; it may die meanwhile."""
        with closing(psycopg.connect(self.url, autocommit=True)) as connection:
            yield connection

    def answers(self) -> bool:
        """Whether it takes statements now."""
        try:
            with self.admin() as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:  # in recovery, or not there
            return False
        return True

    def kill_backend(self, pid: int) -> None:
        """kill -9 of one server process: Postgres then ends all others and recovers from its log."""
        os.kill(pid, signal.SIGKILL)
        until(lambda: gone(pid), "the end of a server process")
        until(self.answers, "recovery")

    def kill(self) -> None:
        """kill -9 of the postmaster and of every process of it, as when the machine's memory runs out."""
        pid = int((self.server.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
        children = psutil.Process(pid).children()
        os.kill(pid, signal.SIGKILL)
        for process in children:
            with suppress(psutil.NoSuchProcess):  # a backend that ended by itself
                process.kill()
        # One that was forked meanwhile may wait for ever for something that a dead one holds.
        until(lambda: not self._killed_orphans(), "the end of all processes")

    def _killed_orphans(self) -> int:
        """How many processes of the server were still there, and were killed."""
        home = str(self.server.data_dir / "postgres")
        killed = 0
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.cwd() == home:
                    process.kill()
                    killed += 1
        return killed

    def stop(self) -> None:
        """The fast shutdown of an administrator: connections are cut, transactions rolled back."""
        pid = int((self.server.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGINT)
        until(lambda: gone(pid), "the shutdown")

    def start(self) -> None:
        """Starts it again, as whoever uses the embedded server next does."""
        EmbeddedServer.start(self.server.data_dir).release()
        until(self.answers, "the start")
