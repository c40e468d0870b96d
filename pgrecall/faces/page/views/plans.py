"""The views of plans: list, create, review, apply, undo and drop."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.errors import InvalidInput
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
from pgrecall.faces.page.views.dedupe_plan import show_dedupe_plan
from pgrecall.faces.page.views.prune_plan import show_prune_plan
from pgrecall.faces.page.views.redact_plan import show_redact_plan
from pgrecall.nouns.plans.models import PlanKind

MAX_PLANS = 20
_FIELDS = ("max_count", "max_share", "grace_days", "min_similarity")


async def list_plans(request: PageRequest) -> Response:
    """The newest plans, and the forms that create one."""
    return await _plans(request)


async def create_prune_plan(request: PageRequest) -> Response:
    try:
        share = float_field(request.form, "max_share")
        plan = await request.memory.plans.prune(
            max_count=int_field(request.form, "max_count", 0, low=1, high=1_000_000) or None,
            max_share=None if share is None else share / 100,
            grace_days=float_field(request.form, "grace_days"),
            layers=request.form.getlist("layer") or None,
            limit=0,
        )
    except InvalidInput as error:
        return await _plans(request, "prune", error)
    return redirect(f"/plans/{plan.id}")


async def create_dedupe_plan(request: PageRequest) -> Response:
    try:
        similarity = float_field(request.form, "min_similarity")
        plan = await request.memory.plans.dedupe(
            max_count=int_field(request.form, "max_count", 0, low=1, high=1_000_000) or None,
            min_similarity=None if similarity is None else similarity / 100,
            layers=request.form.getlist("layer") or None,
            limit=0,
        )
    except InvalidInput as error:
        return await _plans(request, "dedupe", error)
    return redirect(f"/plans/{plan.id}")


async def create_redact_plan(request: PageRequest) -> Response:
    return redirect(f"/plans/{(await request.memory.plans.redact()).id}")


async def show_plan(request: PageRequest) -> Response:
    """A plan with the reason for each of its parts, or its outcome."""
    try:
        plan = await request.memory.plans.get(request.path_id("plan"), limit=0)
    except InvalidInput as error:  # only an unknown plan can cause this
        raise HTTPException(404, error.message) from error
    show = {"prune": show_prune_plan, "dedupe": show_dedupe_plan, "redact": show_redact_plan}
    return await show[plan.kind](request, plan.id)


async def apply_plan(request: PageRequest) -> Response:
    plan = request.path_id("plan")
    require_confirmed(request.form, "The plan was not applied.")
    parts = None
    if checkbox(request.form, "chosen"):  # the form had a box for each memory or cluster
        parts = [path_id(number, "memory or cluster") for number in request.form.getlist("only")]
        if not parts:
            raise InvalidInput("Nothing is ticked, so nothing was archived.", hint="Tick some of the plan.")
    await request.memory.plans.apply(plan, parts=parts)
    return redirect(f"/plans/{plan}#outcome")


async def undo_plan(request: PageRequest) -> Response:
    plan = request.path_id("plan")
    require_confirmed(request.form, "The plan was not undone.")
    await request.memory.plans.undo(plan)
    return redirect(f"/plans/{plan}#outcome")


async def drop_plan(request: PageRequest) -> Response:
    await request.memory.plans.drop(request.path_id("plan"))
    return redirect("/plans")


async def _plans(
    request: PageRequest, wanted: PlanKind | None = None, problem: InvalidInput | None = None
) -> Response:
    """The list; if a plan of the ``wanted`` kind could not be created, with the form as it was sent."""
    return await request.render(
        "plans.html.j2",
        status=200 if problem is None else problem_type(problem).status,
        plans=await request.memory.plans.list(limit=MAX_PLANS),
        layers=await request.memory.layers.list(),
        defaults={setting.name: setting.value for setting in await request.memory.settings.list()},
        fields={name: text_field(request.form, name) or "" for name in _FIELDS},
        chosen=request.form.getlist("layer"),
        wanted=wanted,
        problem=problem,
    )
