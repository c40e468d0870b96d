"""The first searches after a restart: what they read from disk, how long they take, and what warming saves.

    python -m benchmarks.cold [--memories 50000] [--questions 200] [--json]

Fills a database with the conversations of `benchmarks.profile`, or uses the one in its folder --cache. Then
it restarts the server three times: with nothing in memory, after `pg_prewarm` has read the vector index, and
after it has read everything that a search reads. Before each start it empties the file cache of the operating
system, if it may (as root, on Linux). If it may not, blocks come from there, and only their number counts.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

from benchmarks.profile.__main__ import filled, operation, server
from benchmarks.profile.conversations import NOW, TENANT, Question
from benchmarks.speed.search import home_of
from pgrecall.embedded.shared_server import EmbeddedServer

GROUPS = ((0, 1), (1, 10), (10, 50), (50, 200))
"""The searches that are shown together, by their place after the restart."""

_READ = "SELECT pg_stat_get_xact_blocks_fetched(c) - pg_stat_get_xact_blocks_hit(c) FROM unnest(%s::oid[]) c"
_RELATIONS = """
SELECT c.oid, c.relname, pg_relation_size(c.oid) AS bytes
FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'i')
  AND pg_relation_size(c.oid) > 0
"""
_TOASTS = """
SELECT t.oid, c.relname || ' (toast)', pg_relation_size(t.oid)
FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid
WHERE c.relnamespace = 'recall'::regnamespace AND pg_relation_size(t.oid) > 0
"""
WARMED = ("memory", "activation", "token_signs", "link", "lexeme", "name")
"""The tables a search reads besides the vectors; their indexes are warmed with them."""


@dataclass(frozen=True, slots=True)
class Group:
    """The searches ``first`` to ``last`` after a restart: times in milliseconds, blocks of 8 KiB a search."""

    first: int
    last: int
    p50_ms: float
    p95_ms: float
    blocks: float


@dataclass(frozen=True, slots=True)
class Start:
    """One restart: what was warmed, how much that read, the searches after it, and where they read."""

    warmed: str
    warm_seconds: float
    warm_bytes: int
    groups: list[Group]
    by_relation: dict[str, float]


def drop_file_cache() -> bool:
    """Empties the file cache of the operating system; whether it could."""
    switch = Path("/proc/sys/vm/drop_caches")
    if not os.access(switch, os.W_OK):
        return False
    os.sync()
    switch.write_text("3")
    return True


def warm(connection: psycopg.Connection[Any], what: str) -> int:
    """Reads an index or all that a search reads into shared buffers; how many bytes."""
    home = home_of(connection, TENANT)
    tables = {"nothing": (), "the vector index": (), "all that a search reads": (*WARMED, home)}[what]
    relations = [f"{home}_live_idx"] if what == "the vector index" else []
    for table in tables:
        rows = connection.execute(
            "SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid = %s::regclass",
            (f"recall.{table}",),
        ).fetchall()
        relations += [table, *(row[0].removeprefix("recall.") for row in rows)]
    blocks = 0
    for relation in relations:
        [(read,)] = connection.execute("SELECT pg_prewarm(%s::regclass)", (f"recall.{relation}",)).fetchall()
        blocks += read
    return blocks * 8192


def first_searches(
    connection: psycopg.Connection[Any], asked: Sequence[Question]
) -> Iterator[tuple[float, dict[str, int]]]:
    """For each search its milliseconds, and the blocks it read from outside shared buffers, by relation."""
    relations = connection.execute(f"{_RELATIONS} UNION ALL {_TOASTS}").fetchall()
    oids = [oid for oid, _, _ in relations]
    for question in asked:
        made = operation("explained", question)
        with connection.transaction():
            before = connection.execute(_READ, (oids,)).fetchall()
            started = time.perf_counter()
            connection.execute(made.sql, {**made.parameters, "tenant": TENANT}, prepare=True).fetchall()
            spent = 1000 * (time.perf_counter() - started)
            after = connection.execute(_READ, (oids,)).fetchall()
        read = {
            name: new - old for (_, name, _), (old,), (new,) in zip(relations, before, after, strict=True)
        }
        yield spent, {name: blocks for name, blocks in read.items() if blocks}


def measured(running: EmbeddedServer, name: str, asked: Sequence[Question], what: str) -> Start:
    with psycopg.connect(make_conninfo(running.url, dbname=name), autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', %s, false)", (TENANT,))
        started = time.perf_counter()
        warm_bytes = warm(connection, what)
        warm_seconds = time.perf_counter() - started
        searches = list(first_searches(connection, asked))
    groups = []
    for first, last in GROUPS:
        part = searches[first:last]
        if not part:
            continue
        times = [spent for spent, _ in part]
        p95 = quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
        blocks = sum(sum(read.values()) for _, read in part) / len(part)
        groups.append(Group(first + 1, first + len(part), median(times), p95, blocks))
    totals: dict[str, float] = {}
    for _, read in searches:
        for relation, blocks in read.items():
            totals[relation] = totals.get(relation, 0) + blocks
    shares = {relation: blocks / len(searches) for relation, blocks in totals.items()}
    return Start(
        what, warm_seconds, warm_bytes, groups, dict(sorted(shares.items(), key=lambda one: -one[1]))
    )


def tables(memories: int, starts: Sequence[Start], emptied: bool) -> Iterator[Table]:
    shown = Table("warmed", "read for it", "searches", "p50", "p95", "blocks a search")
    cache = "" if emptied else " (the operating system's file cache could not be emptied)"
    shown.title = f"First searches after a restart, {memories:,} memories{cache}"
    for start in starts:
        for number, group in enumerate(start.groups):
            label = (start.warmed, f"{start.warm_bytes / 1e6:.0f} MB") if number == 0 else ("", "")
            shown.add_row(
                *label,
                f"{group.first} to {group.last}" if group.last > group.first else f"{group.first}",
                f"{group.p50_ms:.0f} ms",
                f"{group.p95_ms:.0f} ms",
                f"{group.blocks:,.0f}",
            )
    yield shown
    read = Table("relation", "blocks a search", title="From where, with nothing warmed")
    for relation, blocks in list(starts[0].by_relation.items())[:12]:
        read.add_row(relation, f"{blocks:,.1f}")
    yield read


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "pgrecall-profile")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    chosen = parser.parse_args(arguments)
    if chosen.memories < 5_000 or chosen.questions < 20:
        parser.error("at least 5,000 memories and 20 questions")
    with server(chosen.cache / "server") as running:
        url, asked = filled(running, chosen.memories, chosen.cache)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
            name = connection.info.dbname
    starts, emptied = [], True
    for what in ("nothing", "the vector index", "all that a search reads"):
        emptied = drop_file_cache() and emptied
        with EmbeddedServer.start(chosen.cache / "server") as running:
            starts.append(measured(running, name, asked[: chosen.questions], what))
    if chosen.json:
        print(json.dumps({"now": NOW.isoformat(), "emptied": emptied, "starts": [asdict(s) for s in starts]}))
    else:
        Console(width=120).print(*tables(chosen.memories, starts, emptied))


if __name__ == "__main__":
    main()
