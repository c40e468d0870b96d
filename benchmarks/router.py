"""What the router costs: processor time of a search on each node, in its cell and through the coordinator.

    PGRECALL_TEST_CITUS=/usr/lib/postgresql/18/bin python -m benchmarks.router [--memories 5000]

Starts a coordinator and two cells, with the programs of a Postgres that has Citus and pgvector. The ways take
turns, in rounds; printed are medians over rounds. A prepared statement is what psycopg sends from its sixth
use.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
import psycopg

from benchmarks.cell_data import DIMENSIONS, drafts
from benchmarks.cells import QUERY, client
from pgrecall.cells.fleet import Fleet
from pgrecall.cells.router.installing import install
from pgrecall.schema import migrate
from tests.integration.router.citus_servers import CITUS, Node, citus_nodes

IN_CELL = "SELECT id, body, score FROM recall.search(%s, p_k => 10)"
ROUTED = "SELECT id, body, score FROM recall_router.search('acme', %s, p_k => 10)"
TENANT_ALONE = "SELECT recall_router.current_tenant(%s)"
BATCHES = 12


@dataclass(frozen=True, slots=True)
class Way:
    """A statement that is repeated, with whether it is prepared."""

    name: str
    call: Callable[[], object]


def cpu(node: Node) -> float:
    """Seconds of CPU of a server with everything that it has started. Linux only."""
    main = psutil.Process(node.main)
    # In nanoseconds: cpu_times() counts ticks of ten milliseconds.
    texts = (Path(f"/proc/{one.pid}/schedstat") for one in (main, *main.children(recursive=True)))
    return sum(int(text.read_text().split()[0]) for text in texts) / 1e9


def ways(coordinator: Node, cell: Node, opened: ExitStack) -> Iterator[Way]:
    """The ways to a search, each over a connection of its own."""

    def connected(node: Node) -> psycopg.Connection[tuple[object, ...]]:
        return opened.enter_context(psycopg.connect(node.url, autocommit=True))

    direct, routed, plain, alone = (connected(node) for node in (cell, coordinator, coordinator, coordinator))
    direct.execute("SELECT set_config('recall.tenant', 'acme', false)")
    yield Way("search in its cell", lambda: direct.execute(IN_CELL, (QUERY,), prepare=True).fetchall())
    yield Way("search, routed", lambda: plain.execute(ROUTED, (QUERY,), prepare=False).fetchall())
    yield Way("search, routed, prepared", lambda: routed.execute(ROUTED, (QUERY,), prepare=True).fetchall())
    yield Way("current_tenant, routed", lambda: alone.execute(TENANT_ALONE, ("acme",)).fetchall())


def measure(servers: list[Node], found: list[Way], rounds: int) -> None:
    """Prints the milliseconds of CPU of a call on each node, by way."""
    for way in found:
        for _ in range(10):
            way.call()
    size = max(rounds // BATCHES, 1)
    spent: dict[str, list[list[float]]] = {way.name: [[] for _ in servers] for way in found}
    for _ in range(BATCHES):
        for way in found:
            before = [cpu(node) for node in servers]
            for _ in range(size):
                way.call()
            for number, node in enumerate(servers):
                spent[way.name][number].append((cpu(node) - before[number]) / size * 1000)
    for name, by_node in spent.items():
        router, cell, other = (median(values) for values in by_node)
        print(f"{name:26} router {router:6.3f} ms, cell {cell:6.2f} ms, other cell {other:.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memories", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=300)
    chosen = parser.parse_args()
    if CITUS is None:
        parser.error("PGRECALL_TEST_CITUS names no folder with the programs of a Postgres with Citus")
    with citus_nodes(3) as servers, ExitStack() as opened:
        coordinator, one, two = servers
        fleet = Fleet(coordinator.url)
        for node in (one, two):
            migrate.upgrade(node.url, dimensions=DIMENSIONS)
            fleet.add(node.url)
        install(fleet)
        fleet.place("acme", 0)
        with client(coordinator.url, "acme", cells=True) as memory:
            memory.remember_many(list(drafts(chosen.memories)), compare=False)
            memory.maintenance.refresh_statistics()
        with psycopg.connect(one.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        measure([coordinator, one, two], list(ways(coordinator, one, opened)), chosen.rounds)


if __name__ == "__main__":
    main()
