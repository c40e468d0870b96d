"""Commands about plans: prune, dedupe, redact, merge, list, show, apply, undo, drop."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import (
    DONE,
    NOTHING_FOUND,
    CommandGroup,
    GlobalOptions,
    finish,
    pass_globals,
)
from pgrecall.faces.cli.options import TEXT, json_option, now_option
from pgrecall.faces.cli.rendering.console import notes, output, plain, print_json
from pgrecall.faces.cli.rendering.plans import (
    SHOWN_CLUSTERS,
    show_outcome,
    show_plan,
    show_plans,
    show_undone,
)
from pgrecall.nouns.plans._sync import PlansGroup
from pgrecall.nouns.plans.models import Plan
from pgrecall.nouns.plans.prune import PrunePlan
from pgrecall.nouns.plans.redact import RedactPlan

_plan = {"plan": "Id of the plan, as in `pgrecall plan list`."}
plan_argument = click.argument("number", type=int, metavar="PLAN", help=_plan["plan"])
html_option = click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the report of a prune plan as one HTML file.",
)
layers_option = click.option(
    "--layer", "layers", type=TEXT, multiple=True, help="Only memories of this layer; may be repeated."
)


@click.group("plan", cls=CommandGroup)
def plan() -> None:
    """Archive unused memories, merge duplicates and replace secrets, by plans that can be undone."""


@plan.command("prune")
@click.option("--max-count", type=int, help="Maximum number of memories; by default prune.max_count, 1000.")
@click.option(
    "--max-share", type=float, help="Maximum share of live memories, 0 to 1; by default prune.max_share, 0.1."
)
@click.option(
    "--grace-days",
    type=float,
    help="Keep memories stored or accessed within this many days; by default prune.grace_days, 30.",
)
@layers_option
@json_option
@html_option
@now_option
@pass_globals
def prune(
    given: GlobalOptions,
    max_count: int | None,
    max_share: float | None,
    grace_days: float | None,
    layers: tuple[str, ...],
    as_json: bool,
    html: Path | None,
    now: datetime | None,
) -> None:
    """Plan which unused memories to archive; nothing is archived yet. Exit code 1 when there are none."""
    _require_writable(html)
    with given.opened() as memory:
        made = memory.plans.prune(
            max_count=max_count, max_share=max_share, grace_days=grace_days, layers=layers or None, now=now
        )
    _report(made, as_json, html)
    raise Exit(DONE if made.items else NOTHING_FOUND)


@plan.command("dedupe")
@click.option(
    "--min-similarity",
    type=float,
    help="Only duplicates whose vectors are at least this similar, 0.7 to 1; by default "
    "dedupe.min_similarity, 0.9.",
)
@click.option("--max-count", type=int, help="Maximum number of memories; by default dedupe.max_count, 1000.")
@layers_option
@json_option
@now_option
@pass_globals
def dedupe(
    given: GlobalOptions,
    min_similarity: float | None,
    max_count: int | None,
    layers: tuple[str, ...],
    as_json: bool,
    now: datetime | None,
) -> None:
    """Plan which duplicates to merge; nothing is merged yet. Exit code 1 when there are none."""
    with given.opened() as memory:
        made = memory.plans.dedupe(
            min_similarity=min_similarity,
            max_count=max_count,
            layers=layers or None,
            now=now,
            limit=None if as_json else SHOWN_CLUSTERS,
        )
    _report(made, as_json)
    raise Exit(DONE if made.clusters else NOTHING_FOUND)


@plan.command("show")
@plan_argument
@json_option
@html_option
@pass_globals
def show(given: GlobalOptions, number: int, as_json: bool, html: Path | None) -> None:
    """Show a plan: what it archives, merges or redacts and why, what it leaves, and its state."""
    _require_writable(html)
    with given.opened() as memory:
        found = _read(memory, number, whole=as_json)
    if html is not None and found.kind != "prune":
        raise InvalidInput(
            f"Plan {number} is a {found.kind} plan, which has no HTML report.", hint="Leave out --html."
        )
    _report(found, as_json, html)


@plan.command("apply")
@plan_argument
@click.option(
    "--only",
    "parts",
    type=int,
    multiple=True,
    metavar="ID",
    help="Only this memory of a prune or redact plan, or this cluster of a dedupe plan; may be repeated.",
)
@json_option
@now_option
@pass_globals
def apply(
    given: GlobalOptions, number: int, parts: tuple[int, ...], as_json: bool, now: datetime | None
) -> None:
    """Archive, merge or redact the memories of a plan, except what has changed since.

    Exit code 1 when nothing was archived, merged or redacted.
    """
    with given.opened() as memory:
        outcome = memory.plans.apply(number, parts=parts or None, now=now)
        applied = _read(memory, number)
    finish(outcome, as_json, partial(show_outcome, plan=applied), found=outcome.archived or outcome.redacted)


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as SQL's ``recall.get_plan`` returns it, with all its parts; texts are compared by words."""
    document: dict[str, Any] = plain(plan)
    if isinstance(plan, RedactPlan):
        return document
    if isinstance(plan, PrunePlan):
        links = document["report"]["links"]
        document["report"]["links"] = [[link["source"], link["target"], link["relation"]] for link in links]
        return document
    for cluster in document["clusters"]:
        for member in cluster["members"]:
            member["difference"] = [[change["change"], change["text"]] for change in member["difference"]]
    return document


def _read(memory: Memory, number: int, *, whole: bool = False) -> Plan:
    """A plan to show: a dedupe plan with the clusters that are shown, others with all their items."""
    found = memory.plans.get(number, limit=None if whole else SHOWN_CLUSTERS)
    return memory.plans.get(number) if found.kind != "dedupe" and not whole else found


def _report(plan: Plan, as_json: bool, html: Path | None = None) -> None:
    if html is not None and isinstance(plan, PrunePlan):
        _write_page(plan, html)
    if as_json:
        print_json(plan_document(plan))
    else:
        show_plan(output(), plan)
    if html is not None:
        notes().print(f"The report with charts is in {html}.")


def _require_writable(html: Path | None) -> None:
    """Checks before a plan is made that its report can be."""
    if html is not None:
        from pgrecall.faces.charts.chart_files import require_layout

        require_layout()


def _write_page(plan: PrunePlan, file: Path) -> None:
    from pgrecall.faces.charts.plan_report import plan_page

    try:
        file.write_text(plan_page(plan), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}.",
            hint=f"The plan is stored; choose another file: pgrecall plan show {plan.id} --html FILE",
        ) from error


add_commands(
    plan,
    "prune dedupe redact merge show apply undo drop list",
    command(
        "merge",
        PlansGroup.merge,
        show_plan,
        document=plan_document,
    ),
    command(
        "redact",
        PlansGroup.redact,
        show_plan,
        found=lambda plan: plan.items,
        more="Exit code 1 when there are none.",
    ),
    command(
        "undo",
        PlansGroup.undo,
        show_undone,
        found=lambda undone: undone.restored,
        more="Exit code 1 when there was nothing to restore.",
        helps=_plan,
    ),
    command("drop", PlansGroup.drop, "Plan {plan} is removed.", helps=_plan),
    command(
        "list",
        PlansGroup.list,
        show_plans,
        otherwise="There are no plans yet. Create one: pgrecall plan prune, dedupe or redact",
        more="Exit code 1 when there are none.",
    ),
    of=PlansGroup,
)
