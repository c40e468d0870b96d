"""Maintenance: statistics, the link graph, rebuilding, verification, and the bounded steps of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.maintenance.models import AlarmChange, Check, GraphReport
from pgrecall.nouns.operation import NOW, Operation, Row, id_of, read_int, read_value

FOLD_ROWS = 100_000
"""Maximum number of searches that a step folds: many, so that a memory shown often is folded only once.

Searches never wait for a step, but recording an access to one of its memories does: some seconds if a million
events have accumulated.
"""

FEW_VECTORS = 4000
"""Up to this many vectors, a tenant shares a table with others and is searched exactly."""


def refresh_statistics(now: datetime | None) -> Operation[int]:
    """Recounts document frequencies and layer medians; returns how many memories were counted."""
    return Operation(
        f"SELECT recall.refresh_statistics({NOW})",
        {"now": now},
        read_int,
        repeatable=True,
    )


def rebuild(references: Sequence[int | str] | None) -> Operation[int]:
    """Rebuilds summaries from the log; returns how many were wrong."""
    if references is None:
        ids, parameters = "NULL", {}
    else:
        parameters = {f"memory{place}": reference for place, reference in enumerate(references)}
        known = (f"recall.require_memory({id_of(value, name)})" for name, value in parameters.items())
        ids = f"ARRAY[{', '.join(known)}]::bigint[]"
    return Operation(
        f"SELECT recall.rebuild({ids})",
        parameters,
        read_int,
        repeatable=True,
    )


def verify(now: datetime | None) -> Operation[tuple[Check, ...]]:
    """Checks the invariants of the tenant's data."""
    return Operation(
        f"SELECT recall.verify({NOW}) AS verified",
        {"now": now},
        lambda rows: tuple(_check(entry) for entry in rows[0]["verified"]["checks"]),
        repeatable=True,
    )


def resolve_pending_links() -> Operation[int]:
    """Creates pending links with a target that exists now; returns how many memories gained one."""
    return Operation(
        "SELECT recall.resolve_pending_links()",
        {},
        read_int,
        repeatable=True,
    )


def refresh_graph(now: datetime | None) -> Operation[GraphReport]:
    """Finds and protects the memories that hold the link graph together."""
    return Operation(
        f"SELECT * FROM recall.refresh_graph({NOW})",
        {"now": now},
        lambda rows: _graph_report(rows[0]),
        repeatable=True,
    )


def fold_accesses(limit: int) -> Operation[int]:
    """Folds logged searches into activations; returns how many, 0 if none are left."""
    return Operation(
        "SELECT recall.fold_accesses(%(limit)s)",
        {"limit": limit},
        read_int,
        repeatable=True,
    )


def refresh_vitality(after: int, limit: int, now: datetime | None) -> Operation[int | None]:
    """Updates cached vitality after an id; returns the last id processed, None at the end."""
    return Operation(
        f"SELECT recall.refresh_vitality(%(after)s, %(limit)s, {NOW})",
        {"after": after, "limit": limit, "now": now},
        read_value,
        repeatable=True,
    )


def refresh_medians(now: datetime | None) -> Operation[None]:
    """Recomputes the median of B in each layer."""
    return Operation(f"SELECT recall.refresh_medians({NOW})", {"now": now}, lambda _: None, repeatable=True)


def refresh_lexemes() -> Operation[int]:
    """Recounts document frequencies; returns the number of live memories."""
    return Operation(
        "SELECT recall.refresh_lexemes()",
        {},
        read_int,
        repeatable=True,
    )


def move_vectors_to_own_table(more_than: int = FEW_VECTORS) -> Operation[int]:
    """Moves the vectors of a tenant with more than ``more_than`` to their own table; returns how many."""
    return Operation(
        "SELECT recall.move_vectors_to_own_table(%(more_than)s)",
        {"more_than": more_than},
        read_int,
        repeatable=True,
    )


def expire_memories(limit: int, now: datetime | None) -> Operation[int]:
    """Archives expired memories; returns how many, 0 if none are left."""
    return Operation(
        f"SELECT recall.expire_memories(%(limit)s, {NOW})",
        {"limit": limit, "now": now},
        read_int,
        repeatable=True,
    )


def expire_changes(limit: int, now: datetime | None) -> Operation[int]:
    """Deletes changes that are not kept any longer from the log; returns how many, 0 if none are left."""
    return Operation(
        f"SELECT recall.expire_changes(%(limit)s, {NOW})",
        {"limit": limit, "now": now},
        read_int,
        repeatable=True,
    )


def expire_searches(limit: int, now: datetime | None) -> Operation[int]:
    """Deletes old searches from the log; returns how many, 0 if none are left."""
    return Operation(
        f"SELECT recall.expire_searches(%(limit)s, {NOW})",
        {"limit": limit, "now": now},
        read_int,
        repeatable=True,
    )


def make_access_partitions(now: datetime | None) -> Operation[int]:
    """Creates partitions of the access log for the coming months; returns how many are new."""
    return Operation(
        f"SELECT recall.make_access_partitions({NOW})",
        {"now": now},
        read_int,
        repeatable=True,
    )


def alarm_changes(now: datetime | None) -> Operation[tuple[AlarmChange, ...]]:
    """Reads the alarms of the tenant and their changes since the last report to the alert hook."""
    return Operation(
        f"SELECT * FROM recall.alarm_changes({NOW})",
        {"now": now},
        lambda rows: tuple(read_as(AlarmChange, row) for row in rows),
        repeatable=True,
    )


def _check(entry: Row) -> Check:
    return Check(entry["name"], entry["about"], entry["problems"], tuple(entry["examples"]))


def _graph_report(row: Row) -> GraphReport:
    bridges = tuple((one, two) for one, two in row["bridges"])
    return GraphReport(row["memories"], row["links"], row["points"], bridges, row["protected"])
