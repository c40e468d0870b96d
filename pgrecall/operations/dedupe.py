"""Finding duplicates, and making, reading, applying and undoing dedupe plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pgrecall.encoding import MAX_ID, MAX_INTEGER, require_text
from pgrecall.errors import InvalidInput
from pgrecall.models.dedupe import DedupeOutcome, DedupePlan, DedupeResult, DedupeSummary
from pgrecall.models.reading import read_as
from pgrecall.operations.operation import NOW, Operation, id_of

PAGE = 500
"""Number of clusters of a plan to read in one call."""

BATCH = 1000
"""Number of memories to compare in one transaction."""


@dataclass(frozen=True, slots=True)
class DedupeRequest:
    """Limits of a plan; None is the tenant's setting.

    Attributes:
        min_similarity: minimum cosine of the vectors of duplicates, 0.7 to 1.
        max_count: maximum number of memories to merge.
        layers: only memories of these layers; None means all.
        now: time to use instead of now; None uses the database's clock.
    """

    min_similarity: float | None = None
    max_count: int | None = None
    layers: Sequence[str] | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """Memories to merge, named by id or key.

    Attributes:
        keeper: the memory that stays.
        memories: those to merge into it, 1 to 100.
        now: time to use instead of now; None uses the database's clock.
    """

    keeper: int | str
    memories: Sequence[int | str]
    now: datetime | None = None


def find_duplicates(limit: int = BATCH) -> Operation[int]:
    """Compares up to ``limit`` memories that were not compared yet; returns how many."""
    return Operation(
        "SELECT recall.find_duplicates(%(limit)s) AS compared",
        {"limit": limit},
        lambda rows: int(rows[0]["compared"]),
        repeatable=True,
    )


def plan_dedupe(request: DedupeRequest) -> Operation[int]:
    """Stores a plan for the duplicates found; returns its id."""
    return Operation(
        f"SELECT recall.plan_dedupe(%(min_similarity)s, %(max_count)s, %(layers)s, p_now => {NOW}) AS id",
        _parameters(request),
        lambda rows: int(rows[0]["id"]),
    )


def plan_merge(keeper: int | str, memories: Sequence[int | str], now: datetime | None) -> Operation[int]:
    """Stores a plan that merges these memories into the keeper; returns its id."""
    places = [f"memory{place}" for place, _ in enumerate(memories)]
    ids = ", ".join(id_of(memory, place) for memory, place in zip(memories, places, strict=True))
    return Operation(
        f"SELECT recall.plan_merge({id_of(keeper, 'keeper')}, ARRAY[{ids}]::bigint[], {NOW}) AS id",
        {"keeper": keeper, "now": now, **dict(zip(places, memories, strict=True))},
        lambda rows: int(rows[0]["id"]),
    )


def dedupe_plan(plan: int, offset: int = 0, limit: int = PAGE) -> Operation[DedupePlan]:
    """Reads a plan with up to ``limit`` of its clusters, starting at ``offset``."""
    return Operation(
        "SELECT recall.get_dedupe_plan(%(plan)s, %(limit)s, %(offset)s) AS plan",
        {"plan": _known(plan), "limit": limit, "offset": offset},
        lambda rows: DedupePlan.from_document(rows[0]["plan"]),
        repeatable=True,
    )


def dedupe_plans(limit: int, plan: int | None = None) -> Operation[tuple[DedupeSummary, ...]]:
    """Lists the newest plans, newest first, or the one with this id."""
    return Operation(
        "SELECT * FROM recall.dedupe_plans(%(limit)s, %(plan)s)",
        {"limit": limit, "plan": plan},
        lambda rows: tuple(read_as(DedupeSummary, row) for row in rows),
        repeatable=True,
    )


def apply_dedupe(plan: int, clusters: Sequence[int] | None, now: datetime | None) -> Operation[DedupeOutcome]:
    """Applies a plan, or these clusters of it; returns the outcome of each of its memories."""
    for cluster in clusters or ():
        if not -MAX_INTEGER <= cluster <= MAX_INTEGER:
            raise InvalidInput(f"Dedupe plan {plan} has no cluster {cluster}.")
    return Operation(
        f"SELECT * FROM recall.apply_dedupe(%(plan)s, %(clusters)s::int[], {NOW})",
        {"plan": _known(plan), "clusters": None if clusters is None else list(clusters), "now": now},
        lambda rows: DedupeOutcome(
            plan,
            tuple(
                DedupeResult(row["memory_id"], row["cluster"], row["keeper"], row["outcome"], row["note"])
                for row in rows
            ),
        ),
    )


def undo_dedupe(plan: int, now: datetime | None) -> Operation[int]:
    """Undoes a plan; returns how many memories were restored."""
    return Operation(
        f"SELECT recall.undo_dedupe(%(plan)s, {NOW}) AS restored",
        {"plan": _known(plan), "now": now},
        lambda rows: int(rows[0]["restored"]),
    )


def _parameters(request: DedupeRequest) -> dict[str, object]:
    count = request.max_count
    if count is not None and not -MAX_INTEGER <= count <= MAX_INTEGER:
        raise InvalidInput(f"max_count is {count}; it must lie between 1 and 1,000,000.")
    for layer in request.layers or ():
        require_text(layer, f"One of the layers, {layer!r},")
    return {
        "min_similarity": request.min_similarity,
        "max_count": count,
        "layers": None if request.layers is None else list(request.layers),
        "now": request.now,
    }


def _known(plan: int) -> int:
    """Returns the id; raises InvalidInput for an impossible one."""
    if not 0 < plan <= MAX_ID:
        raise InvalidInput(
            f"There is no dedupe plan {plan} in this tenant.", hint="List them with `pgrecall dedupe list`."
        )
    return plan
