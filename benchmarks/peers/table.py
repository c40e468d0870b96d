"""The table of stores side by side, and the missing features of each in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.peers.contest import Contender
from benchmarks.peers.worker import FOUND

LACKS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "LlamaIndex": (
        "llama-index-vector-stores-postgres",
        "0.9.0",
        (
            "hybrid mode returns the vectors' list and then the words'; a retriever above must fuse them",
            "words count the same however common they are (ts_rank of any of them)",
            "nothing of use, age or links in the ranking; no explanation beside a score",
            "deletes for good; there is no archive to bring a memory back from, no plan of what to prune",
        ),
    ),
    "LangChain": (
        "langchain-postgres",
        "0.0.19",
        (
            "words find only what holds all of them (plainto_tsquery): most questions find nothing by words",
            "a hybrid configuration given to the store keeps the first question's words for all later ones",
            "adds row by row, a transaction each",
            "nothing of use, age or links in the ranking; no explanation beside a score",
            "deletes for good; there is no archive to bring a memory back from, no plan of what to prune",
        ),
    ),
    "mem0": (
        "mem0ai",
        "2.2.1",
        (
            "words only reorder what the vectors found, and only where one memory holds all of them; without "
            "its extra nlp they are compared as written",
            "whose a memory is stands in its JSON and is filtered after the vectors' index",
            "adds row by row, its history in a file of SQLite beside Postgres",
            "nothing of use or age in the ranking; it explains scores, and links by entities that its extra "
            "nlp finds in what a language model wrote",
            "deletes for good; there is no archive to bring a memory back from, no plan of what to prune",
        ),
    ),
}
"""For each peer: the package and version examined, and the features missing in it."""


def show(contenders: Sequence[Contender], around: Mapping[str, Any]) -> None:
    """Prints the table, then settings, versions and missing features."""
    screen = Console(width=140)
    screen.print(table([one.document() for one in contenders], around))
    for one in contenders:
        if not one.there:
            screen.print(f"[bold]{one.name}[/bold]: {one.failed}", highlight=False)
        else:
            screen.print(f"[bold]{one.name}[/bold]: {one.opening['setup']}", highlight=False)
            for line in lacking(one):
                screen.print(f"  - {line}", highlight=False)
    for title in ("versions", "settings"):
        screen.print(", ".join(f"{name} {value}" for name, value in around[title].items()), highlight=False)
    screen.print(f"{around['cores']} cores, load {around['load']} before the searches", highlight=False)


def lacking(one: Contender) -> list[str]:
    """The missing features of a store, from the source of the installed version or from its database."""
    seen = (
        []
        if one.rows_protected
        else ["no table has row security: the caller's filter alone keeps tenants apart"]
    )
    if one.name not in LACKS:
        return seen
    package, read, lines = LACKS[one.name]
    found = one.opening["versions"][package]
    other = [] if found == read else [f"what follows was read in {package} {read}; this is {found}"]
    return [*seen, *other, *lines]


def table(stores: Sequence[Mapping[str, Any]], around: Mapping[str, Any]) -> Table:
    """A row for each store: milliseconds a search, relevance, concurrent searches, and loading."""
    shown = Table(title=f"{around['memories']:,} memories, {FOUND} found")
    columns = (
        "store", "version", "p50", "p95", "CPU caller", "CPU server", f"recall@{FOUND}",
        f"a second, {around['clients']} clients", "loading", "rows/s",
    )  # fmt: skip
    for column in columns:
        shown.add_column(column, justify="left" if column in columns[:2] else "right")
    for store in stores:
        if "failed" in store:
            shown.add_row(store["store"], "not there")
            continue
        recall = store[f"recall@{FOUND}"]
        shown.add_row(
            store["store"],
            next(iter(store["versions"].values())),
            f"{store['p50']:.1f} ms",
            f"{store['p95']:.1f} ms",
            f"{store['CPU of the caller']:.1f} ms",
            f"{store['CPU of the backends']:.1f} ms",
            "" if recall is None else f"{recall:.3f}",
            f"{store['searches a second']:,.0f}",
            f"{store['seconds of loading']:,.0f} s",
            f"{store['rows a second']:,.0f}",
        )
    return shown
