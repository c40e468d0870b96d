"""Using memories in tests: storing, recording, showing and folding, and what the mathematics says of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from pgrecall.vitality.activation import AccessSummary
from tests.databases import Query
from tests.model.access_log import FoldedLog, LoggedAccess, fold

BIRTH = datetime(2026, 1, 1, tzinfo=UTC)
KIND_WEIGHTS = {"write": 1.0, "read": 1.0, "reference": 1.0, "used": 1.0, "retrieval": 0.1}


@dataclass(frozen=True)
class Use:
    """One use of a memory as a test thinks of it: seconds after its birth, what kind, in which session."""

    seconds: float
    kind: str = "read"
    session: str | None = None

    @property
    def at(self) -> datetime:
        return BIRTH + timedelta(seconds=self.seconds)


def note(
    sql: Query, key: str = "k", *, at: datetime = BIRTH, layer: str = "knowledge", **options: Any
) -> int:
    """Stores a memory at ``at``; returns its id."""
    call = "SELECT recall.remember('b', p_key => %s, p_layer => %s, p_now => %s) AS id"
    return int(sql(call, (key, layer, at), **options)[0]["id"])


def notes(sql: Query, many: int, *, at: datetime = BIRTH) -> list[int]:
    return [note(sql, f"k{place}", at=at) for place in range(many)]


def record(sql: Query, items: Iterable[Mapping[str, Any]], now: datetime) -> int:
    """Records and folds accesses; returns how many were new."""
    rows = sql(
        "SELECT recall.record_accesses(%s::jsonb, %s) AS new", (json.dumps([*items], default=str), now)
    )
    return int(rows[0]["new"])


def item(memory: int, use: Use) -> dict[str, Any]:
    return {"memory_id": memory, "kind": use.kind, "at": use.at, "session_id": use.session}


def log_later(sql: Query, memory: int, use: Use, weight: float, now: datetime) -> None:
    """Logs an access as a search does: for a fold to come."""
    sql(
        "WITH shown AS (INSERT INTO recall.access "
        "(tenant, memory_id, kind, weight, at, session_id, recorded_at) "
        "VALUES ('acme', %(memory)s, %(kind)s, %(weight)s, %(at)s, %(session)s, %(now)s)) "
        "INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES ('acme', ARRAY[%(memory)s], %(at)s)",
        {
            "memory": memory,
            "kind": use.kind,
            "weight": weight,
            "at": use.at,
            "session": use.session,
            "now": now,
        },
    )


def fold_once(sql: Query, limit: int = 1000) -> int:
    return int(sql("SELECT recall.fold_accesses(%s) AS searches", (limit,))[0]["searches"])


def fold_all(sql: Query, limit: int = 1000) -> int:
    """Folds until nothing is left; returns how many searches were folded."""
    total = 0
    while done := fold_once(sql, limit):
        total += done
    return total


def rebuild(sql: Query, memories: list[int] | None = None) -> int:
    return int(sql("SELECT recall.rebuild(%s) AS changed", (memories,))[0]["changed"])


def waiting(sql: Query) -> int:
    return int(sql("SELECT count(*) FROM recall.access_queue")[0]["count"])


def logged(sql: Query) -> int:
    """How many uses are in the log, births left out."""
    return int(sql("SELECT count(*) FROM recall.access WHERE kind <> 'write'")[0]["count"])


def state(sql: Query, memory: int) -> dict[str, Any]:
    """The activation row of a memory."""
    [row] = sql("SELECT * FROM recall.activation WHERE memory_id = %s", (memory,))
    return row


def states(sql: Query) -> dict[int, dict[str, Any]]:
    return {row["memory_id"]: row for row in sql("SELECT * FROM recall.activation ORDER BY memory_id")}


def summary_of(row: Mapping[str, Any]) -> AccessSummary:
    newest = tuple(row[f"t{rank}"] for rank in range(1, 9) if row[f"t{rank}"] is not None)
    return AccessSummary(row["n"], row["first_at"], newest)


def summary(sql: Query, memory: int) -> AccessSummary:
    return summary_of(state(sql, memory))


def folded(row: Mapping[str, Any]) -> FoldedLog:
    """What the database has folded; the credit rounded, to be compared."""
    return FoldedLog(summary_of(row), round(row["credit"], 9))


def expected_fold(
    uses: Iterable[Use],
    *,
    birth: float = 1.0,
    weights: Mapping[str, float] = KIND_WEIGHTS,
    burst_seconds: float = 600.0,
) -> FoldedLog:
    """What the mathematics says of a memory born at BIRTH and used so, in the order of arrival."""
    events = [LoggedAccess(BIRTH.timestamp(), birth, "write")]
    events += [LoggedAccess(use.at.timestamp(), weights[use.kind], use.kind, use.session) for use in uses]
    outcome = fold(events, burst_seconds)
    return FoldedLog(outcome.summary, round(outcome.credit, 9))


def fold_of_log(sql: Query, memory: int, burst_seconds: float = 600.0) -> FoldedLog:
    """What the mathematics says of a memory's log as it stands in the database."""
    rows = sql(
        "SELECT recall_private.epoch(at) AS at, weight, kind, session_id FROM recall.access "
        "WHERE memory_id = %s ORDER BY id",
        (memory,),
    )
    outcome = fold((LoggedAccess(**renamed(row)) for row in rows), burst_seconds)
    return FoldedLog(outcome.summary, round(outcome.credit, 9))


def renamed(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"at": row["at"], "weight": row["weight"], "kind": row["kind"], "session": row["session_id"]}


def join(
    sql: Query, src: int, dst: int, relation: str = "links_to", weight: float = 1, at: datetime = BIRTH
) -> None:
    sql("SELECT recall.link(%s, %s, %s, %s, %s)", (src, dst, relation, weight, at))


def use(sql: Query, memory: int, now: datetime, kind: str = "used", **options: Any) -> None:
    record(sql, [{"memory_id": memory, "kind": kind} | options], now)


def stored(sql: Query, memory: int) -> tuple[float, float | None]:
    """The spreading boost of a memory and its time."""
    row = state(sql, memory)
    return row["spread"], row["spread_at"]


@contextmanager
def as_tenant(url: str, *, autocommit: bool = True) -> Iterator[psycopg.Connection[Any]]:
    """A connection of its own for tenant ``acme``."""
    connection = psycopg.connect(url, autocommit=autocommit)
    try:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        yield connection
    finally:
        connection.close()
