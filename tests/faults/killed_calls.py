"""Calls that are interrupted: for each the table at which it can be held up, and whether all of it was done.

A call works on the keys of its turn, so that it can be repeated. ``done`` returns whether everything was
stored. It fails if only a part was, or something twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from pgrecall import Access, Draft, Memory
from pgrecall.errors import InvalidInput
from pgrecall.nouns.memories.models import DraftLink

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=900)
MANY = 60

Admin = psycopg.Connection[Any]


@dataclass(frozen=True)
class KilledCall:
    """A call of one statement, of which ``marker`` is a part; it waits if the table ``held`` is locked."""

    name: str
    marker: str
    held: str
    prepare: Callable[[Memory, int], None]
    do: Callable[[Memory, int], object]
    done: Callable[[Admin, str, int], bool]


def keys(turn: int, many: int = MANY) -> list[str]:
    return [f"t{turn}-{place}" for place in range(many)]


def drafts(turn: int) -> list[Draft]:
    """Notes that link to the one before and to one that does not exist."""
    return [
        Draft(
            f"Note {place} of turn {turn} on the tide in harbour {place % 7}",
            key=key,
            title=f"Note {key}",
            links=(DraftLink(f"t{turn}-{place - 1}"), DraftLink(f"absent-{turn}")) if place else (),
        )
        for place, key in enumerate(keys(turn))
    ]


def nothing(_: Memory, __: int) -> None:
    """No preparation."""


def stored(memory: Memory, turn: int) -> None:
    memory.remember_many(drafts(turn), now=LONG_AGO)


def count(admin: Admin, sql: str, *parameters: object) -> list[int]:
    """The numbers in the one row of a query."""
    row = admin.execute(sql, parameters).fetchone()
    assert row is not None
    return list(row)


def all_or_none(found: int, wanted: int, what: str) -> bool:
    assert found in (0, wanted), f"{found} of {wanted} {what}"
    return found == wanted


STORED = (
    "SELECT count(*), count(DISTINCT m.key), (SELECT count(*) FROM recall.activation a JOIN recall.memory o "
    "ON o.tenant = a.tenant AND o.id = a.memory_id WHERE a.tenant = %s AND o.key LIKE %s), "
    "(SELECT count(*) FROM recall.access e JOIN recall.memory o ON o.tenant = e.tenant "
    "AND o.id = e.memory_id WHERE e.tenant = %s AND e.kind = 'write' AND o.key LIKE %s) "
    "FROM recall.memory m WHERE m.tenant = %s AND m.key LIKE %s"
)


def are_stored(admin: Admin, tenant: str, turn: int) -> bool:
    """Each memory once, with its activation and its birth in the log."""
    numbers = count(admin, STORED, *(tenant, f"t{turn}-%") * 3)
    assert len(set(numbers)) == 1, numbers
    return all_or_none(numbers[0], MANY, "memories")


def is_imported(admin: Admin, tenant: str, turn: int) -> bool:
    """The same of an import, which commits batch by batch."""
    numbers = count(admin, STORED, *(tenant, f"t{turn}-%") * 3)
    assert len(set(numbers)) == 1, numbers
    return numbers[0] == 3 * MANY


def use(memory: Memory, turn: int) -> int:
    return memory.record_accesses(
        [Access(key, "used", session_id=f"s{turn}", idempotency_key=f"{key} used") for key in keys(turn)]
    )


def are_used(admin: Admin, tenant: str, turn: int) -> bool:
    """Each use counted once, with its key."""
    [logged, known] = count(
        admin,
        "SELECT (SELECT count(*) FROM recall.access e WHERE e.tenant = %s AND e.session_id = %s), "
        "(SELECT count(*) FROM recall.access_key k WHERE k.tenant = %s AND k.idempotency_key LIKE %s)",
        tenant, f"s{turn}", tenant, f"t{turn}-%",
    )  # fmt: skip
    assert logged == known
    return all_or_none(logged, MANY, "uses")


def ask(memory: Memory, turn: int) -> object:
    hits = memory.search(f"turn {turn} tide harbour note", k=20, session_id=f"ask {turn}").hits
    assert hits
    return hits


def are_shown(admin: Admin, tenant: str, turn: int) -> bool:
    """What was shown is in the log of accesses and in the log of searches, or in neither."""
    [shown, logged] = count(
        admin,
        "SELECT (SELECT coalesce(sum(cardinality(s.shown)), 0) FROM recall.search_log s "
        "WHERE s.tenant = %s AND s.session_id = %s), (SELECT count(*) FROM recall.access e "
        "WHERE e.tenant = %s AND e.kind = 'retrieval' AND e.session_id = %s)",
        tenant, f"ask {turn}", tenant, f"ask {turn}",
    )  # fmt: skip
    assert shown == logged
    return shown > 0


def planned(memory: Memory, turn: int) -> None:
    memory.remember_many([Draft(f"Old {key}", key=key, layer="activity") for key in keys(turn)], now=LONG_AGO)
    memory.plans.prune(max_share=1.0, now=NOW)


def prune(memory: Memory, _: int) -> object:
    newest = memory.plans.list(limit=1)[0]
    return memory.plans.apply(newest.id, now=NOW) if newest.state == "planned" else None


def are_pruned(admin: Admin, tenant: str, turn: int) -> bool:
    """The plan is applied and everything in it archived with a reason, or nothing."""
    [applied, gone, reasons] = count(
        admin,
        "SELECT (SELECT count(*) FROM recall.plan_item i JOIN recall.plan p ON p.tenant = i.tenant "
        "AND p.id = i.plan_id JOIN recall.memory m ON m.tenant = i.tenant AND m.id = i.memory_id "
        "WHERE i.tenant = %s AND m.key LIKE %s AND p.state = 'applied' AND i.outcome = 'archived'), "
        "(SELECT count(*) FROM recall.memory m WHERE m.tenant = %s AND m.key LIKE %s "
        "AND m.archived_at IS NOT NULL), "
        "(SELECT count(*) FROM recall.archival v JOIN recall.memory m ON m.tenant = v.tenant "
        "AND m.id = v.memory_id WHERE v.tenant = %s AND m.key LIKE %s AND v.restored_at IS NULL "
        "AND v.reason = 'pruned')",
        *(tenant, f"t{turn}-%") * 3,
    )
    assert applied == gone == reasons
    return all_or_none(gone, MANY, "memories of a plan")


def supersede(memory: Memory, turn: int) -> object:
    return memory.supersede(f"t{turn}-0", f"t{turn}-1")


def is_superseded(admin: Admin, tenant: str, turn: int) -> bool:
    [successors, links] = count(
        admin,
        "SELECT (SELECT count(*) FROM recall.memory m WHERE m.tenant = %s AND m.key = %s "
        "AND m.superseded_by IS NOT NULL), (SELECT count(*) FROM recall.link l JOIN recall.memory m "
        "ON m.tenant = l.tenant AND m.id = l.dst WHERE l.tenant = %s AND m.key = %s "
        "AND l.relation = 'supersedes')",
        *(tenant, f"t{turn}-0") * 2,
    )
    assert successors == links
    return all_or_none(successors, 1, "successions")


def forget(memory: Memory, turn: int) -> object:
    try:
        return memory.forget(f"t{turn}-1", hard=True)
    except InvalidInput:  # it is gone already
        return False


def is_forgotten(admin: Admin, tenant: str, turn: int) -> bool:
    [there] = count(
        admin, "SELECT count(*) FROM recall.memory m WHERE m.tenant = %s AND m.key = %s", tenant, f"t{turn}-1"
    )
    return there == 0


KILLED_CALLS = (
    KilledCall("remember_many", "recall.remember_many", "link", nothing,
         lambda memory, turn: memory.remember_many(drafts(turn)), are_stored),
    KilledCall("import", "recall.store_imported", "activation", nothing,
         lambda memory, turn: memory.import_drafts(
             (Draft(f"Note {key}", key=key, source="vault") for key in keys(turn, 3 * MANY)), source="vault"),
         is_imported),
    KilledCall("record_accesses", "recall.record_accesses", "activation", stored, use, are_used),
    KilledCall("search", "recall.search_and_log", "access_queue", stored, ask, are_shown),
    KilledCall("apply_plan", "recall.apply_plan", "archival", planned, prune, are_pruned),
    KilledCall("supersede", "recall.supersede", "link", stored, supersede, is_superseded),
    KilledCall("forget", "recall.forget", "floor_change", stored, forget, is_forgotten),
)  # fmt: skip
