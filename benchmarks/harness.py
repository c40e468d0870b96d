"""Shared by benchmarks: a fresh database, interleaved timing, and the table of ratios with goals."""

from __future__ import annotations

import json
import os
import platform
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from statistics import median
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

import pgrecall
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import InvalidInput
from pgrecall.nouns.search.models import SearchResult
from pgrecall.schema import migrate
from pgrecall.settings import Settings

SETTINGS = ("shared_buffers", "work_mem", "fsync", "full_page_writes", "wal_compression", "jit")
_SETTINGS = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY (%s) ORDER BY name"


@dataclass(frozen=True, slots=True)
class Goal:
    """An upper bound of a ratio; a lower bound with ``least``."""

    bound: float
    least: bool = False

    def met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.least else ratio <= self.bound

    def __str__(self) -> str:
        if self == KNOWN:
            return ""
        return f"{'>=' if self.least else '<='} {self.bound:g}"


KNOWN = Goal(float("inf"))
"""No goal: the figure is only shown."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement, the floor that it is compared with, both in ``unit``, and the goal of their ratio."""

    measure: str
    against: str
    measured: float
    floor: float
    unit: str
    goal: Goal

    @property
    def ratio(self) -> float:
        return self.measured / self.floor

    @property
    def ok(self) -> bool:
        return self.goal.met(self.ratio)

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio, "goal": str(self.goal), "ok": self.ok}


def seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def interleaved(actions: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median seconds of each action. Each round runs all of them; the first round is discarded.

    Each round begins with another action, since the first one pays for cold processor caches.
    """
    taken: list[list[float]] = [[] for _ in actions]
    for turn in range(rounds + 1):
        for place in range(len(actions)):
            one = (turn + place) % len(actions)
            spent = seconds(actions[one])
            if turn:
                taken[one].append(spent)
    return [median(times) for times in taken]


def surroundings(connection: psycopg.Connection[Any], *packages: str) -> dict[str, Any]:
    """Versions, settings of the server, and the load of the machine."""
    return {
        "versions": {
            "pgrecall": pgrecall.__version__,
            "postgres": connection.info.parameter_status("server_version"),
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
        },
        "settings": dict(connection.execute(_SETTINGS, (list(SETTINGS),)).fetchall()),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


def show(rows: Sequence[Row], sizes: Mapping[str, int], around: Mapping[str, Any], *, as_json: bool) -> None:
    """Prints the rows, the sizes of the data, and the surroundings."""
    if as_json:
        print(json.dumps({**sizes, **around, "rows": [row.document() for row in rows]}, indent=2))
        return
    console = Console(width=140)
    console.print(table(rows, ", ".join(f"{number:,} {name}" for name, number in sizes.items())))
    for title in ("versions", "settings"):
        console.print(", ".join(f"{name} {value}" for name, value in around[title].items()), highlight=False)
    console.print(f"{around['cores']} cores, load {around['load']} at the start", highlight=False)


def table(rows: Sequence[Row], title: str) -> Table:
    shown = Table(title=title)
    for column in ("measure", "against", "measured", "floor", "ratio", "goal", ""):
        shown.add_column(column, justify="left" if column in ("measure", "against") else "right")
    for row in rows:
        shown.add_row(
            row.measure,
            row.against,
            f"{row.measured:,.4g} {row.unit}",
            f"{row.floor:,.4g} {row.unit}",
            f"{row.ratio:.3g}",
            str(row.goal),
            "ok" if row.ok else "miss",
        )
    return shown


@contextmanager
def fresh_database(settings: Settings, dimensions: int) -> Iterator[str]:
    """The URL of a new, initialised database on the configured server, else on the embedded one."""
    configured = settings.database_url
    server = None if configured else EmbeddedServer.start(settings.data_dir)
    base = server.url if server else configured.get_secret_value() if configured else ""
    name = f"recall_benchmark_{uuid.uuid4().hex[:8]}"
    try:
        with psycopg.connect(base, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        url = make_conninfo(base, dbname=name)
        try:
            migrate.upgrade(url, dimensions=dimensions)
            yield url
        finally:
            with psycopg.connect(base, autocommit=True) as admin:
                _drop(admin, name)
    finally:
        if server:
            server.release()


def search_by_arms(memory: Memory, query: str, options: SearchOptions) -> SearchResult:
    """A search by all arms or, with ``weights``, by some.

    An arm alone may refuse a query, as words refuse "why is that?": then nothing is found. All arms together
    may not, so that a fault of theirs is not counted as a miss.
    """
    try:
        return memory.search(query, **options)
    except InvalidInput:
        if "weights" not in options:
            raise
        return SearchResult((), answered=False)


def _drop(admin: psycopg.Connection[Any], name: str) -> None:
    """Retries, since Postgres waits only five seconds for sessions to end."""
    statement = f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode()
    for _ in range(9):
        with suppress(psycopg.errors.ObjectInUse):
            admin.execute(statement)
            return
    admin.execute(statement)
