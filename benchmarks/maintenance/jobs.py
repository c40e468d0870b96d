"""The jobs, each compared with the least that Postgres or another library does for the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from statistics import median
from typing import Any

import networkx as nx
from psycopg.rows import dict_row

from benchmarks.harness import KNOWN, Goal, Row, seconds
from benchmarks.maintenance.data import TENANT, Bench, log_searches
from pgrecall.jobs.catalogue import VITALITY_ROWS
from pgrecall.nouns.maintenance.operations import FOLD_ROWS, fold_accesses, refresh_graph, refresh_vitality
from pgrecall.nouns.operation import Operation

ENTER = "SELECT set_config('recall.tenant', %(tenant)s, false)"
"""Sets the tenant of maintenance for the following measurements."""
_BARE_UPDATE = """
UPDATE recall.activation SET vitality = NULL, computed_at = NULL WHERE tenant = %(tenant)s
"""
"""Afterwards a refresh has to write every row."""
_BARE_SUMMARY = """
CREATE TABLE maintenance_summary AS
SELECT memory_id, sum(weight) AS n, min(at) AS first_at, (array_agg(at ORDER BY at DESC))[1:8] AS newest
FROM recall.access WHERE tenant = %(tenant)s AND recorded_at >= %(since)s GROUP BY memory_id
"""
"""The summary if every event were an access."""
_BARE_TALLY = """
CREATE TABLE maintenance_summary AS
SELECT memory_id, count(*) AS events, sum(weight) AS weight, min(at) AS first_at, max(at) AS last_at
FROM recall.access WHERE tenant = %(tenant)s AND recorded_at >= %(since)s GROUP BY memory_id
"""
_UPDATES = """
SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables
WHERE schemaname = 'recall' AND relname = 'activation'
"""
ORACLE = "networkx"
_WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


def fetch(bench: Bench, operation: Operation[Any]) -> Any:
    """The result of an operation over the connection of the benchmark, like in a job."""
    cursor = bench.connection.cursor(row_factory=dict_row)
    return operation.read(cursor.execute(operation.sql, operation.parameters).fetchall())


def refresh(bench: Bench, rounds: int) -> Iterator[Row]:
    """The job vitality in its batches, compared with one bare UPDATE of the same columns.

    The first refresh after the UPDATE writes every row; the next one, when the job runs again, those that
    have changed.
    """
    bench.run(ENTER, tenant=TENANT)
    bare, all_rows, again = _Writes(bench), _Writes(bench), _Writes(bench)
    later = bench.now + timedelta(minutes=15)
    for turn in range(rounds + 1):
        for writes, action in (
            (bare, _update_bare),
            (all_rows, partial(_refresh_all, now=bench.now)),
            (again, partial(_refresh_all, now=later)),
        ):
            bench.settle("activation")
            writes.measure(action, kept=turn > 0)
    assert all_rows.updates == bare.updates, "both have updated every row"
    against = "bare HOT UPDATE of the same rows"
    took, wal = median(bare.seconds), median(bare.wal) / 1e6
    yield Row("refresh of all vitality", against, median(all_rows.seconds), took, "s", Goal(2))
    yield Row("refresh 15 minutes later", against, median(again.seconds), took, "s", Goal(1.2))
    yield Row("WAL of the refresh", against, median(all_rows.wal) / 1e6, wal, "MB", Goal(1.05))
    yield Row("WAL 15 minutes later", against, median(again.wal) / 1e6, wal, "MB", Goal(0.1))
    yield Row(
        "its updates that are HOT", "all of them", all_rows.hot, all_rows.updates, "", Goal(0.99, least=True)
    )


def _update_bare(bench: Bench) -> None:
    bench.run(_BARE_UPDATE, tenant=TENANT)


def _refresh_all(bench: Bench, now: datetime) -> None:
    last: int | None = 0
    while last is not None:
        last = fetch(bench, refresh_vitality(last, VITALITY_ROWS, now))


class _Writes:
    """Seconds and bytes of WAL of each round, and the total number of updates."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.seconds: list[float] = []
        self.wal: list[float] = []
        self.updates = self.hot = 0

    def measure(self, action: Callable[[Bench], None], *, kept: bool) -> None:
        wal, updates, hot = self._counters()
        spent = seconds(lambda: action(self._bench))
        wal_after, updates_after, hot_after = self._counters()
        if kept:
            self.seconds.append(spent)
            self.wal.append(wal_after - wal)
            self.updates += updates_after - updates
            self.hot += hot_after - hot

    def _counters(self) -> tuple[float, int, int]:
        self._bench.run("SELECT pg_stat_force_next_flush()")
        updates, hot = self._bench.connection.execute(_UPDATES).fetchone() or (0, 0)
        return float(self._bench.value(_WAL)), updates, hot


def graph(bench: Bench, rounds: int) -> Iterator[Row]:
    """The graph job from table to table, compared with networkx from the table to its articulation points."""
    bench.run(ENTER, tenant=TENANT)
    found: dict[str, int] = {}

    def job() -> None:
        found["job"] = fetch(bench, refresh_graph(None)).points

    def oracle() -> None:
        rows = bench.connection.execute("SELECT src, dst FROM recall.link WHERE tenant = %s", (TENANT,))
        found[ORACLE] = sum(1 for _ in nx.articulation_points(nx.Graph(rows.fetchall())))

    contenders = {"the first time": job, "again": job, ORACLE: oracle}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        bench.run("UPDATE recall.activation SET cut_size = 0, protected = false WHERE cut_size > 0")
        for name, action in contenders.items():
            bench.settle("activation")
            spent = seconds(action)
            if turn:
                times[name].append(spent)
    assert found["job"] == found[ORACLE], "both find as many articulation points"
    least = median(times.pop(ORACLE))
    for name, spent_each in times.items():
        yield Row(f"graph job, {name}", "networkx end to end", median(spent_each), least, "s", Goal(1))


def fold(bench: Bench, rounds: int, events: int) -> Iterator[Row]:
    """The job fold on logged searches, compared with bare GROUP BYs into a table.

    The first, which has the goal, computes the contents of a summary (a count, the first and the eight newest
    times) as if all events were alike. The second keeps no order, so it could not make a summary.
    """
    bench.run(ENTER, tenant=TENANT)
    searches = max(1, events // 10)
    floors: dict[str, list[float]] = {_BARE_SUMMARY: [], _BARE_TALLY: []}
    times: list[float] = []
    for turn in range(rounds):
        since = log_searches(bench, searches, turn, rounds)
        for floor, spent in floors.items():
            spent.append(seconds(partial(bench.run, floor, tenant=TENANT, since=since)))
            bench.run("DROP TABLE maintenance_summary")
        times.append(seconds(partial(_fold_all, bench)))
    wrong = bench.value(
        "SELECT recall.rebuild(ARRAY(SELECT i FROM generate_series(1, %(memories)s, %(step)s) i))",
        memories=bench.memories,
        step=max(1, bench.memories // 1000),
    )
    assert wrong == 0, f"{wrong} summaries are not what the log says"
    took, summary, tally = median(times), median(floors[_BARE_SUMMARY]), median(floors[_BARE_TALLY])
    yield Row(f"fold of {events:,} events", "bare GROUP BY into a new table", took, summary, "s", Goal(3))
    yield Row("the same fold", "bare GROUP BY without the newest times", took, tally, "s", KNOWN)


def _fold_all(bench: Bench) -> None:
    while fetch(bench, fold_accesses(FOLD_ROWS)):
        pass
