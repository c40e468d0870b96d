"""Commands about duplicates: plan, show, apply, undo, list."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

import click
from click.exceptions import Exit

from pgrecall.faces.cli.invocation import (
    DONE,
    NOTHING_FOUND,
    CommandGroup,
    GlobalOptions,
    finish,
    pass_globals,
)
from pgrecall.faces.cli.options import REFERENCE, TEXT, json_option, limit_option, now_option
from pgrecall.faces.cli.rendering.console import output, plain, print_json
from pgrecall.faces.cli.rendering.dedupe import (
    SHOWN_CLUSTERS,
    show_outcome,
    show_plan,
    show_plans,
    show_undone,
)
from pgrecall.models.dedupe import DedupePlan

plan_argument = click.argument(
    "number", type=int, metavar="ID", help="Id of the plan, as in `pgrecall dedupe list`."
)


@click.group("dedupe", cls=CommandGroup)
def dedupe() -> None:
    """Merge duplicates, by a plan that you review, apply and can undo."""


@dedupe.command("plan")
@click.option(
    "--min-similarity",
    type=float,
    help="Only duplicates whose vectors are at least this similar, 0.7 to 1; by default "
    "dedupe.min_similarity, 0.9.",
)
@click.option("--max-count", type=int, help="Maximum number of memories; by default dedupe.max_count, 1000.")
@click.option(
    "--layer", "layers", type=TEXT, multiple=True, help="Only memories of this layer; may be repeated."
)
@json_option
@now_option
@pass_globals
def plan(
    given: GlobalOptions,
    min_similarity: float | None,
    max_count: int | None,
    layers: tuple[str, ...],
    as_json: bool,
    now: datetime | None,
) -> None:
    """Plan which duplicates to merge; nothing is merged yet. Exit code 1 when there are none."""
    with given.opened() as memory:
        made = memory.dedupe.plan(
            min_similarity=min_similarity,
            max_count=max_count,
            layers=layers or None,
            now=now,
            limit=None if as_json else SHOWN_CLUSTERS,
        )
    _report(made, as_json)
    raise Exit(DONE if made.clusters else NOTHING_FOUND)


@dedupe.command("plan-merge")
@click.argument("keeper", type=REFERENCE, metavar="KEEPER", help="Id or key of the memory that stays.")
@click.argument(
    "memories",
    type=REFERENCE,
    nargs=-1,
    required=True,
    metavar="MEMORY...",
    help="Memories to merge into it.",
)
@json_option
@now_option
@pass_globals
def plan_merge(
    given: GlobalOptions,
    keeper: int | str,
    memories: tuple[int | str, ...],
    as_json: bool,
    now: datetime | None,
) -> None:
    """Plan to merge memories that you name, even if their texts differ; nothing is merged yet."""
    with given.opened() as memory:
        made = memory.dedupe.plan_merge(keeper, memories, now=now)
    _report(made, as_json)


@dedupe.command("show")
@plan_argument
@json_option
@pass_globals
def show(given: GlobalOptions, number: int, as_json: bool) -> None:
    """Show a plan: which memory stays and why, what merging moves, and how the texts differ."""
    with given.opened() as memory:
        found = memory.dedupe.get(number, limit=None if as_json else SHOWN_CLUSTERS)
    _report(found, as_json)


@dedupe.command("apply")
@plan_argument
@click.option(
    "--cluster", "clusters", type=int, multiple=True, help="Merge only this cluster; may be repeated."
)
@json_option
@now_option
@pass_globals
def apply(
    given: GlobalOptions, number: int, clusters: tuple[int, ...], as_json: bool, now: datetime | None
) -> None:
    """Merge the clusters of a plan, except what was rewritten, pinned or archived since.

    Exit code 1 when nothing was merged.
    """
    with given.opened() as memory:
        outcome = memory.dedupe.apply(number, clusters=clusters or None, now=now)
        applied = memory.dedupe.get(number, limit=SHOWN_CLUSTERS)
    finish(outcome, as_json, partial(show_outcome, plan=applied), found=outcome.merged)


@dedupe.command("undo")
@plan_argument
@json_option
@now_option
@pass_globals
def undo(given: GlobalOptions, number: int, as_json: bool, now: datetime | None) -> None:
    """Undo the merges of a plan. Exit code 1 when there was nothing to restore."""
    with given.opened() as memory:
        undone = memory.dedupe.undo(number, now=now)
    finish(undone, as_json, show_undone, found=undone.restored)


@dedupe.command("list")
@limit_option(20, 1000, "plans")
@json_option
@pass_globals
def list_(given: GlobalOptions, limit: int, as_json: bool) -> None:
    """List the newest plans and their states. Exit code 1 when there are none."""
    with given.opened() as memory:
        plans = memory.dedupe.list(limit=limit)
    nothing = "There are no plans yet. Create one: pgrecall dedupe plan"
    finish(plans, as_json, show_plans, found=plans, otherwise=nothing)


def plan_document(plan: DedupePlan) -> dict[str, Any]:
    """The plan as SQL's ``recall.get_dedupe_plan`` returns it, with all clusters, compared by words."""
    document: dict[str, Any] = plain(plan)
    for cluster in document["clusters"]:
        for member in cluster["members"]:
            member["difference"] = [[change["change"], change["text"]] for change in member["difference"]]
    return document


def _report(plan: DedupePlan, as_json: bool) -> None:
    if as_json:
        print_json(plan_document(plan))
    else:
        show_plan(output(), plan)
