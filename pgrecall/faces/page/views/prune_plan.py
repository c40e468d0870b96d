"""The view of a prune plan: its candidates in groups, or its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from starlette.responses import Response

from pgrecall.client.concurrency import async_run
from pgrecall.faces.charts.axes import NARROW
from pgrecall.faces.charts.plan_report import plan_values
from pgrecall.faces.charts.vitality_histogram import plan_histogram
from pgrecall.faces.page.form_fields import int_field
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.nouns.plans.prune import PlanItem, PrunePlan

PAGE_SIZE = 50
MAX_ITEMS = 2000
"""Items of a plan that can be listed; its counts are those of all."""

_MAX_KEPT = 50


async def show_prune_plan(request: PageRequest, number: int) -> Response:
    """A prune plan with the reason for each item, or its outcome."""
    plan = cast(PrunePlan, await request.memory.plans.get(number, limit=MAX_ITEMS))
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
