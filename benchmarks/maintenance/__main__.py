"""The cost of maintenance compared with lower bounds.

    python -m benchmarks.maintenance [--memories 200000] [--events 300000] [--rounds 5] [--calls 300] [--json]

Fills a new database with memories, three times as many links, and a log consistent with the summaries. A
measurement and its floor take turns, so that other load on the machine affects both; figures are medians, and
only their ratios apply elsewhere. Before each turn, tables are vacuumed and a checkpoint is made.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from benchmarks.harness import Row, fresh_database, show, surroundings
from benchmarks.maintenance.accesses import accesses, searches, some_questions
from benchmarks.maintenance.data import LINKS_EACH, build
from benchmarks.maintenance.jobs import fold, graph, refresh
from pgrecall.settings import load_settings

DIMENSIONS = 384
"""Dimensions of embeddings; there are none."""


def run(chosen: argparse.Namespace, screen: Console) -> tuple[list[Row], dict[str, Any]]:
    """The rows, and the surroundings of the measurement."""
    with fresh_database(load_settings(), DIMENSIONS) as url:
        with screen.status("Filling the database"):
            bench = build(url, chosen.memories)
        with bench.connection:
            around = surroundings(bench.connection, "networkx")
            rows: list[Row] = []
            for name, measured in (
                ("Refresh", refresh(bench, chosen.rounds)),
                ("Graph", graph(bench, chosen.rounds)),
                ("Fold", fold(bench, chosen.rounds, chosen.events)),
                ("Uses", accesses(bench, chosen.calls)),
                ("Searches", searches(bench, chosen.calls, some_questions())),
            ):
                with screen.status(name):
                    rows += measured
    return rows, around


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=200_000)
    parser.add_argument("--events", type=int, default=300_000, help="folded in each round")
    parser.add_argument("--rounds", type=int, default=5, help="of the jobs")
    parser.add_argument("--calls", type=int, default=300, help="of each kind of use and of search")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    chosen = parser.parse_args(arguments)
    if chosen.memories < 100 or min(chosen.events, chosen.rounds, chosen.calls) < 1:
        parser.error("at least 100 memories, and 1 event, round and call")
    rows, around = run(chosen, Console(stderr=True))
    sizes = {
        "memories": chosen.memories,
        "links": LINKS_EACH * chosen.memories,
        "events": chosen.events,
        "rounds": chosen.rounds,
        "calls": chosen.calls,
    }
    show(rows, sizes, around, as_json=chosen.json)


if __name__ == "__main__":
    main()
