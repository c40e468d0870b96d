"""Data for a block of context, and the log of what it showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pgrecall.encoding import to_json
from pgrecall.operations.operation import NOW, Operation, Row


def similarities(ids: Sequence[int]) -> Operation[dict[tuple[int, int], float]]:
    """Computes the cosine of each pair of at most 200 memories, by pairs of ids, the smaller first."""
    return Operation(
        "SELECT * FROM recall.similarities(%(ids)s)",
        {"ids": list(ids)},
        lambda rows: {(row["a"], row["b"]): row["similarity"] for row in rows},
        repeatable=True,
        reads=True,
    )


def successors(ids: Sequence[int]) -> Operation[dict[int, tuple[int, ...]]]:
    """Reads the chain of memories that supersede each of at most 200 memories, the newest last."""
    return Operation(
        "SELECT * FROM recall.successors(%(ids)s)", {"ids": list(ids)}, _chains, repeatable=True, reads=True
    )


def log_shown(
    ids: Sequence[int],
    session_id: str | None,
    query: str,
    *,
    queries: Sequence[str] | None = None,
    profile: str | None = None,
    experiment: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> Operation[int | None]:
    """Logs a search, its hits and its experiment; returns its id, or None if searches are not kept.

    A repetition after a lost connection may log them twice.
    """
    return Operation(
        "SELECT recall.log_shown(%(ids)s, %(session_id)s, "
        f"{NOW}, %(query)s, %(profile)s, %(queries)s, %(experiment)s::jsonb) AS search_id",
        {
            "ids": list(ids),
            "session_id": session_id,
            "query": query,
            "queries": None if queries is None else list(queries),
            "profile": profile,
            "experiment": None if experiment is None else to_json(experiment),
            "now": now,
        },
        lambda rows: rows[0]["search_id"],
        repeatable=True,
        durable=False,
    )


def _chains(rows: Sequence[Row]) -> dict[int, tuple[int, ...]]:
    chains: dict[int, tuple[int, ...]] = {}
    for row in rows:  # by id and step
        chains[row["id"]] = (*chains.get(row["id"], ()), row["successor"])
    return chains
