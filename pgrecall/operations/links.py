"""Links between memories, and those that wait for their target."""

from __future__ import annotations

from datetime import datetime

from pgrecall.operations.operation import NOW, Operation, id_of


def link(
    source: int | str, target: int | str, relation: str, weight: float, now: datetime | None
) -> Operation[bool]:
    """Links two memories; the result says whether the link is new."""
    ends = f"{id_of(source, 'source')}, {id_of(target, 'target')}"
    return Operation(
        f"SELECT recall.link({ends}, %(relation)s, %(weight)s, {NOW}) AS new",
        {"source": source, "target": target, "relation": relation, "weight": weight, "now": now},
        lambda rows: bool(rows[0]["new"]),
        repeatable=True,
    )


def supersede(old: int | str, new: int | str, now: datetime | None) -> Operation[bool]:
    """Says that ``new`` replaces ``old``; the result says whether that is news."""
    return Operation(
        f"SELECT recall.supersede({id_of(old, 'old')}, {id_of(new, 'new')}, {NOW}) AS news",
        {"old": old, "new": new, "now": now},
        lambda rows: bool(rows[0]["news"]),
        repeatable=True,
    )


def pending_count() -> Operation[int]:
    """How many links wait for their target."""
    return Operation(
        "SELECT recall.count_pending_links() AS pending",
        {},
        lambda rows: int(rows[0]["pending"]),
        repeatable=True,
    )
