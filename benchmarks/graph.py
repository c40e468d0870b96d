"""Time to find the articulation points of a link graph: plain Python, numba and networkx.

    python -m benchmarks.graph [--nodes 200000] [--links 600000] [--rounds 5] [--json]

Each contender in turn builds the same preferential-attachment graph and searches it for articulation points;
figures are medians over the rounds. The first call of numba, which compiles or loads compiled code, is timed
separately. The results must be equal.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

import networkx as nx
from rich.console import Console
from rich.table import Table

from pgrecall.graph.articulation import articulate
from pgrecall.graph.link_graph import LinkGraph

Links = list[tuple[int, int]]
ORACLE = "networkx"


@dataclass(frozen=True, slots=True)
class Result:
    """Median seconds, and how many times faster than networkx in all."""

    build: float
    search: float
    total: float
    ratio: float


def preferential_links(nodes: int, links: int, seed: int = 1) -> Links:
    """Each link goes from a random node to an earlier one, nine times in ten in proportion to degree."""
    rng = random.Random(seed)
    ends = [0]
    made = []
    for source in sorted(rng.randrange(1, nodes) for _ in range(links)):
        target = rng.choice(ends) if rng.random() < 0.9 else rng.randrange(source)
        if target == source:
            target = rng.randrange(source)
        made.append((source, target))
        ends += (source, target)
    rng.shuffle(made)
    return made


Contender = tuple[Callable[[], object], Callable[[object], set[int]]]


def ours(build: Callable[[], LinkGraph], *, accelerate: bool) -> Contender:
    return build, lambda graph: set(articulate(graph, accelerate=accelerate).points())


def contenders(links: Links) -> dict[str, Contender]:
    blob = b"".join(struct.pack(">qq", *link) for link in links)
    return {
        "plain Python": ours(lambda: LinkGraph.of(links, accelerate=False), accelerate=False),
        "plain Python, blob": ours(lambda: LinkGraph.of_blob(blob, accelerate=False), accelerate=False),
        "numba": ours(lambda: LinkGraph.of(links, accelerate=True), accelerate=True),
        "numba, blob": ours(lambda: LinkGraph.of_blob(blob, accelerate=True), accelerate=True),
        ORACLE: (lambda: nx.Graph(links), lambda graph: set(nx.articulation_points(graph))),
    }


def measure(links: Links, rounds: int) -> tuple[dict[str, Result], int, float]:
    """Results by contender, the number of articulation points, and seconds of numba's first call."""
    field = contenders(links)
    started = time.perf_counter()
    articulate(LinkGraph.of([(1, 2)], accelerate=True), accelerate=True)
    first_call = time.perf_counter() - started
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in field}
    points: dict[str, set[int]] = {}
    for _ in range(rounds):
        for name, (build, search) in field.items():
            started = time.perf_counter()
            graph = build()
            built = time.perf_counter()
            points[name] = search(graph)
            seconds[name].append((built - started, time.perf_counter() - built))
            del graph
    if any(found != points[ORACLE] for found in points.values()):
        raise SystemExit("The contenders disagree on the articulation points.")
    return summary(seconds), len(points[ORACLE]), first_call


def summary(seconds: dict[str, list[tuple[float, float]]]) -> dict[str, Result]:
    totals = {name: median(map(sum, runs)) for name, runs in seconds.items()}
    return {
        name: Result(
            build=median(build for build, _ in runs),
            search=median(search for _, search in runs),
            total=totals[name],
            ratio=totals[ORACLE] / totals[name],
        )
        for name, runs in seconds.items()
    }


def print_table(results: dict[str, Result], title: str) -> None:
    table = Table(title=title)
    for heading in ("", "build s", "search s", "total s", "times networkx"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, result in results.items():
        table.add_row(
            name,
            f"{result.build:.3f}",
            f"{result.search:.3f}",
            f"{result.total:.3f}",
            f"{result.ratio:.1f}",
        )
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--links", type=int, default=600_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if chosen.nodes < 2 or chosen.links < 1 or chosen.rounds < 1:
        parser.error("at least 2 nodes, 1 link and 1 round")
    links = preferential_links(chosen.nodes, chosen.links)
    results, points, first_call = measure(links, chosen.rounds)
    if chosen.json:
        print(
            json.dumps(
                {
                    "nodes": chosen.nodes,
                    "links": chosen.links,
                    "rounds": chosen.rounds,
                    "articulation_points": points,
                    "numba_first_call": first_call,
                    "results": {name: asdict(result) for name, result in results.items()},
                },
                indent=2,
            )
        )
        return
    title = f"{chosen.nodes:,} nodes, {chosen.links:,} links, {points:,} articulation points"
    print_table(results, title)
    print(f"numba's first call took {first_call:.1f} s")


if __name__ == "__main__":
    main()
