"""Prune plans: listed, made, reviewed, applied and undone. Nothing is archived but by a form that says so."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.errors import InvalidInput
from pgrecall.faces.charts.report_html import plan_values
from pgrecall.faces.http.problems import kind_of
from pgrecall.faces.page.form_fields import number, number_in_path, ticked, whole, word
from pgrecall.faces.page.request_handling import Visit, elsewhere
from pgrecall.models.prune import PrunePlan

PLANS, ITEMS = 20, 50
MOST_ITEMS = 2000
"""Items of a plan that are read; its counts are those of all."""

_KEPT = 50
_ASKED = ("max_count", "max_share", "grace_days")


async def plans(visit: Visit) -> Response:
    """The newest plans, and the form that makes another."""
    return await _plans(visit)


async def make(visit: Visit) -> Response:
    """Makes a plan and shows it; nothing else changes."""
    try:
        share = number(visit.form, "max_share")
        plan = await visit.memory.prune.plan(
            max_count=whole(visit.form, "max_count", 0, low=1, high=1_000_000) or None,
            max_share=None if share is None else share / 100,
            grace_days=number(visit.form, "grace_days"),
            layers=visit.form.getlist("layer") or None,
        )
    except InvalidInput as error:
        return await _plans(visit, problem=error)
    return elsewhere(f"/prune/{plan.id}")


async def review(visit: Visit) -> Response:
    """One plan: what it would archive and why, or what became of it."""
    return await _review(visit, _plan_of(visit))


async def apply(visit: Visit) -> Response:
    """Archives what a plan is for, once that is confirmed, and shows what was skipped."""
    plan = _confirmed(visit, "applied")
    await visit.memory.prune.apply(plan)
    return elsewhere(f"/prune/{plan}#outcome")


async def undo(visit: Visit) -> Response:
    """Brings back what a plan archived, once that is confirmed."""
    plan = _confirmed(visit, "undone")
    await visit.memory.prune.undo(plan)
    return elsewhere(f"/prune/{plan}#outcome")


def _confirmed(visit: Visit, done: str) -> int:
    """The plan of a form whose box is ticked; an error that says what was not done where it is not."""
    plan = _plan_of(visit)
    if not ticked(visit.form, "sure"):
        raise InvalidInput(f"The plan was not {done}.", hint="Tick the box that says so, and send it again.")
    return plan


async def _plans(visit: Visit, problem: InvalidInput | None = None) -> Response:
    return await visit.page(
        "plans.html.j2",
        status=200 if problem is None else kind_of(problem).status,
        plans=await visit.memory.prune.list(limit=PLANS),
        layers=await visit.memory.layers.list(),
        defaults={setting.name: setting.value for setting in await visit.memory.settings.list()},
        asked={name: word(visit.form, name) or "" for name in _ASKED},
        chosen=visit.form.getlist("layer"),
        problem=problem,
    )


async def _review(visit: Visit, number: int) -> Response:
    try:
        plan = await visit.memory.prune.get(number, limit=MOST_ITEMS)
    except InvalidInput as error:  # there is no such plan: nothing else can be wrong
        raise HTTPException(404, error.message) from error
    first = whole(visit.query, "after", 0, low=0, high=MOST_ITEMS)
    values = await asyncio.to_thread(_values, plan)
    return await visit.page(
        "review.html.j2",
        **values,
        items=plan.items[first : first + ITEMS],
        first=first,
        before=max(first - ITEMS, 0) if first else None,
        after=first + ITEMS if first + ITEMS < len(plan.items) else None,
    )


def _values(plan: PrunePlan) -> dict[str, Any]:
    skipped = tuple(item for item in plan.items if item.outcome == "skipped")
    archived = sum(item.outcome == "archived" for item in plan.items)
    kept = plan.report.kept_back[:_KEPT]
    return {**plan_values(plan), "skipped": skipped, "archived": archived, "kept": kept}


def _plan_of(visit: Visit) -> int:
    return number_in_path(visit.request.path_params["plan"], "prune plan")
