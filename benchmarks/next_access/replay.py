"""Replays an access log through pgrecall and evaluates predictions on the way.

A deleted item is deleted as a memory, because a later item with its name would inherit the past of an
archived memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from psycopg import Connection
from psycopg.types.json import Jsonb

from benchmarks.intervals import Floats
from benchmarks.next_access.access_log import AccessLog, Batch
from benchmarks.next_access.cued import CUED as PREDICTED
from benchmarks.next_access.cued import POOL, Association, cue_of, judge_cued
from benchmarks.next_access.predictors import PREDICTORS, History, View
from benchmarks.next_access.ranking_measures import judge
from pgrecall.database.pool import Database
from pgrecall.database.server import Row
from pgrecall.nouns.operation import Operation

WARM_UP = 0.2
WEEK = timedelta(days=7).total_seconds()
PRODUCT = "pgrecall"
ANALYZE_EVERY = 25

REMEMBER = "SELECT count(*) FROM recall.remember_many(%(items)s, p_now => %(now)s)"
ACCESS = "SELECT recall.record_accesses(%(items)s, %(now)s)"
FORGET = "SELECT recall.forget(recall.id_of(%(key)s), true, %(now)s)"
CUED = (
    "SELECT key FROM recall.search(p_cues => ARRAY[recall.id_of(%(cue)s)], p_k => %(pool)s, "
    "p_explain => false, p_now => %(at)s) ORDER BY rank"
)
MEDIANS = "SELECT recall.refresh_medians(%s)"
VITALITY = "SELECT key, recall.vitality(id, %(at)s) FROM recall.memory WHERE tenant = recall.current_tenant()"


def moment(epoch: int) -> datetime:
    return datetime.fromtimestamp(epoch, UTC)


@dataclass
class Replay:
    """A log in pgrecall. Batches are queued until vitality is needed, then applied in one transaction."""

    database: Database
    tenant: str
    rows: int = 0
    seconds: float = 0.0
    """How many vitalities were computed, and in how many seconds."""
    _asked: int = 0
    _waiting: list[Batch] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        self._waiting.append(batch)

    def vitalities(self, now: int) -> dict[str, float]:
        """The vitality of every live memory at ``now``, by key."""
        with self.database.transaction(self.tenant) as connection:
            for batch in self._waiting:
                _apply(connection, batch)
            if self._asked % ANALYZE_EVERY == 0:  # years pass before autovacuum runs
                connection.execute("ANALYZE")
            connection.execute(MEDIANS, (moment(now),))
        self._asked += 1
        self._waiting.clear()
        started = time.perf_counter()
        found = self.database.fetch(Operation(VITALITY, {"at": moment(now)}, list), tenant=self.tenant)
        self.seconds += time.perf_counter() - started
        self.rows += len(found)
        return {row["key"]: row["vitality"] for row in found}

    def foreseen(self, cue: str, now: int) -> list[str]:
        """The memories that a search by this cue alone finds, best first."""
        asked = {"cue": cue, "at": moment(now), "pool": POOL}
        return [row["key"] for row in self.database.fetch(Operation(CUED, asked, list), tenant=self.tenant)]


def _apply(connection: Connection[Row], batch: Batch) -> None:
    now = moment(batch.at)
    if batch.born:
        items = [{"key": item, "body": f"Item {item}", "layer": "knowledge"} for item in batch.born]
        connection.execute(REMEMBER, {"items": Jsonb(items), "now": now})
    if batch.accessed:
        uses = [
            {"key": item, "kind": "used", "at": now.isoformat(), "session_id": batch.name}
            for item in batch.accessed
        ]
        connection.execute(ACCESS, {"items": Jsonb(uses), "now": now})
    for item in batch.deleted:
        connection.execute(FORGET, {"key": item, "now": now})


@dataclass(frozen=True)
class Outcome:
    """The results of each predictor on one log: an array of evaluations by MEASURES."""

    log: AccessLog
    eligible: int
    judged: dict[str, Floats]
    cued: Floats
    """Reciprocal ranks by evaluation that had a cue, and predictor in the order of ``cued.CUED``."""
    microseconds_a_vitality: float
    seconds: float


def eligible(log: AccessLog) -> list[int]:
    """The batches after the warm-up that use known items, if there is a choice."""
    first = int(np.ceil(WARM_UP * len(log.batches)))
    return [
        number
        for number, batch in enumerate(log.batches)
        if number >= first and batch.accessed and batch.alive > len(batch.accessed)
    ]


def spread(numbers: Sequence[int], most: int) -> set[int]:
    """At most so many of the numbers, evenly spread from the first to the last."""
    places = np.linspace(0, len(numbers) - 1, min(most, len(numbers)))
    return {numbers[place] for place in places.round().astype(int)}


def used_within_week(log: AccessLog, number: int) -> set[str]:
    until = log.batches[number].at + WEEK
    used: set[str] = set()
    for batch in log.batches[number:]:
        if batch.at > until:
            break
        used.update(batch.accessed)
    return used


def replay(log: AccessLog, database: Database, evaluations: int, advance: Callable[[], None]) -> Outcome:
    """Replays one log in an empty tenant and evaluates every predictor.

    Args:
        evaluations: at most so many, evenly spread over the eligible batches.
        advance: called once a batch.
    """
    started = time.perf_counter()
    candidates = eligible(log)
    chosen = spread(candidates, evaluations)
    product, history, association = Replay(database, f"log {log.name}"), History(), Association()
    cued: list[tuple[float, ...]] = []
    judged: dict[str, list[tuple[float, ...]]] = {name: [] for name in (PRODUCT, *PREDICTORS)}
    for number, batch in enumerate(log.batches):
        if number in chosen:
            vitality = product.vitalities(batch.at)
            items, scores = score_all(history.view(batch.at), vitality)
            if cue := cue_of(batch):
                cued.append(judge_cued(cue, batch, product.foreseen(cue, batch.at), association, vitality))
            used, in_week = set(batch.accessed), used_within_week(log, number)
            targets = [np.array([item in wanted for item in items]) for wanted in (used, in_week)]
            for name, score in scores.items():
                judged[name].append(judge(score, *targets))
        history.add(batch)
        association.add(batch)
        product.add(batch)
        advance()
    return Outcome(
        log=log,
        eligible=len(candidates),
        judged={name: np.array(rows) for name, rows in judged.items()},
        cued=np.array(cued).reshape(len(cued), len(PREDICTED)),
        microseconds_a_vitality=1e6 * product.seconds / product.rows,
        seconds=time.perf_counter() - started,
    )


def score_all(view: View, vitality: Mapping[str, float]) -> tuple[tuple[str, ...], dict[str, Floats]]:
    """The live items and their scores by each predictor."""
    if vitality.keys() != set(view.items):
        raise RuntimeError("pgrecall holds other memories than the log says are alive.")
    product = np.array([vitality[item] for item in view.items])
    return view.items, {PRODUCT: product, **{name: predict(view) for name, predict in PREDICTORS.items()}}
