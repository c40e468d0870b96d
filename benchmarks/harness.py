"""What benchmarks share: a database of their own, timed pairs, and the table of ratios with goals."""

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
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.settings import Settings

SETTINGS = ("shared_buffers", "work_mem", "fsync", "full_page_writes", "wal_compression", "jit")
_SETTINGS = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY (%s) ORDER BY name"


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound of a ratio; ``least`` turns it round."""

    bound: float
    least: bool = False

    def met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.least else ratio <= self.bound

    def __str__(self) -> str:
        if self == KNOWN:
            return ""
        return f"{'>=' if self.least else '<='} {self.bound:g}"


KNOWN = Goal(float("inf"))
"""Of what is there to be known."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured, against what, and what is wanted of their ratio. Both in the same ``unit``."""

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
    """The median of each action's seconds; each round does all of them, and a first one is thrown away.

    Another one begins each round: what asks first pays for what the processor's caches do not hold yet.
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
    """Versions, settings of the server, and how busy the machine is."""
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
    """Prints the rows, with how much of what they were measured on and in which surroundings."""
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


def _drop(admin: psycopg.Connection[Any], name: str) -> None:
    """Postgres waits five seconds for its sessions to end, which may be too few on a busy machine."""
    statement = f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode()
    for _ in range(9):
        with suppress(psycopg.errors.ObjectInUse):
            admin.execute(statement)
            return
    admin.execute(statement)
