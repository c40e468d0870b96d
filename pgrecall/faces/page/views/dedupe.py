"""The views of dedupe plans: list, create, review cluster by cluster, apply and undo."""

from __future__ import annotations

from collections.abc import Sequence

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
from pgrecall.faces.wording import counted, shortened
from pgrecall.models.dedupe import DedupeCluster, DedupeKeeper, DedupeMember, DedupeMoves, DedupePlan

MAX_PLANS = 20
PAGE_SIZE, MAX_TICKED = 50, 100
"""Clusters of a plan on one page, and those up to which each can be ticked, all on one page."""

_FURTHEST = 1_000_000

_MAX_SHOWN = 50
_FIELDS = ("max_count", "min_similarity")


async def list_plans(request: PageRequest) -> Response:
    """The newest plans, and the form that creates one."""
    return await _plans(request)


async def create_plan(request: PageRequest) -> Response:
    try:
        similarity = float_field(request.form, "min_similarity")
        plan = await request.memory.dedupe.plan(
            max_count=int_field(request.form, "max_count", 0, low=1, high=1_000_000) or None,
            min_similarity=None if similarity is None else similarity / 100,
            layers=request.form.getlist("layer") or None,
        )
    except InvalidInput as error:
        return await _plans(request, problem=error)
    return redirect(f"/dedupe/{plan.id}")


async def show_plan(request: PageRequest) -> Response:
    """A plan with its clusters, their keepers and the words that differ, page by page, or its outcome."""
    first = int_field(request.query, "after", 0, low=0, high=_FURTHEST)
    try:
        plan = await request.memory.dedupe.get(_plan_id(request), limit=MAX_TICKED, offset=first)
    except InvalidInput as error:  # only an unknown plan can cause this
        raise HTTPException(404, error.message) from error
    choosable = plan.state == "planned" and request.may_write and plan.report.clusters <= MAX_TICKED
    clusters = plan.clusters if choosable else plan.clusters[:PAGE_SIZE]
    newest = await request.memory.dedupe.list(limit=MAX_PLANS)
    items: list[DedupeKeeper | DedupeMember] = []
    for cluster in clusters:
        items += (cluster.keeper, *cluster.members)
    return await request.render(
        "dedupe_plan.html.j2",
        plan=plan,
        report=plan.report,
        summary=next((one for one in newest if one.id == plan.id), None),
        choosable=choosable,
        too_many=plan.state == "planned" and plan.report.clusters > MAX_TICKED,
        groups=_groups(plan, clusters),
        first=first,
        shown=len(clusters),
        before=max(first - PAGE_SIZE, 0) if first else None,
        after=first + PAGE_SIZE if first + PAGE_SIZE < plan.report.clusters else None,
        cut=any(item.length > plan.compared_characters for item in items),
        skipped=[item for item in items if item.outcome == "skipped"][:_MAX_SHOWN],
        contradictions=plan.report.contradictions[:_MAX_SHOWN],
    )


async def apply_plan(request: PageRequest) -> Response:
    plan = _plan_id(request)
    require_confirmed(request.form, "The plan was not applied.")
    only = None
    if checkbox(request.form, "chosen"):  # the form had a box for each cluster
        only = [path_id(number, "cluster") for number in request.form.getlist("only")]
        if not only:
            raise InvalidInput("No cluster is ticked, so nothing was merged.", hint="Tick some of them.")
    await request.memory.dedupe.apply(plan, clusters=only)
    return redirect(f"/dedupe/{plan}#outcome")


async def undo_plan(request: PageRequest) -> Response:
    plan = _plan_id(request)
    require_confirmed(request.form, "The plan was not undone.")
    await request.memory.dedupe.undo(plan)
    return redirect(f"/dedupe/{plan}#outcome")


def _groups(
    plan: DedupePlan, clusters: Sequence[DedupeCluster]
) -> tuple[tuple[str, list[tuple[DedupeCluster, str]]], ...]:
    """The clusters by how much their texts differ, each with what its keeper gains."""
    groups: dict[str, list[tuple[DedupeCluster, str]]] = {}
    for cluster in clusters:
        kind = "Chosen by hand" if plan.options.chosen else _difference(cluster)
        groups.setdefault(kind, []).append((cluster, gain_words(cluster.moves)))
    return tuple(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))


def _difference(cluster: DedupeCluster) -> str:
    """Classifies how the memories to merge differ from the keeper."""
    changes = {words.change for member in cluster.members for words in member.difference}
    if changes <= {"same"}:
        return "Word for word the same"
    if "removed" not in changes:
        return "The one that stays has every word of the others, and more"
    return "Some words or marks differ"


def gain_words(moves: DedupeMoves) -> str:
    """A sentence with what a keeper gains."""
    parts = [
        counted(moves.accesses, "access", "accesses") if moves.accesses else "",
        counted(moves.links, "link") if moves.links else "",
        _listed(moves.tags, "the tag"),
        _listed(moves.aliases, "the name"),
    ]
    gains = [part for part in parts if part]
    if not gains:
        return "Nothing else moves."
    return f"Moves with them: {', '.join(gains[:-1])}{' and ' if len(gains) > 1 else ''}{gains[-1]}."


def _listed(values: Sequence[str], noun: str) -> str:
    words = shortened(", ".join(values), 120)
    return f"{noun if len(values) == 1 else f'{noun}s'} {words}" if values else ""


async def _plans(request: PageRequest, problem: InvalidInput | None = None) -> Response:
    return await request.render(
        "dedupe.html.j2",
        status=200 if problem is None else problem_type(problem).status,
        plans=await request.memory.dedupe.list(limit=MAX_PLANS),
        layers=await request.memory.layers.list(),
        defaults={setting.name: setting.value for setting in await request.memory.settings.list()},
        fields={name: text_field(request.form, name) or "" for name in _FIELDS},
        chosen=request.form.getlist("layer"),
        problem=problem,
    )


def _plan_id(request: PageRequest) -> int:
    return request.path_id("plan", "dedupe plan")
