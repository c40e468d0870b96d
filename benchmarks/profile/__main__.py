"""Where the processor time of a search goes: by function, by statement, in rows and in buffers.

    python -m benchmarks.profile [--memories 5000,50000] [--questions 200] [--top 15] [--json]
    python -m benchmarks.profile --instructions

Fills a database of each size with conversations (vectors, token signs, sessions, links) and asks the same
questions in five ways in turn: by meaning, by words, by both, explained, and explained and logged. The
server's processor time is the median of all questions, as Linux counts it for the backend. For comparison,
there are a bare scan of the vector index, and the last way in a tenant of three memories: what a search costs
before it has anything to read. Then the same questions are counted: plans started, buffers, rows of each
table, and the time of each function and statement, which counting makes longer. 1,000,000 memories take
about half an hour to fill. The databases are kept in the folder --cache. With --instructions, only the
instructions of a logged search are counted, by valgrind: a minute for each size.
"""

from __future__ import annotations

import argparse
import json
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from rich.console import Console
from rich.table import Table

from benchmarks.profile import instructions
from benchmarks.profile.conversations import DIMENSIONS, MODEL, NOW, TENANT, Conversations, Question
from benchmarks.profile.counters import Connect, Counted, counting, processor_ms
from benchmarks.speed.search import NEAREST, home_of
from benchmarks.speed.server import bench_server
from pgrecall.arguments import SearchOptions
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.nouns.operation import Operation
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import find, search_and_log
from pgrecall.schema import migrate

BY_MEANING = {"lexical": 0.0, "name": 0.0, "author": 0.0, "cue": 0.0, "graph": 0.0, "period": 0.0}
WAYS: dict[str, SearchOptions] = {
    "by meaning": {"explain": False, "weights": BY_MEANING},
    "by words": {"explain": False},
    "both": {"explain": False},
    "explained": {},
    "logged": {},
}
"""How a question is asked; the default search of the client is the last."""
BARE = "bare scan of the vector index"
FEW, ALMOST_NONE = "logged, three memories", "few"
"""The way of a search that has almost nothing to read, and its tenant."""
_STORE_FEW = """
SELECT count(*) FROM recall.remember_many((
    SELECT jsonb_agg(jsonb_build_object(
        'key', m.id::text, 'body', m.body, 'embedding', v.embedding::text::jsonb))
    FROM recall.memory m JOIN recall.{} v ON v.tenant = m.tenant AND v.memory_id = m.id
    WHERE m.tenant = %(tenant)s AND m.id <= 3), %(model)s, p_now => %(now)s)
"""


@dataclass(frozen=True, slots=True)
class Profile:
    """The processor milliseconds of each question in each way, and what was counted."""

    memories: int
    spent: dict[str, list[float]]
    counted: dict[str, Counted]
    asked: int

    def document(self) -> dict[str, Any]:
        return {
            "memories": self.memories,
            "ways": {
                way: {"median_ms": median(spent), "p95_ms": quantiles(spent, n=20)[-1]}
                | (self._work(way) if way in self.counted else {})
                for way, spent in self.spent.items()
            },
        }

    def _work(self, way: str) -> dict[str, Any]:
        counted = self.counted[way]
        return {
            "plans": counted.plans / self.asked,
            "buffers": counted.buffers / self.asked,
            "rows": {table: number / self.asked for table, number in counted.rows.items()},
            "functions": [
                {name: value / self.asked if name != "function" else value for name, value in row.items()}
                for row in counted.functions
            ],
            "statements": [
                {name: value / self.asked if name != "statement" else value for name, value in row.items()}
                for row in counted.statements
            ],
        }  # fmt: skip


def operation(way: str, question: Question) -> Operation[Any]:
    options: SearchOptions = {"now": NOW, **WAYS[way]}
    request = SearchRequest(question.text, **options)
    vectors = None if way == "by words" else [question.embedded]
    return search_and_log(request, vectors) if way == "logged" else find(request, vectors)


def profile(url: str, memories: int, asked: Sequence[Question]) -> Profile:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', %s, false)", (TENANT,))
        connection.execute("SET synchronous_commit = off")  # as the client sets it for a search
        connection.execute("SET pg_stat_statements.track = 'none'")
        _store_few(connection)
        bare = NEAREST.format(home_of(connection, TENANT))
        acts: dict[str, Callable[[Question], object]] = {way: partial(_ask, connection, way) for way in WAYS}
        acts[BARE] = partial(_scan, connection, bare)
        acts[FEW] = partial(_ask, connection, "logged", tenant=ALMOST_NONE)
        for question in asked[:12]:
            for act in acts.values():
                act(question)
        spent: dict[str, list[float]] = {way: [] for way in acts}
        for place, question in enumerate(asked):
            ways = list(acts)
            for way in ways[place % len(ways) :] + ways[: place % len(ways)]:
                before = processor_ms(connection.info.backend_pid)
                acts[way](question)
                spent[way].append(processor_ms(connection.info.backend_pid) - before)
        counted = {}
        for way in WAYS:
            with counting(connection) as found:
                for question in asked:
                    acts[way](question)
            counted[way] = found[0]
    return Profile(memories, spent, counted, len(asked))


def _scan(connection: Connect, sql: str, question: Question) -> object:
    return connection.execute(sql, {"vector": str(question.embedded.vector)}, prepare=True).fetchall()


def _ask(connection: Connect, way: str, question: Question, *, tenant: str = TENANT) -> object:
    made = operation(way, question)
    return connection.execute(made.sql, {**made.parameters, "tenant": tenant}, prepare=True).fetchall()


def _store_few(connection: Connect) -> None:
    """Stores three memories of the large tenant in a tenant of their own, unless they are there."""
    store = SQL(_STORE_FEW).format(Identifier(home_of(connection, TENANT)))
    with connection.transaction():
        connection.execute("SELECT set_config('recall.tenant', %s, true)", (ALMOST_NONE,))
        connection.execute(store, {"tenant": TENANT, "model": MODEL, "now": NOW})


@contextmanager
def server(folder: Path) -> Iterator[EmbeddedServer]:
    """The benchmark's server of this folder, with statistics of statements."""
    with bench_server(folder) as first, psycopg.connect(first.url, autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
    with EmbeddedServer.start(folder) as prepared:
        yield prepared


def filled(running: EmbeddedServer, memories: int, folder: Path) -> tuple[str, list[Question]]:
    """The URL of the database of this size, filled if it does not exist, and its questions."""
    name, kept = f"profile_{memories}", folder / f"questions_{memories}.pickle"
    url = make_conninfo(running.url, dbname=name)
    with psycopg.connect(running.url, autocommit=True) as admin:
        there = admin.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if there is None or not kept.exists():
            admin.execute(f"DROP DATABASE IF EXISTS {name}")
            admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
            migrate.upgrade(url, dimensions=DIMENSIONS)
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("CREATE EXTENSION pg_stat_statements")
            kept.write_bytes(pickle.dumps(Conversations(memories).fill(url)))
    migrate.upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")  # upgrading finds out what copied memories say, and stores it
    return url, pickle.loads(kept.read_bytes())


def counted(cache: Path, memories: int) -> dict[str, float]:
    """Millions of instructions of a logged search in the database of this size, and in a tenant of three."""
    with server(cache / "server") as running:
        url, asked = filled(running, memories, cache)
        with psycopg.connect(url, autocommit=True) as connection:
            _store_few(connection)
        lines = instructions.statements(url, (TENANT, ALMOST_NONE), asked)
    found = instructions.millions(cache / "server", f"profile_{memories}", lines, (TENANT, ALMOST_NONE))
    return {"memories": memories, "logged": found[TENANT], FEW: found[ALMOST_NONE]}


def tables(profile: Profile, top: int) -> Iterator[Table]:
    """The ways, then the rows, functions and statements of the last."""
    ways = profile.document()["ways"]
    shown = Table("a search", "CPU, median", "p95", "of the bare scan", "plans", "buffers", "rows")
    shown.title = f"{profile.memories:,} memories, {profile.asked} questions"
    for way, figures in ways.items():
        shown.add_row(
            way,
            f"{figures['median_ms']:.2f} ms",
            f"{figures['p95_ms']:.2f} ms",
            f"{figures['median_ms'] / ways[BARE]['median_ms']:.1f}",
            *(_work(figures) if "plans" in figures else ()),
        )
    yield shown
    logged = ways["logged"]
    read = Table("table", "rows fetched", title="Rows of a logged search")
    for table, number in sorted(logged["rows"].items(), key=lambda one: -one[1])[:top]:
        read.add_row(table, f"{number:,.1f}")
    yield read
    functions = Table("function", "calls", "own ms", "ms", title="Functions of a logged search")
    for row in logged["functions"][:top]:
        functions.add_row(row["function"], f"{row['calls']:.1f}", f"{row['own_ms']:.3f}", f"{row['ms']:.3f}")
    yield functions
    statements = Table("statement", "calls", "ms", "buffers", title="Statements of a logged search")
    for row in logged["statements"][:top]:
        statements.add_row(
            row["statement"][:90], f"{row['calls']:.1f}", f"{row['ms']:.3f}", f"{row['buffers']:,.0f}"
        )
    yield statements


def _work(figures: Mapping[str, Any]) -> tuple[str, str, str]:
    rows = sum(figures["rows"].values())
    return f"{figures['plans']:.0f}", f"{figures['buffers']:,.0f}", f"{rows:,.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", default="5000,50000", metavar="N,...", help="sizes")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--top", type=int, default=15, help="rows of each table")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "pgrecall-profile")
    parser.add_argument("--json", action="store_true", help="print one JSON list instead of tables")
    parser.add_argument("--instructions", action="store_true", help="count only instructions, by valgrind")
    chosen = parser.parse_args(arguments)
    sizes = [int(size) for size in chosen.memories.split(",")]
    if min(sizes) < 1_000 or chosen.questions < 20:
        parser.error("at least 1,000 memories and 20 questions")
    if chosen.instructions:
        for size in sizes:
            print(json.dumps(counted(chosen.cache, size)))
        return
    screen, documents = Console(width=140), []
    with server(chosen.cache / "server") as running:
        for size in sizes:
            url, asked = filled(running, size, chosen.cache)
            found = profile(url, size, asked[: chosen.questions])
            documents.append(found.document())
            if not chosen.json:
                screen.print(*tables(found, chosen.top))
    if chosen.json:
        print(json.dumps(documents, indent=2))


if __name__ == "__main__":
    main()
