"""Servers with Citus, from the programs in the folder that PGRECALL_TEST_CITUS names."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from pgrecall.embedded.paths import resolve_paths, run_as

CITUS = os.environ.get("PGRECALL_TEST_CITUS") or None
"""A folder with the programs of a Postgres that has Citus and pgvector; None where there is none."""

DATABASE = "recall"
"""Citus wants the same name of the database on every node."""

_CONFIGURATION = """
shared_preload_libraries = 'citus'
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
wal_level = logical
max_prepared_transactions = 100
max_worker_processes = 24
max_connections = 60
max_logical_replication_workers = 8
wal_retrieve_retry_interval = '100ms'
shared_buffers = '64MB'
fsync = off
autovacuum = off
jit = off
timezone = 'UTC'
citus.node_conninfo = 'sslmode=disable'
citus.enable_statistics_collection = off
citus.max_background_task_executors = 1
"""
# Citus brings a plugin for logical decoding, which new versions want named.
_PLUGINS = "output_plugin_libraries = 'pgoutput, test_decoding, citus'\n"


@dataclass(frozen=True, slots=True)
class Node:
    """A running server."""

    port: int
    folder: Path

    @property
    def url(self) -> str:
        """Its database of the installation, as a superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def main(self) -> int:
        """The id of its first process."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])


@contextmanager
def citus_nodes(count: int) -> Iterator[list[Node]]:
    """Servers with an empty database each, in which there is Citus; removed afterwards."""
    assert CITUS is not None
    folder = Path(tempfile.mkdtemp(prefix="pgr-citus-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with ExitStack() as opened:
            yield [opened.enter_context(_node(folder / str(number), Path(CITUS))) for number in range(count)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _node(folder: Path, programs: Path) -> Iterator[Node]:
    folder.mkdir(mode=0o755)
    paths = resolve_paths(folder)
    if os.geteuid() == 0:
        os.chown(folder, paths.account.uid, paths.account.gid)
    port, data = _free_port(), folder / "data"

    def run(program: str, *arguments: str | Path) -> None:
        done = run_as(paths.account, [programs / program, *arguments])
        assert done.returncode == 0, done.stdout

    locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--lc-ctype=C.UTF-8")
    run("initdb", "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--no-sync", *locale)
    text = _CONFIGURATION.format(port=port, folder=folder)
    with (data / "postgresql.conf").open("a") as file:
        file.write(text + (_PLUGINS if _wants_plugins(programs) else ""))
    run("pg_ctl", "-D", data, "-l", folder / "log", "-w", "-t", "60", "start")
    try:
        node = Node(port, folder)
        with psycopg.connect(make_conninfo(node.url, dbname="postgres"), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {DATABASE}")
        with psycopg.connect(node.url, autocommit=True) as admin:
            admin.execute("CREATE EXTENSION citus")
        yield node
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def _wants_plugins(programs: Path) -> bool:
    """Whether the setting is known: the program that describes all is refused to root."""
    return b"output_plugin_libraries" in (programs / "postgres").read_bytes()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
