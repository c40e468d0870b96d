"""Stores that take turns, each in its own process and database."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.peers.cache import copied, kept
from benchmarks.peers.data import Given
from benchmarks.peers.process import BrokenOff, Store, Worker
from benchmarks.peers.worker import FOUND

WARM = 20
TICKS = os.sysconf("SC_CLK_TCK")
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
_PROTECTED = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relrowsecurity AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""


@dataclass(slots=True)
class Contender:
    """A store, if it is installed, and its measurements."""

    name: str
    failed: str = "not installed"
    opening: dict[str, Any] = field(default_factory=dict)
    loaded: dict[str, Any] = field(default_factory=dict)
    rows_protected: bool = False
    wall: list[float] = field(default_factory=list)
    caller: list[float] = field(default_factory=list)
    backends: float = 0.0
    recall: list[float] = field(default_factory=list)
    a_second: float = 0.0
    _worker: Worker | None = None
    _admin: psycopg.Connection[Any] | None = None
    _database: str = ""

    @property
    def there(self) -> bool:
        return not self.failed

    @contextmanager
    def opened(self, url: str, store: Store, folder: Path) -> Iterator[None]:
        """Starts the store on a copy of its loaded database; ``failed`` has the reason if it cannot."""
        self.failed = ""
        with ExitStack() as stack:
            try:
                template, self.loaded = kept(url, store, folder)
                reached = stack.enter_context(copied(url, template))
                self._worker = stack.enter_context(store.started())
                self.opening = self.ask("open", folder=str(folder), database=reached)
            except BrokenOff as error:
                self.failed = str(error)
                yield
                return
            self._database = reached["dbname"]
            copy = make_conninfo(url, dbname=self._database)
            self._admin = stack.enter_context(psycopg.connect(copy, autocommit=True))
            row = self._admin.execute(_PROTECTED).fetchone()
            self.rows_protected = bool(row and row[0])
            yield
            self.ask("close")

    def ask(self, what: str, **values: Any) -> dict[str, Any]:
        """The worker's answer."""
        assert self._worker is not None
        return self._worker.ask(what, **values)

    def search(self, number: int) -> list[str]:
        """The keys found for a question; the call is timed."""
        answer = self.ask("search", question=number)
        self.wall.append(answer["wall"])
        self.caller.append(answer["processor"])
        keys: list[str] = answer["keys"]
        return keys

    def worked(self) -> dict[int, float]:
        """CPU seconds of each backend of its database so far."""
        assert self._admin is not None
        rows = self._admin.execute(_BACKENDS, (self._database,)).fetchall()
        return {pid: _processor_seconds(pid) for (pid,) in rows}

    def document(self) -> dict[str, Any]:
        """All measurements, in milliseconds unless stated otherwise."""
        if not self.there:
            return {"store": self.name, "failed": self.failed}
        return {
            "store": self.name,
            **self.opening,
            "p50": 1e3 * median(self.wall),
            "p95": 1e3 * quantiles(self.wall, n=20)[-1],
            "CPU of the caller": 1e3 * fmean(self.caller),
            "CPU of the backends": 1e3 * self.backends,
            f"recall@{FOUND}": fmean(self.recall) if self.recall else None,
            "searches a second": self.a_second,
            "seconds of loading": self.loaded["wall"],
            "rows a second": self.loaded["rows"] / self.loaded["wall"],
            "row security": self.rows_protected,
        }


def contest(contenders: Sequence[Contender], given: Given, calls: int, clients: int) -> None:
    """Asks all contenders the same questions, question by question, and then many at once."""
    if not contenders:
        return
    order = _order(given, calls)
    for one in contenders:
        for number in order[:WARM]:
            one.ask("search", question=number)
    before = [one.worked() for one in contenders]
    for turn, number in enumerate(order):
        first = turn % len(contenders)  # the order changes
        for one in (*contenders[first:], *contenders[:first]):
            keys = one.search(number)
            judged = given.questions[number]
            if judged:
                one.recall.append(len(judged.evidence & set(keys)) / len(judged.evidence))
    for one, began in zip(contenders, before, strict=True):
        spent = sum(seconds - began.get(pid, 0.0) for pid, seconds in one.worked().items())
        one.backends = spent / len(order)
    for one in contenders:
        one.a_second = calls / one.ask("together", clients=clients, calls=calls)["wall"]


def _order(given: Given, calls: int) -> list[int]:
    """All questions with evidence, mixed with others, at least ``calls`` in total."""
    judged = [number for number, question in enumerate(given.questions) if question]
    others = [number for number, question in enumerate(given.questions) if not question]
    wanted = max(calls - len(judged), len(judged) // 4)
    some = [others[place % len(others)] for place in range(wanted)]
    both = sorted(
        [
            ((place + 0.5) / len(chosen), number)
            for chosen in (judged, some)
            for place, number in enumerate(chosen)
        ]
    )
    return [number for _, number in both]


def _processor_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
