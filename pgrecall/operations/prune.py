"""Making, reading, applying and undoing prune plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pgrecall.encoding import MAX_ID, MAX_INTEGER, require_text
from pgrecall.errors import InvalidInput
from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan, PruneResult
from pgrecall.models.reading import read_as
from pgrecall.operations.operation import NOW, Operation

PAGE = 10_000
"""Number of items of a plan to read in one call."""


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


def plan_prune(request: PruneRequest) -> Operation[int]:
    """Stores a plan; returns its id. Candidates that keep other memories connected are kept back."""
    return Operation(
        "SELECT recall.plan_prune(%(max_count)s, %(max_share)s, %(grace_days)s, %(layers)s, "
        f"p_now => {NOW}) AS id",
        _parameters(request),
        lambda rows: int(rows[0]["id"]),
    )


def prune_plan(plan: int, offset: int = 0, limit: int = PAGE) -> Operation[PrunePlan]:
    """Reads a plan with up to ``limit`` of its items, starting at ``offset``."""
    return Operation(
        "SELECT recall.get_prune_plan(%(plan)s, %(limit)s, %(offset)s) AS plan",
        {"plan": _known(plan), "limit": limit, "offset": offset},
        lambda rows: PrunePlan.from_document(rows[0]["plan"]),
        repeatable=True,
    )


def prune_plans(limit: int, plan: int | None = None) -> Operation[tuple[PlanSummary, ...]]:
    """Lists the newest plans, newest first, or the one with this id."""
    return Operation(
        "SELECT * FROM recall.prune_plans(%(limit)s, %(plan)s)",
        {"limit": limit, "plan": plan},
        lambda rows: tuple(read_as(PlanSummary, row) for row in rows),
        repeatable=True,
    )


def apply_prune(
    plan: int, now: datetime | None, only: Sequence[int] | None = None
) -> Operation[PruneOutcome]:
    """Applies a plan, or ``only`` these memories of it, in one transaction; returns the outcome of each."""
    for memory_id in only or ():
        if abs(memory_id) > MAX_ID:
            message = f"Prune plan {plan} does not contain memory {memory_id}."
            raise InvalidInput(message, hint="Give ids of items of the plan.")
    return Operation(
        f"SELECT * FROM recall.apply_prune(%(plan)s, {NOW}, %(only)s::bigint[])",
        {"plan": _known(plan), "now": now, "only": None if only is None else list(only)},
        lambda rows: PruneOutcome(
            plan, tuple(PruneResult(row["memory_id"], row["outcome"], row["note"]) for row in rows)
        ),
    )


def undo_prune(plan: int, now: datetime | None) -> Operation[int]:
    """Undoes a plan; returns how many memories were restored."""
    return Operation(
        f"SELECT recall.undo_prune(%(plan)s, {NOW}) AS restored",
        {"plan": _known(plan), "now": now},
        lambda rows: int(rows[0]["restored"]),
    )


def _parameters(request: PruneRequest) -> dict[str, object]:
    count = request.max_count
    if count is not None and not -MAX_INTEGER <= count <= MAX_INTEGER:
        raise InvalidInput(f"max_count is {count}; it must lie between 1 and 1,000,000.")
    for layer in request.layers or ():
        require_text(layer, f"One of the layers, {layer!r},")
    return {
        "max_count": count,
        "max_share": request.max_share,
        "grace_days": request.grace_days,
        "layers": None if request.layers is None else list(request.layers),
        "now": request.now,
    }


def _known(plan: int) -> int:
    """Returns the id; raises InvalidInput for an impossible one."""
    if not 0 < plan <= MAX_ID:
        raise InvalidInput(
            f"There is no prune plan {plan} in this tenant.", hint="List them with `pgrecall prune list`."
        )
    return plan
