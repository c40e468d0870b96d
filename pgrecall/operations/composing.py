"""What a block of context is composed with, and what it has shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pgrecall.operations.base import NOW, Operation, Row


def similarities(ids: Sequence[int]) -> Operation[dict[tuple[int, int], float]]:
    """The cosines between these memories, at most 200, by pairs of ids, the smaller first."""
    return Operation(
        "SELECT * FROM recall.similarities(%(ids)s)",
        {"ids": list(ids)},
        lambda rows: {(row["a"], row["b"]): row["similarity"] for row in rows},
        repeatable=True,
    )


def successors(ids: Sequence[int]) -> Operation[dict[int, tuple[int, ...]]]:
    """The memories that replace each of these, at most 200, at any remove, the newest last."""
    return Operation("SELECT * FROM recall.successors(%(ids)s)", {"ids": list(ids)}, _chains, repeatable=True)


def log_shown(ids: Sequence[int], session_id: str | None, now: datetime | None = None) -> Operation[int]:
    """Logs that these were shown; repeated after a lost connection it may log them twice."""
    return Operation(
        f"SELECT recall.log_shown(%(ids)s, %(session_id)s, {NOW}) AS logged",
        {"ids": list(ids), "session_id": session_id, "now": now},
        lambda rows: int(rows[0]["logged"]),
        repeatable=True,
        durable=False,
    )


def _chains(rows: Sequence[Row]) -> dict[int, tuple[int, ...]]:
    chains: dict[int, tuple[int, ...]] = {}
    for row in rows:  # by id and step
        chains[row["id"]] = (*chains.get(row["id"], ()), row["successor"])
    return chains
