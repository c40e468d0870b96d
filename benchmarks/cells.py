"""What cells cost: the check of the tenant, the way through the directory, moves, and what two give.

    python -m benchmarks.cells [paths] [move] [pinned] [--memories 10000] [--rounds 200]

Starts three servers of its own, with a directory and a cell each.

paths     the time of ``recall.current_tenant()`` with one database and with two cells; the processor time of
          a search on each node, by the cell's URL and by the directory; and what the other cell did
move      how long the move of a tenant took, for how long its writers waited, and what both servers spent
pinned    searches a second of one cell on one core, and of two cells on a core each, with every client on
          the core of its cell; where others use the cores too, compare searches by second of CPU

The router on Citus is measured by benchmarks/router.py.
All servers are on one machine, so a move competes with itself for its cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.cell_data import DIMENSIONS, fill
from pgrecall import Memory
from pgrecall.cells.fleet import Fleet
from pgrecall.cells.moves.move import Mover
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings

CALLS = 20_000
QUERY = "word1 word2 word3"
PINNED_SECONDS = 20.0
WRITERS = 2
_CALLS = (
    "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
    f"SELECT recall.current_tenant() FROM generate_series(1, {CALLS})"
)
# Rows that scans returned, without those of catalogues, which every new session reads.
_ROWS = (
    "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_user_tables "
    "WHERE schemaname = 'recall'"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A server with one database."""

    server: EmbeddedServer
    url: str

    def processes(self) -> list[psutil.Process]:
        main = int((self.server.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
        return [psutil.Process(main), *psutil.Process(main).children(recursive=True)]

    def cpu(self) -> float:
        """Seconds of CPU of the server with what it has started, and of what has ended."""
        spent = 0.0
        for number, process in enumerate(self.processes()):
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            spent += times.user + times.system
            spent += times.children_user + times.children_system if number == 0 else 0.0
        return spent

    def rows(self) -> int:
        """Rows of memories, and of all that belongs to them, that were read here so far."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(_ROWS.encode()).fetchone()
            return int(row[0]) if row else 0


@contextmanager
def nodes() -> Iterator[tuple[Node, Node, Node]]:
    """Throw-away servers: of the directory, of cell 0 and of cell 1."""
    folder = Path(tempfile.mkdtemp(prefix="pgr-cells-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with ExitStack() as opened:
            made = [opened.enter_context(_node(folder / name, name)) for name in ("directory", "one", "two")]
            yield made[0], made[1], made[2]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _node(data: Path, name: str) -> Iterator[Node]:
    first = EmbeddedServer.start(data)
    with first, psycopg.connect(first.url, autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET wal_level = 'logical'")
        admin.execute("ALTER SYSTEM SET autovacuum = off")  # it would be counted with whatever is measured
    with EmbeddedServer.start(data) as server:
        with psycopg.connect(server.url, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name}".encode())
        url = make_conninfo(server.url, dbname=name)
        if name != "directory":
            migrate.upgrade(url, dimensions=DIMENSIONS)
        yield Node(server, url)


def call_time(url: str) -> float:
    """Microseconds of one call of ``recall.current_tenant()``, the least of 9 rounds."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT set_config('recall.tenant', 'acme', false), set_config('jit', 'off', false)"
        )
        rounds = [connection.execute(_CALLS.encode()).fetchone() for _ in range(9)]
    return min(float(row[0][0]["Execution Time"]) for row in rounds if row) / CALLS * 1000


def client_cpu(actions: list[Callable[[], object]], rounds: int) -> list[float]:
    """Median milliseconds of this process's CPU for each action; they take turns."""
    spent: list[list[float]] = [[] for _ in actions]
    for turn in range(rounds + 5):
        for number, action in enumerate(actions):
            began = time.process_time()
            action()
            if turn >= 5:
                spent[number].append((time.process_time() - began) * 1000)
    return [median(taken) for taken in spent]


def client(url: str, tenant: str, *, cells: bool = False) -> Memory:
    settings, embedder = Settings(tenant=tenant, embedder="hash"), HashEmbedder(DIMENSIONS)
    if cells:
        return Memory(cells=url, settings=settings, embedder=embedder)
    return Memory(url, settings=settings, embedder=embedder)


def paths(directory: Node, one: Node, two: Node, alone: float, rounds: int) -> None:
    """The ways to a search, which runs in cell one."""
    print(f"current_tenant(): {alone:.2f} us alone, {call_time(one.url):.2f} us with two cells")
    with client(directory.url, "acme", cells=True) as routed, client(one.url, "acme") as direct:
        ways: list[Callable[[], object]] = [
            lambda: direct.search(QUERY, log=False),
            lambda: routed.search(QUERY, log=False),
        ]
        times = client_cpu(ways, rounds)
        print(f"client CPU of a search: {times[0]:.3f} ms direct, {times[1]:.3f} ms by the directory")
        for name, way in zip(("direct", "by the directory"), ways, strict=True):
            servers, rows = (directory, one, two), two.rows()
            before = [node.cpu() for node in servers]
            for _ in range(rounds):
                way()
            spent = [(node.cpu() - was) / rounds * 1000 for node, was in zip(servers, before, strict=True)]
            print(
                f"server CPU of a search, {name}: cell {spent[1]:.2f} ms, directory {spent[0]:.3f} ms, "
                f"other cell {spent[2]:.3f} ms and {two.rows() - rows} rows in {rounds} searches"
            )


class Writers:
    """Threads that write to acme ten times a second each, and how long each write took."""

    def __init__(self, directory: Node) -> None:
        self.waited: list[float] = []
        self._stop = threading.Event()
        self._directory = directory
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, writer: int) -> None:
        with client(self._directory.url, "acme", cells=True) as memory:
            number = 0
            while not self._stop.wait(0.1):
                began = time.monotonic()
                memory.remember(f"Written by {writer} while it moves: {number}.", compare=False)
                self.waited.append(time.monotonic() - began)
                number += 1


class Steps:
    """Prints each step of a move with the seconds since the beginning."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, sentence: str) -> None:
        done, _, tables = sentence.partition(" of ")
        if not tables or tables.split()[0] == done:  # of the tables that are copied only the last one
            print(f"{time.monotonic() - self._began:7.1f} s  {sentence}", flush=True)


def move(directory: Node, one: Node, two: Node, memories: int) -> None:
    """The move of acme to cell two while others write to it, and the end of it."""
    mover, before = Mover(Fleet(directory.url), Steps()), one.cpu() + two.cpu()
    with Writers(directory) as writers:
        moved = mover.move("acme", 1)
    spent = one.cpu() + two.cpu() - before
    print(
        f"move of {memories:,} memories: {moved.seconds:.1f} s, writers stopped for {moved.stopped:.2f} s, "
        f"server CPU {spent:.1f} s; {len(writers.waited):,} writes meanwhile, median "
        f"{median(writers.waited) * 1000:.0f} ms, longest {max(writers.waited):.2f} s"
    )
    began = time.monotonic()
    deleted = mover.finish("acme")
    print(f"{deleted:,} rows deleted at the source in {time.monotonic() - began:.1f} s")


def pinned(one: Node, two: Node) -> None:
    """Searches a second of one cell on a core, and of two."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("pinned: this needs two cores")
        return
    for node, core in zip((one, two), cores, strict=True):
        for process in node.processes():
            process.cpu_affinity([core])
    acme, beta = ((one, "acme", cores[0]), (two, "beta", cores[1]))
    for name, served in (("one cell", [acme]), ("two cells", [acme, beta]), ("one cell again", [acme])):
        before = sum(node.cpu() for node, _, _ in served)
        with multiprocessing.get_context("spawn").Pool(len(served)) as pool:
            done = pool.starmap(_search_for, [(node.url, tenant, core) for node, tenant, core in served])
        spent = sum(node.cpu() for node, _, _ in served) - before + sum(cpu for _, cpu in done)
        count = sum(searches for searches, _ in done)
        print(
            f"{name}: {count / PINNED_SECONDS:.1f} searches/s, {count / spent:.1f} by second of CPU, "
            f"which it had {spent / PINNED_SECONDS / len(served):.0%} of"
        )


def _search_for(url: str, tenant: str, core: int) -> tuple[int, float]:
    """Searches for a while on one core; returns how often, and the CPU of this process."""
    os.sched_setaffinity(0, {core})
    with client(url, tenant) as memory:
        for _ in range(5):
            memory.search(QUERY, log=False)
        count, deadline, began = 0, time.monotonic() + PINNED_SECONDS, time.process_time()
        while time.monotonic() < deadline:
            memory.search(QUERY, log=False)
            count += 1
        return count, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="paths, move, pinned; all without any")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    chosen = parser.parse_args()
    parts = chosen.parts or ["paths", "pinned", "move"]
    with nodes() as (directory, one, two):
        alone = call_time(one.url) if "paths" in parts else 0.0
        fleet = Fleet(directory.url)
        for node in (one, two):
            fleet.add(node.url)
        fleet.place("acme", 0)
        fleet.place("beta", 1)
        fill(one.url, "acme", chosen.memories, indexed=parts != ["move"])
        if "paths" in parts:
            paths(directory, one, two, alone, chosen.rounds)
        if "pinned" in parts:
            fill(two.url, "beta", chosen.memories)
            pinned(one, two)
        if "move" in parts:
            move(directory, one, two, chosen.memories)


if __name__ == "__main__":
    main()
