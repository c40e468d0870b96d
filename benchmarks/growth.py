"""Growth of costs with the number of memories, from the speed benchmark at several sizes.

    python -m benchmarks.speed --quick --json > 50000.json
    python -m benchmarks.speed --json > 200000.json
    python -m benchmarks.speed --full --json > 1000000.json
    python -m benchmarks.growth 50000.json 200000.json 1000000.json

The exponent is the slope of the logarithm of a cost over that of the size: 0 is constant, 1 is linear. Costs
in MUST_NOT have a bound and a verdict; the others are only shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import linear_regression
from typing import Any

from rich.console import Console
from rich.table import Table

BOUNDED = 0.1
"""The largest exponent of a bounded cost: 10 % more for 2.6 times the size."""
MUST_NOT = (
    "memories read by a search",
    "vitalities computed by a search",
    "links read by a search",
    "word counts read by a search",
    "planning the look into the vector index",
    "memories that a use spreads to, the most",
)
MAY = {
    "semantic and vitality": "a search by meaning",
    "semantic, lexical and vitality": "with words",
    "all arms, links and authors too": "a search with all arms",
    "worst question of common words": "a search for common words alone",
    "blocks touched by a search": "blocks touched by a search",
    "names read by a search": "names read by a search",
    "refresh of all vitality": "refreshing all vitality",
    "graph job, again": "the graph job",
    "one remember, embedding given": "storing one memory",
}
"""Rows of the benchmark, and their names here."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A cost at each size, and the exponent fitted to it."""

    name: str
    unit: str
    costs: Mapping[int, float]
    bounded: bool

    @property
    def exponent(self) -> float:
        sizes = list(self.costs)
        if min(self.costs.values()) <= 0:
            return 0.0 if max(self.costs.values()) <= 0 else float("inf")
        return linear_regression(
            [log(size) for size in sizes], [log(self.costs[size]) for size in sizes]
        ).slope

    @property
    def verdict(self) -> str:
        if not self.bounded:
            return ""
        return "ok" if self.exponent <= BOUNDED else "miss"


def growths(documents: Sequence[Mapping[str, Any]]) -> list[Growth]:
    """The growth of each row that all of these runs have."""
    runs = {int(one["memories"]): {row["measure"]: row for row in one["rows"]} for one in documents}
    sizes = sorted(runs)

    def growth(measure: str, name: str, side: str = "measured") -> list[Growth]:
        if not all(measure in runs[size] for size in sizes):
            return []
        unit = runs[sizes[0]][measure]["unit"]
        return [Growth(name, unit, {size: runs[size][measure][side] for size in sizes}, measure in MUST_NOT)]

    found = growth("semantic and vitality", "a bare look into the vector index", "floor")
    for measure, name in ({one: one for one in MUST_NOT} | MAY).items():
        found += growth(measure, name)
    return found


def shown(found: Sequence[Growth]) -> Table:
    table = Table(title="Growth with the number of memories")
    table.add_column("cost")
    for size in found[0].costs:
        table.add_column(f"{size:,}", justify="right")
    for column in ("exponent", "bound", ""):
        table.add_column(column, justify="right")
    for one in found:
        costs = (f"{cost:,.4g} {one.unit}".strip() for cost in one.costs.values())
        table.add_row(
            one.name, *costs, f"{one.exponent:.2f}", f"<= {BOUNDED:g}" if one.bounded else "", one.verdict
        )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="FILE", help="what benchmarks.speed --json printed"
    )
    chosen = parser.parse_args(arguments)
    try:
        documents = [json.loads(path.read_text()) for path in chosen.runs]
        found = growths(documents)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        parser.error(f"a file is not what benchmarks.speed --json prints: {problem}")
    if len({one["memories"] for one in documents}) < 2 or not found:
        parser.error("growth takes runs of at least two sizes, with a row in common")
    Console(width=140).print(shown(found))
    sys.exit(any(one.verdict == "miss" for one in found))


if __name__ == "__main__":
    main()
