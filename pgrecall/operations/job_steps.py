"""The steps of upkeep: each call does a bounded part and says whether there is more."""

from __future__ import annotations

from datetime import datetime

from pgrecall.operations.operation import NOW, Operation


def fold_accesses(limit: int) -> Operation[int]:
    """Folds what so many searches logged into activations; the result counts them, 0 when none are left."""
    return Operation(
        "SELECT recall.fold_accesses(%(limit)s) AS folded",
        {"limit": limit},
        lambda rows: int(rows[0]["folded"]),
        repeatable=True,
    )


def refresh_vitality(after: int, limit: int, now: datetime | None) -> Operation[int | None]:
    """Brings cached vitality up to date after an id; the result is the last id looked at, None at the end."""
    return Operation(
        f"SELECT recall.refresh_vitality(%(after)s, %(limit)s, {NOW}) AS last",
        {"after": after, "limit": limit, "now": now},
        lambda rows: rows[0]["last"],
        repeatable=True,
    )


def refresh_medians(now: datetime | None) -> Operation[None]:
    """Recomputes for each layer the median that liveliness is measured against."""
    return Operation(f"SELECT recall.refresh_medians({NOW})", {"now": now}, lambda _: None, repeatable=True)


def refresh_lexemes() -> Operation[int]:
    """Recounts how rare each word is; the result counts the live memories."""
    return Operation(
        "SELECT recall.refresh_lexemes() AS counted",
        {},
        lambda rows: int(rows[0]["counted"]),
        repeatable=True,
    )


FEW_VECTORS = 4000
"""Up to so many of a tenant lie with those of others, and are searched exactly."""


def house_vectors(least: int = FEW_VECTORS) -> Operation[int]:
    """Gives a tenant of more vectors than ``least`` a table and index of its own; the result counts those."""
    return Operation(
        "SELECT recall.move_vectors_to_own_table(%(least)s) AS moved",
        {"least": least},
        lambda rows: int(rows[0]["moved"]),
        repeatable=True,
    )


def expire_memories(limit: int, now: datetime | None) -> Operation[int]:
    """Archives memories whose time to live is over; the result counts them, 0 when none are left."""
    return Operation(
        f"SELECT recall.expire_memories(%(limit)s, {NOW}) AS archived",
        {"limit": limit, "now": now},
        lambda rows: int(rows[0]["archived"]),
        repeatable=True,
    )


def expire_searches(limit: int, now: datetime | None) -> Operation[int]:
    """Drops searches from the log that are too old to be judged; the result counts them, 0 at the end."""
    return Operation(
        f"SELECT recall.expire_searches(%(limit)s, {NOW}) AS dropped",
        {"limit": limit, "now": now},
        lambda rows: int(rows[0]["dropped"]),
        repeatable=True,
    )


def make_access_partitions(now: datetime | None) -> Operation[int]:
    """Makes the access log's partitions of the months to come; the result counts the new ones."""
    return Operation(
        f"SELECT recall.make_access_partitions({NOW}) AS made",
        {"now": now},
        lambda rows: int(rows[0]["made"]),
        repeatable=True,
    )
