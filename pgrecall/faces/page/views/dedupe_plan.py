"""The view of a dedupe plan: its clusters one by one, or its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from starlette.responses import Response

from pgrecall.faces.page.form_fields import int_field
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.faces.wording import counted, shortened
from pgrecall.nouns.plans.dedupe import DedupeCluster, DedupeKeeper, DedupeMember, DedupeMoves, DedupePlan

PAGE_SIZE, MAX_TICKED = 50, 100
"""Clusters of a plan on one page, and those up to which each can be ticked, all on one page."""

_FURTHEST = 1_000_000

_MAX_SHOWN = 50


async def show_dedupe_plan(request: PageRequest, number: int) -> Response:
    """A dedupe plan with its clusters and the words that differ, page by page, or its outcome."""
    first = int_field(request.query, "after", 0, low=0, high=_FURTHEST)
    plan = cast(DedupePlan, await request.memory.plans.get(number, limit=MAX_TICKED, offset=first))
    choosable = plan.state == "planned" and request.may_write and plan.report.clusters <= MAX_TICKED
    clusters = plan.clusters if choosable else plan.clusters[:PAGE_SIZE]
    newest = await request.memory.plans.list(kind="dedupe")
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
