"""The views of prune plans: list, create, review, apply and undo."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.errors import InvalidInput
from pgrecall.faces.charts.plan_report import plan_values
from pgrecall.faces.http.problems import problem_type
from pgrecall.faces.page.form_fields import checkbox, float_field, int_field, path_id, text_field
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.models.prune import PrunePlan

MAX_PLANS, PAGE_SIZE = 20, 50
MAX_ITEMS = 2000
"""Items of a plan that can be listed; its counts are those of all."""

_MAX_KEPT = 50
_FIELDS = ("max_count", "max_share", "grace_days")


async def list_plans(request: PageRequest) -> Response:
    """The newest plans, and the form that creates one."""
    return await _plans(request)


async def create_plan(request: PageRequest) -> Response:
    try:
        share = float_field(request.form, "max_share")
        plan = await request.memory.plan_prune(
            max_count=int_field(request.form, "max_count", 0, low=1, high=1_000_000) or None,
            max_share=None if share is None else share / 100,
            grace_days=float_field(request.form, "grace_days"),
            layers=request.form.getlist("layer") or None,
        )
    except InvalidInput as error:
        return await _plans(request, problem=error)
    return redirect(f"/prune/{plan.id}")


async def show_plan(request: PageRequest) -> Response:
    """A plan with the reason for each item, or its outcome."""
    try:
        plan = await request.memory.prune_plan(_plan_id(request), limit=MAX_ITEMS)
    except InvalidInput as error:  # only an unknown plan can cause this
        raise HTTPException(404, error.message) from error
    first = int_field(request.query, "after", 0, low=0, high=MAX_ITEMS)
    values = await asyncio.to_thread(_plan_values, plan)
    return await request.render(
        "prune_plan.html.j2",
        **values,
        items=plan.items[first : first + PAGE_SIZE],
        first=first,
        before=max(first - PAGE_SIZE, 0) if first else None,
        after=first + PAGE_SIZE if first + PAGE_SIZE < len(plan.items) else None,
    )


async def apply_plan(request: PageRequest) -> Response:
    plan = _confirmed_plan(request, "applied")
    await request.memory.apply_prune(plan)
    return redirect(f"/prune/{plan}#outcome")


async def undo_plan(request: PageRequest) -> Response:
    plan = _confirmed_plan(request, "undone")
    await request.memory.undo_prune(plan)
    return redirect(f"/prune/{plan}#outcome")


def _confirmed_plan(request: PageRequest, action: str) -> int:
    """The plan's id; InvalidInput when the form's checkbox was not ticked."""
    plan = _plan_id(request)
    if not checkbox(request.form, "sure"):
        raise InvalidInput(f"The plan was not {action}.", hint="Tick the box to confirm, and send it again.")
    return plan


async def _plans(request: PageRequest, problem: InvalidInput | None = None) -> Response:
    return await request.render(
        "prune.html.j2",
        status=200 if problem is None else problem_type(problem).status,
        plans=await request.memory.prune_plans(limit=MAX_PLANS),
        layers=await request.memory.layers(),
        defaults={setting.name: setting.value for setting in await request.memory.tuning()},
        fields={name: text_field(request.form, name) or "" for name in _FIELDS},
        chosen=request.form.getlist("layer"),
        problem=problem,
    )


def _plan_values(plan: PrunePlan) -> dict[str, Any]:
    skipped = tuple(item for item in plan.items if item.outcome == "skipped")
    archived = sum(item.outcome == "archived" for item in plan.items)
    kept = plan.report.kept_back[:_MAX_KEPT]
    return {**plan_values(plan), "skipped": skipped, "archived": archived, "kept": kept}


def _plan_id(request: PageRequest) -> int:
    return path_id(request.request.path_params["plan"], "prune plan")
