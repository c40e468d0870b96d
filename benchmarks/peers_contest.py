"""Stores that take turns: each in a process of its own, asked by lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import IO, Any

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.peers_data import Given
from benchmarks.peers_worker import FOUND

WARM = 20
TICKS = os.sysconf("SC_CLK_TCK")
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
_PROTECTED = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relrowsecurity AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""


@dataclass(slots=True)
class Contender:
    """A store, where it is installed, and what became of it."""

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
    _process: subprocess.Popen[str] | None = None
    _errors: IO[str] | None = None
    _admin: psycopg.Connection[Any] | None = None
    _database: str = ""

    @property
    def there(self) -> bool:
        return not self.failed

    @contextmanager
    def opened(self, python: Path, folder: Path, reached: dict[str, str], url: str) -> Iterator[None]:
        """Starts it and stores everything; where it cannot, ``failed`` says why."""
        command = [str(python), "-m", "benchmarks.peers_worker", self.name]
        environment = os.environ | {
            "PYTHONPATH": str(Path(__file__).parent.parent),
            "PYTHONWARNINGS": "ignore",
        }
        self._database = reached["dbname"]
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8") as self._errors,
            psycopg.connect(make_conninfo(url, dbname=self._database), autocommit=True) as self._admin,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
                env=environment,
            ) as self._process,
        ):  # fmt: skip
            try:
                self._load(folder, reached)
                yield
                if self.there:
                    self.ask("close")
            finally:
                self._process.kill()

    def _load(self, folder: Path, reached: dict[str, str]) -> None:
        assert self._admin is not None
        self.failed = ""
        try:
            self.opening = self.ask("open", folder=str(folder), database=reached)
            self.loaded = self.ask("load")
        except BrokenOff as error:
            self.failed = str(error)
            return
        row = self._admin.execute(_PROTECTED).fetchone()
        self.rows_protected = bool(row and row[0])
        self._admin.execute("VACUUM (ANALYZE)")

    def ask(self, what: str, **values: Any) -> dict[str, Any]:
        """The worker's answer.

        Raises:
            BrokenOff: it has ended; with the last line of what it said.
        """
        process, errors = self._process, self._errors
        if process is None or process.stdin is None or process.stdout is None or errors is None:
            raise BrokenOff("it was not started")
        try:
            print(json.dumps({"do": what, **values}), file=process.stdin, flush=True)
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            found: dict[str, Any] = json.loads(answer)
            return found
        process.wait()
        errors.seek(0)
        said = [line for line in errors if line[:1].strip() and not line.startswith(("DETAIL", "HINT"))]
        raise BrokenOff(said[-1].strip() if said else f"ended with {process.returncode}")

    def search(self, number: int) -> list[str]:
        """The keys of what one question finds, which is timed."""
        answer = self.ask("search", question=number)
        self.wall.append(answer["wall"])
        self.caller.append(answer["processor"])
        keys: list[str] = answer["keys"]
        return keys

    def worked(self) -> dict[int, float]:
        """Processor seconds of each backend of its database so far."""
        assert self._admin is not None
        rows = self._admin.execute(_BACKENDS, (self._database,)).fetchall()
        return {pid: _processor_seconds(pid) for (pid,) in rows}

    def document(self) -> dict[str, Any]:
        """Everything that was measured; milliseconds where nothing else is said."""
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


class BrokenOff(Exception):
    """A worker that has ended."""


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
        first = turn % len(contenders)  # nobody always comes after the same other
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
    """Questions with evidence, all of them, and others in between, at least ``calls`` in all."""
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
