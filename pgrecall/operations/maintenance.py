"""Upkeep: statistics, the link graph, rebuilding, verifying, and the bounded steps of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pgrecall.models.maintenance import Check
from pgrecall.operations.operation import NOW, Operation, Row, id_of

FOLD_ROWS = 100_000
"""How many searches a step folds at most: what is shown often is then folded once, not a hundred times over.

Searches never wait for a step. Recording an access of one of its memories does: some seconds, if a million
events had gathered.
"""

FEW_VECTORS = 4000
"""Up to so many vectors of a tenant lie with those of others, and are searched exactly."""


def refresh_statistics(now: datetime | None) -> Operation[int]:
    """Recounts document frequencies and layer medians; the result is how many memories were counted."""
    return Operation(
        f"SELECT recall.refresh_statistics({NOW}) AS counted",
        {"now": now},
        lambda rows: int(rows[0]["counted"]),
        repeatable=True,
    )


def rebuild(references: Sequence[int | str] | None) -> Operation[int]:
    """Computes summaries anew from the log; the result counts those that were not what the log says."""
    if references is None:
        ids, parameters = "NULL", {}
    else:
        parameters = {f"memory{place}": reference for place, reference in enumerate(references)}
        known = (f"recall.require_memory({id_of(value, name)})" for name, value in parameters.items())
        ids = f"ARRAY[{', '.join(known)}]::bigint[]"
    return Operation(
        f"SELECT recall.rebuild({ids}) AS changed",
        parameters,
        lambda rows: int(rows[0]["changed"]),
        repeatable=True,
    )


def verify(now: datetime | None) -> Operation[tuple[Check, ...]]:
    """What must hold of the tenant's data, and what does not."""
    return Operation(
        f"SELECT recall.verify({NOW}) AS verified",
        {"now": now},
        lambda rows: tuple(_check(entry) for entry in rows[0]["verified"]["checks"]),
        repeatable=True,
    )


def resolve_pending_links() -> Operation[int]:
    """Draws links that wait for memories that are there; the result counts the memories that gained one."""
    return Operation(
        "SELECT recall.resolve_pending_links() AS linked",
        {},
        lambda rows: int(rows[0]["linked"]),
        repeatable=True,
    )


def link_graph() -> Operation[bytes]:
    """The references between live memories, packed as :meth:`pgrecall.graph.LinkGraph.of_blob` reads them."""
    return Operation(
        "SELECT recall.link_graph() AS blob",
        {},
        lambda rows: bytes(rows[0]["blob"] or b""),
        repeatable=True,
        binary=True,
    )


def store_cut_sizes(cut_sizes: Mapping[int, int], now: datetime | None = None) -> Operation[int]:
    """Keeps how many memories each articulation point would cut off; the result counts the protected."""
    return Operation(
        f"SELECT recall.store_cut_sizes(%(ids)s, %(sizes)s, {NOW}) AS protected",
        {"ids": _array(cut_sizes), "sizes": _array(cut_sizes.values()), "now": now},
        lambda rows: int(rows[0]["protected"]),
        repeatable=True,
    )


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


def move_vectors_to_own_table(least: int = FEW_VECTORS) -> Operation[int]:
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


def _check(entry: Row) -> Check:
    return Check(entry["name"], entry["about"], entry["problems"], tuple(entry["examples"]))


def _array(numbers: Iterable[int]) -> str:
    """What Postgres reads as an array; the driver would look at each number by itself."""
    return f"{{{','.join(map(str, numbers))}}}"
