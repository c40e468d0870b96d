"""Finding duplicates, and making, reading, applying, undoing and dropping plans."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pgrecall.encoding import MAX_ID, MAX_INTEGER, require_text
from pgrecall.errors import InvalidInput
from pgrecall.nouns.operation import NOW, Operation, id_of, read_bool, read_int, rows_of
from pgrecall.nouns.plans.models import Plan, PlanKind, PlanOutcome, PlanResult, PlanSummary, read_plan
from pgrecall.nouns.plans.redact import Document, StoredTexts

PAGE = 500
"""Number of parts of a plan to read in one call."""

BATCH = 1000
"""Number of memories to compare in one transaction."""


@dataclass(frozen=True, slots=True)
class PruneRequest:
    """Limits of a plan; None is the tenant's setting.

    Attributes:
        max_count: maximum number of memories to archive.
        max_share: maximum share of the live memories to archive, 0 to 1.
        grace_days: days after storing or use within which a memory is not a candidate.
        layers: only memories of these layers; None means all.
        now: time to use instead of now; None uses the database's clock.
    """

    max_count: int | None = None
    max_share: float | None = None
    grace_days: float | None = None
    layers: Sequence[str] | None = None
    now: datetime | None = None


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


def plan_prune(request: PruneRequest) -> Operation[int]:
    """Stores a prune plan; returns its id. Candidates that keep other memories connected are kept back."""
    options = {"max_share": request.max_share, "grace_days": request.grace_days}
    return _make(
        "plan_prune(%(max_count)s, %(max_share)s, %(grace_days)s, %(layers)s, p_now => " + NOW + ")",
        options | _limits(request),
    )


def find_duplicates(limit: int = BATCH) -> Operation[int]:
    """Compares up to ``limit`` memories that were not compared yet; returns how many."""
    return Operation(
        "SELECT recall.find_duplicates(%(limit)s)",
        {"limit": limit},
        read_int,
        repeatable=True,
    )


def plan_dedupe(request: DedupeRequest) -> Operation[int]:
    """Stores a dedupe plan for the duplicates found; returns its id."""
    return _make(
        "plan_dedupe(%(min_similarity)s, %(max_count)s, %(layers)s, p_now => " + NOW + ")",
        {"min_similarity": request.min_similarity} | _limits(request),
    )


def plan_merge(keeper: int | str, memories: Sequence[int | str], now: datetime | None) -> Operation[int]:
    """Stores a dedupe plan that merges these memories into the keeper; returns its id."""
    places = [f"memory{place}" for place, _ in enumerate(memories)]
    ids = ", ".join(id_of(memory, place) for memory, place in zip(memories, places, strict=True))
    return _make(
        f"plan_merge({id_of(keeper, 'keeper')}, ARRAY[{ids}]::bigint[], {NOW})",
        {"keeper": keeper, "now": now, **dict(zip(places, memories, strict=True))},
    )


def stored_texts(after: StoredTexts | None) -> Operation[tuple[StoredTexts, ...]]:
    """Reads a page of the texts of all memories and their versions; an empty one is the end."""
    place = (0, 0) if after is None else (after.memory_id, after.version)
    return rows_of("stored_texts", StoredTexts, after=place[0], after_version=place[1])


def plan_redact(
    found: Sequence[Document], scanned: int, complete: bool, now: datetime | None
) -> Operation[int]:
    """Stores a plan to replace the secrets found in stored texts; returns its id."""
    return _make(
        f"plan_redact(%(found)s::jsonb, %(scanned)s, %(complete)s, {NOW})",
        {"found": json.dumps(found), "scanned": scanned, "complete": complete, "now": now},
    )


def get_plan(plan: int, offset: int = 0, limit: int = PAGE) -> Operation[Plan]:
    """Reads a plan with up to ``limit`` of its items or clusters, starting at ``offset``."""
    return Operation(
        "SELECT recall.get_plan(%(plan)s, %(limit)s, %(offset)s) AS plan",
        {"plan": _known(plan), "limit": limit, "offset": offset},
        lambda rows: read_plan(rows[0]["plan"]),
        repeatable=True,
    )


def plans(
    limit: int, plan: int | None = None, kind: PlanKind | None = None
) -> Operation[tuple[PlanSummary, ...]]:
    """Lists the newest plans, newest first: only the one with this id, or those of this kind."""
    return rows_of("plans", PlanSummary, limit=limit, plan_id=plan, kind=kind)


def apply_plan(plan: int, parts: Sequence[int] | None, now: datetime | None) -> Operation[PlanOutcome]:
    """Applies a plan, or these parts of it, in one transaction; returns the outcome of each memory."""
    for part in parts or ():
        if abs(part) > MAX_ID:
            raise InvalidInput(
                f"Plan {plan} has no part {part}.", hint="Name memories or clusters of the plan."
            )
    return Operation(
        f"SELECT * FROM recall.apply_plan(%(plan)s, {NOW}, %(parts)s::bigint[])",
        {"plan": _known(plan), "now": now, "parts": None if parts is None else list(parts)},
        lambda rows: PlanOutcome(
            plan, tuple(PlanResult(row["memory_id"], row["outcome"], row["note"]) for row in rows)
        ),
    )


def undo_plan(plan: int, now: datetime | None) -> Operation[int]:
    """Undoes a plan; returns how many memories were restored."""
    return Operation(
        f"SELECT recall.undo_plan(%(plan)s, {NOW})",
        {"plan": _known(plan), "now": now},
        read_int,
    )


def drop_plan(plan: int) -> Operation[bool]:
    """Deletes a plan that was never applied."""
    return Operation(
        "SELECT recall.drop_plan(%(plan)s)",
        {"plan": _known(plan)},
        read_bool,
    )


def _make(call: str, parameters: Mapping[str, object]) -> Operation[int]:
    return Operation(f"SELECT recall.{call}", parameters, read_int)


def _limits(request: PruneRequest | DedupeRequest) -> dict[str, object]:
    count = request.max_count
    if count is not None and not -MAX_INTEGER <= count <= MAX_INTEGER:
        raise InvalidInput(f"max_count is {count}; it must lie between 1 and 1,000,000.")
    for layer in request.layers or ():
        require_text(layer, f"One of the layers, {layer!r},")
    layers = None if request.layers is None else list(request.layers)
    return {"max_count": count, "layers": layers, "now": request.now}


def _known(plan: int) -> int:
    """Returns the id; raises InvalidInput for an impossible one."""
    if not 0 < plan <= MAX_ID:
        raise InvalidInput(
            f"There is no plan {plan} in this tenant.", hint="List them with `pgrecall plan list`."
        )
    return plan
