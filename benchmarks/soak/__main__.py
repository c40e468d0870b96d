"""A simulated day of use in minutes: does anything grow that should not?

    python -m benchmarks.soak [--memories 50000] [--hours 24] [--minutes 20] [--tenants 3] [--json FILE]

Tenants import, search, use, reject, link, supersede and prune, and the jobs run, by a simulated clock. Exit
code 1 if something grows without bound or verification finds a problem.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row
from rich.console import Console
from rich.table import Table

from benchmarks.harness import fresh_database
from benchmarks.soak.measures import MIB, Verdict, judge, sample
from benchmarks.soak.simulation import TICK, Life
from pgrecall import Memory
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings

DIMENSIONS = 64
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
SAMPLES = 48


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a soak."""

    hours: float
    minutes: float
    counts: dict[str, int]
    verdicts: list[Verdict]
    sizes: dict[str, float]
    problems: list[str]

    @property
    def ok(self) -> bool:
        return not self.problems and all(verdict.ok for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class Plan:
    """The duration and the amount of work."""

    memories: int = 50_000
    hours: float = 24.0
    minutes: float = 20.0
    tenants: int = 3

    @property
    def ticks(self) -> int:
        return max(8, round(timedelta(hours=self.hours) / TICK))


def soak(url: str, plan: Plan) -> Outcome:
    """Runs the simulation in an initialised database until the time is up."""
    tenants = tuple(f"tenant{number}" for number in range(plan.tenants))
    settings = Settings(database_url=url, tenant=tenants[0], embedder="hash", embedder_dimensions=DIMENSIONS)
    began, taken = time.monotonic(), []
    with ExitStack() as stack:
        memory = stack.enter_context(Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)))
        watch = stack.enter_context(psycopg.connect(url, autocommit=True, row_factory=dict_row))
        life = Life(memory, watch, tenants, BEGIN, plan.memories, plan.ticks)
        every = max(1, plan.ticks // SAMPLES)
        while life.turn < plan.ticks and time.monotonic() - began < plan.minutes * 60:
            life.tick()
            if life.turn % every == 0:
                taken.append(sample(watch, life.seconds))
                life.seconds.clear()
        problems = _problems(memory, tenants, watch, life.clock)
    failed = [f"job {name}: {many}" for name, many in life.counts.items() if name.endswith(" failed")]
    spent = (time.monotonic() - began) / 60
    hours = (life.clock - BEGIN) / timedelta(hours=1)
    return Outcome(hours, spent, dict(life.counts), judge(taken), taken[-1], problems + failed)


def _problems(
    memory: Memory, tenants: Sequence[str], watch: psycopg.Connection[dict[str, Any]], now: datetime
) -> list[str]:
    """The findings of verification after folding, and rights that differ from the declared ones."""
    found = []
    for tenant in tenants:
        client = memory.for_tenant(tenant)
        client.maintenance.fold()
        found += [
            f"{tenant}: {check.name} {check.examples}"
            for check in client.maintenance.verify(now=now)
            if check.problems
        ]
    rows = watch.execute("SELECT problem FROM recall.access_problems() WHERE ours").fetchall()
    return found + [row["problem"] for row in rows]


def table_of(outcome: Outcome) -> Table:
    table = Table(title=f"{outcome.hours:.1f} simulated hours in {outcome.minutes:.1f} minutes")
    for column in ("figure", "start", "middle", "end", "limit", ""):
        table.add_column(column, justify="left" if column in ("figure", "") else "right")
    for verdict in outcome.verdicts:
        told = [_told(verdict.figure, value) for value in
                (verdict.first, verdict.middle, verdict.last, verdict.limit)]  # fmt: skip
        table.add_row(verdict.figure, *told, "ok" if verdict.ok else "miss")
    return table


def _told(figure: str, value: float) -> str:
    if figure.startswith("bytes ") or figure in ("client memory", "largest backend"):
        return f"{value / MIB:.1f} MiB"
    return f"{value * 1000:.1f} ms" if figure == "search" else f"{value:.0f}"


def tell(console: Console, outcome: Outcome) -> None:
    console.print(table_of(outcome))
    console.print(", ".join(f"{many} {what}" for what, many in sorted(outcome.counts.items())))
    dead = {name[5:]: many for name, many in outcome.sizes.items() if name.startswith("dead ") and many}
    console.print("dead rows: " + ", ".join(f"{name} {many:.0f}" for name, many in sorted(dead.items())))
    console.print(
        f"WAL {outcome.sizes['wal'] / MIB:.0f} MiB, temporary files {outcome.sizes['temp'] / MIB:.0f} MiB"
    )
    for problem in outcome.problems:
        console.print(f"problem: {problem}")
    console.print("everything stays bounded" if outcome.ok else "something does not stay bounded, see above")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    usual = Plan()
    parser.add_argument("--memories", type=int, default=usual.memories, help="how many are imported")
    parser.add_argument("--hours", type=float, default=usual.hours, help="of simulated life")
    parser.add_argument("--minutes", type=float, default=usual.minutes, help="of real time, at most")
    parser.add_argument("--tenants", type=int, default=usual.tenants)
    parser.add_argument("--json", type=Path, help="write the outcome here too")
    given = parser.parse_args(arguments)
    plan = Plan(given.memories, given.hours, given.minutes, given.tenants)
    with fresh_database(Settings(), DIMENSIONS) as url:
        outcome = soak(url, plan)
    tell(Console(width=110), outcome)
    if given.json:
        given.json.write_text(json.dumps(asdict(outcome) | {"ok": outcome.ok}, indent=1), encoding="utf-8")
    return 0 if outcome.ok else 1


if __name__ == "__main__":
    sys.exit(main())
