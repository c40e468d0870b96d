"""Linking memories, and replacing a memory by another."""

from __future__ import annotations

from datetime import datetime

from pgrecall.nouns.links.models import StaleSummary
from pgrecall.nouns.operation import NOW, Operation, id_of, read_bool, read_int


def link(
    source: int | str, target: int | str, relation: str, weight: float, now: datetime | None
) -> Operation[bool]:
    """Links two memories; returns whether the link is new."""
    ends = f"{id_of(source, 'source')}, {id_of(target, 'target')}"
    return Operation(
        f"SELECT recall.link({ends}, %(relation)s, %(weight)s, {NOW})",
        {"source": source, "target": target, "relation": relation, "weight": weight, "now": now},
        read_bool,
        repeatable=True,
    )


def unlink(
    source: int | str, target: int | str, relation: str | None, now: datetime | None
) -> Operation[int]:
    """Removes the links from one memory to another; returns how many there were."""
    ends = f"{id_of(source, 'source')}, {id_of(target, 'target')}"
    return Operation(
        f"SELECT recall.unlink({ends}, %(relation)s, {NOW})",
        {"source": source, "target": target, "relation": relation, "now": now},
        read_int,
        repeatable=True,
    )


def supersede(old: int | str, new: int | str, now: datetime | None) -> Operation[bool]:
    """Records that ``new`` replaces ``old``; returns whether anything changed."""
    return Operation(
        f"SELECT recall.supersede({id_of(old, 'old')}, {id_of(new, 'new')}, {NOW})",
        {"old": old, "new": new, "now": now},
        read_bool,
        repeatable=True,
    )


def stale_summaries(limit: int, after: int) -> Operation[tuple[StaleSummary, ...]]:
    """Lists the summaries whose sources changed or were forgotten, by id."""
    return Operation(
        "SELECT * FROM recall.stale_summaries(%(limit)s, %(after)s)",
        {"limit": limit, "after": after},
        lambda rows: tuple(StaleSummary(**row) for row in rows),
        repeatable=True,
    )


def count_pending_links() -> Operation[int]:
    """Counts links with a target that does not exist yet."""
    return Operation(
        "SELECT recall.count_pending_links()",
        {},
        read_int,
        repeatable=True,
    )
