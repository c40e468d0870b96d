"""The views of prune plans: list, create, review, apply and undo."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.client.concurrency import async_run
from pgrecall.errors import InvalidInput
from pgrecall.faces.charts.axes import NARROW
from pgrecall.faces.charts.plan_report import plan_values
from pgrecall.faces.charts.vitality_histogram import plan_histogram
from pgrecall.faces.http.problems import problem_type
from pgrecall.faces.page.form_fields import (
    checkbox,
    float_field,
    int_field,
    path_id,
    require_confirmed,
    text_field,
)
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.models.prune import PlanItem, PrunePlan

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
        plan = await request.memory.prune.plan(
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
        plan = await request.memory.prune.get(_plan_id(request), limit=MAX_ITEMS)
    except InvalidInput as error:  # only an unknown plan can cause this
        raise HTTPException(404, error.message) from error
    first = int_field(request.query, "after", 0, low=0, high=MAX_ITEMS)
    values = await async_run(partial(_plan_values, plan))
    choosable = plan.state == "planned" and request.may_write and plan.report.planned <= MAX_ITEMS
    return await request.render(
        "prune_plan.html.j2",
        **values,
        items=plan.items[first : first + PAGE_SIZE],
        first=first,
        groups=_groups(plan.items) if choosable else (),
        before=max(first - PAGE_SIZE, 0) if first else None,
        after=first + PAGE_SIZE if first + PAGE_SIZE < len(plan.items) else None,
    )


async def apply_plan(request: PageRequest) -> Response:
    plan = _plan_id(request)
    require_confirmed(request.form, "The plan was not applied.")
    only = None
    if checkbox(request.form, "chosen"):  # the form had a box for each memory
        only = [path_id(number, "memory") for number in request.form.getlist("only")]
        if not only:
            raise InvalidInput("No memory is ticked, so nothing was archived.", hint="Tick some of them.")
    await request.memory.prune.apply(plan, only=only)
    return redirect(f"/prune/{plan}#outcome")


async def undo_plan(request: PageRequest) -> Response:
    plan = _plan_id(request)
    require_confirmed(request.form, "The plan was not undone.")
    await request.memory.prune.undo(plan)
    return redirect(f"/prune/{plan}#outcome")


async def _plans(request: PageRequest, problem: InvalidInput | None = None) -> Response:
    return await request.render(
        "prune.html.j2",
        status=200 if problem is None else problem_type(problem).status,
        plans=await request.memory.prune.list(limit=MAX_PLANS),
        layers=await request.memory.layers.list(),
        defaults={setting.name: setting.value for setting in await request.memory.settings.list()},
        fields={name: text_field(request.form, name) or "" for name in _FIELDS},
        chosen=request.form.getlist("layer"),
        problem=problem,
    )


def _groups(items: Sequence[PlanItem]) -> tuple[tuple[str, list[PlanItem]], ...]:
    """The items by what made them candidates, so that each kind is judged as one; the largest first."""
    groups: dict[str, list[PlanItem]] = {}
    for item in items:
        groups.setdefault(_kind(item), []).append(item)
    return tuple(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))


def _kind(item: PlanItem) -> str:
    """Why a memory is a candidate, without its numbers; ``reason`` has these."""
    if "superseded by memory" in item.reason:
        return "superseded by a newer memory"
    linked = "linked" if item.impact.links_in or item.impact.links_out else "not linked"
    used = "never used since it was stored" if item.terms.accesses <= 1 else "used, but long ago"
    return f"{used}, {linked}"


def _plan_values(plan: PrunePlan) -> dict[str, Any]:
    skipped = tuple(item for item in plan.items if item.outcome == "skipped")
    archived = sum(item.outcome == "archived" for item in plan.items)
    kept = plan.report.kept_back[:_MAX_KEPT]
    narrow = {"narrow_histogram": plan_histogram(plan, NARROW)}
    return {**plan_values(plan), **narrow, "skipped": skipped, "archived": archived, "kept": kept}


def _plan_id(request: PageRequest) -> int:
    return request.path_id("plan", "prune plan")
