"""Measures of a soak: memory, connections, sizes, locks and speed, and whether each stays bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import psutil
import psycopg

Sample = Mapping[str, float]

SIZES = (
    "SELECT coalesce(p.inhparent, c.oid)::regclass::text AS relation, "
    "sum(pg_total_relation_size(c.oid))::float8 AS bytes, sum(s.n_live_tup)::float8 AS live, "
    "sum(s.n_dead_tup)::float8 AS dead FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid "
    "LEFT JOIN pg_inherits p ON p.inhrelid = c.oid WHERE c.relnamespace = 'recall'::regnamespace GROUP BY 1"
)
SERVER = (
    "SELECT (SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database())::float8 AS connections, "
    "(SELECT count(*) FROM pg_locks WHERE database = (SELECT oid FROM pg_database "
    "WHERE datname = current_database()))::float8 AS locks, "
    "(SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database())::float8 AS temp, "
    "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal"
)
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"


def sample(connection: psycopg.Connection[dict[str, Any]], seconds: Sequence[float]) -> dict[str, float]:
    """All figures now; ``seconds`` are those of the last searches."""
    taken: dict[str, float] = dict(connection.execute(SERVER).fetchall()[0])
    taken["client memory"] = float(psutil.Process().memory_info().rss)
    taken["largest backend"] = max(map(_private, connection.execute(BACKENDS).fetchall()), default=0.0)
    taken["search"] = median(seconds) if seconds else 0.0
    for row in connection.execute(SIZES).fetchall():
        table = row["relation"].removeprefix("recall.")
        taken[f"bytes {table}"], taken[f"rows {table}"] = row["bytes"], row["live"]
        taken[f"dead {table}"] = row["dead"]
    return taken


def _private(row: Mapping[str, Any]) -> float:
    """The private memory of a backend; 0 if it cannot be read."""
    try:
        memory = psutil.Process(row["pid"]).memory_info()
    except psutil.Error:
        return 0.0
    return float(memory.rss - memory.shared)


@dataclass(frozen=True, slots=True)
class Bound:
    """The allowed growth of a figure from the middle of a soak to its end: a share plus a constant.

    ``per`` names a figure that it may grow in proportion to.
    """

    figure: str
    share: float
    free: float = 0.0
    per: str | None = None


MIB = 1024.0 * 1024
BOUNDS = (
    Bound("client memory", 0.15, 16 * MIB),
    Bound("largest backend", 0.25, 16 * MIB),
    Bound("connections", 0.0, 1),
    Bound("locks", 0.5, 30),
    Bound("search", 0.5, 0.02, "rows memory"),
    Bound("bytes memory", 0.25, 8 * MIB, "rows memory"),
    Bound("bytes activation", 0.5, 8 * MIB, "rows memory"),
    Bound("bytes name", 0.5, 8 * MIB, "rows memory"),
    Bound("bytes link", 0.5, 8 * MIB, "rows link"),
    Bound("bytes access", 0.25, 8 * MIB, "rows access"),
    Bound("bytes search_log", 0.25, 4 * MIB, "rows search_log"),
    Bound("bytes access_queue", 0.5, 4 * MIB),
    Bound("bytes lexeme", 0.5, 4 * MIB, "rows lexeme"),
    Bound("rows access_queue", 1.0, 500),
    Bound("bytes job_run", 0.5, 4 * MIB, "rows job_run"),
    Bound("bytes plan_item", 0.25, 4 * MIB, "rows plan_item"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure at the start, in the middle and at the end, and whether its growth is within the bound."""

    figure: str
    first: float
    middle: float
    last: float
    limit: float

    @property
    def ok(self) -> bool:
        return self.last <= self.limit


def judge(samples: Sequence[Sample], bounds: Sequence[Bound] = BOUNDS) -> list[Verdict]:
    """A verdict for each bound, with medians of the samples around the middle and the end.

    Raises:
        ValueError: there are fewer than four samples.
    """
    if len(samples) < 4:
        raise ValueError(f"{len(samples)} samples say nothing; let the soak run longer, or sample more often")
    width = max(1, len(samples) // 8)
    half = len(samples) // 2
    return [
        _verdict(bound, samples[:width], samples[half : half + width], samples[-width:]) for bound in bounds
    ]


def _verdict(bound: Bound, *parts: Sequence[Sample]) -> Verdict:
    first, middle, last = (median(one.get(bound.figure, 0.0) for one in part) for part in parts)
    grown = 1.0
    if bound.per is not None:
        before, after = (median(one.get(bound.per, 0.0) for one in part) for part in parts[1:])
        grown = max(after / before, 1.0) if before > 0 else 1.0
    return Verdict(bound.figure, first, middle, last, middle * grown * (1 + bound.share) + bound.free)
