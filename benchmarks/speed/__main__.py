"""Speed, each figure compared with a lower bound for the same work.

    python -m benchmarks.speed [--quick | --full] [--only WORD,...] [--calls 200] [--rounds 3] [--json]

Uses 200,000 memories of ten tenants (--quick: 50,000; --full: 1,000,000), created once and kept in the folder
--cache. A measurement and its floor take turns, so that other load on the machine affects both; figures are
medians, and only their ratios apply elsewhere. Each row ends with its goal and whether it is met.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console

from benchmarks import overhead
from benchmarks.harness import Row, show, surroundings
from benchmarks.maintenance import accesses, jobs
from benchmarks.maintenance.data import Bench
from benchmarks.speed import search, start, work, writes
from benchmarks.speed.server import alone, bench_server, copy_of, world
from benchmarks.speed.world import Question, Tenant, questions, tenants
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.search.embed.embedder import Embedder
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import Settings

QUICK, DEFAULT, FULL = 50_000, 200_000, 1_000_000
COMPARED_ALONE = (1_000, 4_000, 20_000)
"""The approximate size of each tenant that is compared with a database of its own."""


@dataclass(frozen=True, slots=True)
class Context:
    """The shared context of all measurements."""

    server: EmbeddedServer
    bench: Bench
    asked: Sequence[Question]
    holders: Sequence[Tenant]
    embedder: Embedder
    calls: int
    rounds: int

    @property
    def largest(self) -> Tenant:
        return self.holders[0]


def _isolation(context: Context) -> Iterator[Row]:
    chosen = {min(context.holders[1:], key=lambda tenant: abs(tenant.size - size)) for size in COMPARED_ALONE}
    for tenant in sorted(chosen, key=lambda tenant: tenant.size):
        with (
            alone(context.server, context.bench.url, tenant, context.embedder.dimensions) as url,
            psycopg.connect(url, autocommit=True) as lonely,
        ):
            yield search.isolation(context.bench.connection, lonely, context.asked, tenant, context.calls)


def _logging(context: Context) -> Iterator[Row]:
    asked = search.values_of(context.asked, context.largest)
    yield from accesses.searches(context.bench, context.calls, asked, accesses.BY_MEANING_TOO)
    yield from accesses.searches(context.bench, context.calls, asked)


MEASUREMENTS: dict[str, Callable[[Context], Iterable[Row]]] = {
    "arms": lambda g: search.arms(g.bench.connection, g.asked, g.largest, g.calls),
    "work": lambda g: work.work(g.bench.connection, g.asked, g.largest),
    "words": lambda g: search.words(g.bench.connection, g.largest, g.calls),
    "recall": lambda g: search.recalls(g.bench.connection, g.asked, g.holders),
    "isolation": _isolation,
    "vitality": lambda g: [search.vitality(g.bench.connection, g.asked, g.largest, g.calls)],
    "logging": _logging,
    "refresh": lambda g: jobs.refresh(g.bench, g.rounds),
    "graph": lambda g: jobs.graph(g.bench, g.rounds),
    "fold": lambda g: jobs.fold(g.bench, g.rounds, min(1_000_000, 10 * g.bench.memories)),
    "remember": lambda g: writes.one(g.bench.connection, g.asked, g.largest, g.embedder.name, g.calls),
    "import": lambda g: writes.bulk(g.bench.connection, g.largest, 20_000, g.rounds),
    "start": lambda g: [
        start.imports(g.rounds * 5),
        *start.commands(g.bench.url, g.largest.name, g.rounds * 5),
    ],
    "client": lambda g: overhead.rows(g.server.url, 5_000, g.calls),
}
"""The measurements in order: reads before writes."""


def run(chosen: argparse.Namespace, screen: Console) -> tuple[list[Row], dict[str, Any]]:
    """The rows, and the surroundings of the measurement."""
    embedder = make_embedder(Settings(embedder="local"))
    assert embedder is not None
    rows: list[Row] = []
    with bench_server(chosen.cache / "server") as server:
        with screen.status(f"The world of {chosen.memories:,} memories; the first time this takes a while"):
            asked = questions(embedder, chosen.cache)
            kept = world(server, chosen.memories, embedder, chosen.cache)
        with copy_of(server, kept) as url, psycopg.connect(url, autocommit=True) as connection:
            around = surroundings(connection, "psycopg", "networkx")
            moment = connection.execute("SELECT now()").fetchone()
            assert moment is not None
            holders = tenants(chosen.memories)
            bench = Bench(url, connection, holders[0].size, moment[0])
            context = Context(server, bench, asked, holders, embedder, chosen.calls, chosen.rounds)
            for name, measure in MEASUREMENTS.items():
                if any(word in name for word in chosen.only.split(",")):
                    with screen.status(name):
                        for row in measure(context):
                            rows.append(row)
                            screen.print(
                                f"{row.measure}: {row.ratio:.3g} {row.goal}", style="dim", highlight=False
                            )
    return rows, around


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    for name, memories in (("quick", QUICK), ("full", FULL)):
        size.add_argument(
            f"--{name}", dest="memories", action="store_const", const=memories, help=f"{memories:,} memories"
        )
    size.add_argument("--memories", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help=f"what is measured, of {', '.join(MEASUREMENTS)}")
    parser.add_argument("--calls", type=int, default=200, help="of each kind")
    parser.add_argument("--rounds", type=int, help="of what takes seconds; 3, and 2 with --quick")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "pgrecall-bench")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    parser.set_defaults(memories=DEFAULT)
    chosen = parser.parse_args(arguments)
    if chosen.rounds is None:
        chosen.rounds = 2 if chosen.memories == QUICK else 3
    if chosen.memories < 2_000 or min(chosen.calls, chosen.rounds) < 1:
        parser.error("at least 2,000 memories, and 1 call and round")
    for word in chosen.only.split(","):
        if not any(word in name for name in MEASUREMENTS):
            parser.error(f"nothing is called {word}; there are: {', '.join(MEASUREMENTS)}")
    rows, around = run(chosen, Console(stderr=True))
    sizes = {"memories": chosen.memories, "calls": chosen.calls, "rounds": chosen.rounds}
    show(rows, sizes, around, as_json=chosen.json)


if __name__ == "__main__":
    main()
