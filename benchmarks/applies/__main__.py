"""Whether search finds what applies: one table over corpora of many kinds.

    python -m benchmarks.applies [PATH...] [--limit N] [--no-examples] [--kinds] [--json]

A PATH is a file in LoCoMo's format (see `benchmarks.locomo`) or a folder in BEIR's (see `benchmarks.beir`).
The judged examples of this project are added. Each corpus is a row: recall@10 and MRR of all arms (fused) and
of the better of words alone and meaning alone, with the 95 % interval of their difference; how often the
newer of two statements comes before the older; and how often the search says that nothing answers, for
questions without an answer (absent: it should) and with one (present: it should not). --kinds adds a table by
kind of question. --limit reads only the first N conversations of each file. Vitality is off, so that no use
counts.

The shipped relevance was fitted on the examples, so their rows flatter; the others it has not seen.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.applies.corpora import Collection, collection_of, judged_collections
from benchmarks.applies.figures import MEASURES, Outcome
from benchmarks.harness import fresh_database, search_by_arms
from benchmarks.locomo.data import RememberedVectors
from benchmarks.locomo.scores import NEWER
from benchmarks.locomo.stages import ARMS_ALONE, FUSED, stages
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import load_settings

POOL = 50
"""Hits asked for; MRR reads them all."""


def run(collections: Iterable[Collection], progress: Callable[[str], None]) -> Iterator[tuple[str, Outcome]]:
    """The outcome of each collection. Each tenant is a tenant of one database."""
    settings = load_settings()
    inner = make_embedder(settings)
    if inner is None:
        raise SystemExit("There is no embedder; set PGRECALL_EMBEDDER.")
    embedder = RememberedVectors(inner)
    every = stages(embeds=True, reranks=False)
    options: dict[str, SearchOptions] = {stage: every[stage] for stage in ARMS_ALONE}
    options[FUSED] = {**every[FUSED], "vitality_mode": "off"}
    with fresh_database(settings, embedder.dimensions) as url:
        for collection in collections:
            outcome = Outcome()
            for tenant in collection.tenants:
                progress(f"{collection.name}: {tenant.name}, {len(tenant.questions)} questions")
                with Memory(url, tenant=tenant.name, settings=settings, embedder=embedder) as memory:
                    tenant.fill(memory)
                    for stage, chosen in options.items():
                        for question in tenant.questions:
                            wanted: SearchOptions = {
                                **question.options, "k": POOL, "explain": False, "log": False, **chosen,
                            }  # fmt: skip
                            result = search_by_arms(memory, question.text, wanted)
                            found = [tenant.key_of(hit.key or "") for hit in result.hits]
                            outcome.add(stage, question, found, result.answered)
            yield collection.name, outcome


def overview(rows: Mapping[str, Mapping[str, Any]]) -> Table:
    """One row a corpus."""
    shown = Table(title="All arms against the better one alone; 95 % intervals of the difference by question")
    shown.add_column("corpus")
    for column in ("questions", *(f"{measure}, best arm, difference" for measure in MEASURES)):
        shown.add_column(column, justify="right")
    for column in (f"{NEWER}, best arm", "silent: absent", "present"):
        shown.add_column(column, justify="right")
    for name, row in rows.items():
        shown.add_row(
            name,
            str(row["questions"]),
            *(_comparison(row.get(measure)) for measure in MEASURES),
            _pairs(row.get(NEWER)),
            *(_silence(row["silent"][which]) for which in ("absent", "present")),
        )
    return shown


def by_kind(rows: Mapping[str, Mapping[str, Any]]) -> Table:
    """One row a kind of each corpus."""
    shown = Table(title="By kind")
    for column in ("corpus", "kind", "questions", *(f"{one}, best arm, difference" for one in MEASURES)):
        shown.add_column(column, justify="left" if column in ("corpus", "kind") else "right")
    shown.add_column(f"{NEWER}, best arm", justify="right")
    for name, row in rows.items():
        for kind, figures in row["kinds"].items():
            shown.add_row(
                name,
                kind,
                str(figures[MEASURES[0]]["questions"]),
                *(_comparison(figures.get(measure)) for measure in MEASURES),
                _pairs(figures.get(NEWER)),
            )
        shown.add_section()
    return shown


def _comparison(figure: Mapping[str, Any] | None) -> str:
    if figure is None:
        return ""
    low, high = figure["95%"]
    worse = "" if figure["ok"] else " WORSE"
    return (
        f"{figure['fused']:.3f}, {figure['best arm']} {figure['alone']:.3f}, "
        f"{figure['difference']:+.3f} ({low:+.3f} to {high:+.3f}){worse}"
    )


def _pairs(figure: Mapping[str, Any] | None) -> str:
    if figure is None:
        return ""
    return (
        f"{figure['fused']:.2f} of {figure['questions']}, {figure['best arm']} {figure['alone']:.2f}"
        f"{'' if figure['ok'] else ' WORSE'}"
    )


def _silence(figure: tuple[float | None, int]) -> str:
    share, of = figure
    return "" if share is None else f"{share:.2f} of {of}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="*", metavar="PATH")
    parser.add_argument("--limit", type=int, metavar="N", help="conversations to read of each file")
    parser.add_argument("--no-examples", action="store_true", help="leave out the judged examples")
    parser.add_argument("--kinds", action="store_true", help="also print a table by kind of question")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    chosen = parser.parse_args(arguments)
    errors, screen = Console(stderr=True), Console(width=210)
    collections = [collection_of(path, chosen.limit) for path in chosen.paths]
    if not chosen.no_examples:
        collections += judged_collections()
    found = run(collections, lambda line: errors.print(line, style="dim"))
    rows = {name: outcome.row() for name, outcome in found}
    if chosen.json:
        print(json.dumps(rows, indent=2))
        return
    screen.print(overview(rows))
    if chosen.kinds:
        screen.print(by_kind(rows))


if __name__ == "__main__":
    main()
