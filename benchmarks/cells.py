"""What cells cost: the check of the tenant, the way through the directory, and moving a tenant.

    python -m benchmarks.cells [--memories 10000] [--rounds 200]

Starts a server of its own with a directory and two cells. It prints the time of ``recall.current_tenant()``
with one database and with two cells, the processor time that a client spends on a search by the cell's URL
and by the directory, and for the move of a tenant how long it took, for how long its writers waited, and what
the server spent on it. All three databases are on one machine, so a move competes with itself for its cores.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.cells.fleet import Fleet
from pgrecall.cells.move import Mover
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.models.memories import Draft
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings

DIMENSIONS = 384
CALLS = 20_000
_CALLS = (
    "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
    f"SELECT recall.current_tenant() FROM generate_series(1, {CALLS})"
)


@contextmanager
def server() -> Iterator[EmbeddedServer]:
    """A throw-away server that can be a source of logical replication."""
    folder = Path(tempfile.mkdtemp(prefix="pgr-cells-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        first = EmbeddedServer.start(folder / "data")
        with first, psycopg.connect(first.url, autocommit=True) as admin:
            admin.execute("ALTER SYSTEM SET wal_level = 'logical'")
        with EmbeddedServer.start(folder / "data") as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def databases(running: EmbeddedServer) -> list[str]:
    """The URLs of a directory and two databases with pgrecall."""
    urls = []
    with psycopg.connect(running.url, autocommit=True) as admin:
        for name in ("directory", "one", "two"):
            admin.execute(f"CREATE DATABASE {name}".encode())
            urls.append(make_conninfo(running.url, dbname=name))
    for url in urls[1:]:
        migrate.upgrade(url, dimensions=DIMENSIONS)
    return urls


def call_time(url: str) -> float:
    """Microseconds of one call of ``recall.current_tenant()``, the least of 9 rounds."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT set_config('recall.tenant', 'acme', false), set_config('jit', 'off', false)"
        )
        rounds = [connection.execute(_CALLS.encode()).fetchone() for _ in range(9)]
    return min(row[0][0]["Execution Time"] for row in rounds if row) / CALLS * 1000


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


def server_cpu(running: EmbeddedServer) -> float:
    """Seconds of CPU of the server with what it has started, and of what has ended."""
    main = int((running.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
    process = psutil.Process(main)
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    ended = process.cpu_times()
    return sum(one.user + one.system for one in times) + ended.children_user + ended.children_system


def drafts(count: int) -> Iterator[Draft]:
    chance = random.Random(1)
    words = [f"word{number}" for number in range(3000)]
    for number in range(count):
        yield Draft(" ".join(chance.choices(words, k=30)), key=f"m{number}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    chosen = parser.parse_args()
    with server() as running:
        directory, one, two = databases(running)
        alone = call_time(one)
        fleet = Fleet(directory)
        fleet.add(one)
        fleet.add(two)
        fleet.place("acme", 0)
        settings = Settings(tenant="acme", embedder="hash")
        embedder = HashEmbedder(DIMENSIONS)
        with (
            Memory(cells=directory, settings=settings, embedder=embedder) as routed,
            Memory(one, settings=settings, embedder=embedder) as direct,
        ):
            routed.remember_many(drafts(chosen.memories), compare=False)
            routed.jobs.run("vectors")
            routed.maintenance.refresh_statistics()
            print(f"current_tenant(): {alone:.2f} us alone, {call_time(one):.2f} us with two cells")
            ways: list[Callable[[], object]] = [
                lambda: direct.search("word1 word2 word3", log=False),
                lambda: routed.search("word1 word2 word3", log=False),
            ]
            direct_cpu, routed_cpu = client_cpu(ways, chosen.rounds)
            print(f"client CPU of a search: {direct_cpu:.3f} ms direct, {routed_cpu:.3f} ms by the directory")
            before = server_cpu(running)
            moved = Mover(fleet, print).move("acme", 1)
            spent = server_cpu(running) - before
            print(
                f"move of {chosen.memories:,} memories: {moved.seconds:.1f} s, "
                f"writers waited {moved.stopped:.2f} s, server CPU {spent:.1f} s"
            )
            Mover(fleet).finish("acme")


if __name__ == "__main__":
    main()
