"""Commands about pruning: plan, show, apply, undo, list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import DONE, NOTHING_FOUND, AsJson, Now, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context, Exit, Option
from pgrecall.faces.cli.json_output import plain, to_text
from pgrecall.faces.cli.rendering.prune import show_outcome, show_plan, show_plans, show_undone
from pgrecall.faces.cli.values import parse_moment, texts
from pgrecall.models.prune import PrunePlan

LARGEST_N = 1000

prune_commands = CommandGroup(
    "Forgetting by plan: what is no longer used leaves default search, and can come back.",
)

PlanId = Annotated[int, Argument(metavar="ID", help="The plan; `pgrecall prune list` has their ids.")]
Html = Annotated[
    Path | None, Option("--html", metavar="FILE", help="Also write the report as one HTML file.")
]


@prune_commands.add("plan")
def plan(
    context: Context,
    max_count: Annotated[
        int | None, Option(help="So many memories at most; else setting prune.max_count, 1000.")
    ] = None,
    max_share: Annotated[
        float | None,
        Option(help="This share of the live ones at most, 0 to 1; else prune.max_share, 0.1."),
    ] = None,
    grace_days: Annotated[
        float | None,
        Option(help="Nothing stored or used within so many days; else prune.grace_days, 30."),
    ] = None,
    layer: Annotated[list[str] | None, Option(help="Only memories of this layer; may be repeated.")] = None,
    as_json: AsJson = False,
    html: Html = None,
    now: Now = None,
) -> None:
    """Make a plan of what could be archived, as a dry run. Exit code 1 when there is nothing."""
    moment = parse_moment(now, "--now")
    layers = texts(layer, "--layer")
    with globals_of(context).opened() as memory:
        made = memory.prune.plan(
            max_count=max_count, max_share=max_share, grace_days=grace_days, layers=layers, now=moment
        )
    _report(made, as_json, html)
    raise Exit(DONE if made.items else NOTHING_FOUND)


@prune_commands.add("show")
def show(context: Context, number: PlanId, as_json: AsJson = False, html: Html = None) -> None:
    """Show a plan: what it would archive and why, what it keeps back, and what became of it."""
    with globals_of(context).opened() as memory:
        found = memory.prune.get(number)
    _report(found, as_json, html)


@prune_commands.add("apply")
def apply(context: Context, number: PlanId, as_json: AsJson = False, now: Now = None) -> None:
    """Archive what a plan is for, but for what was used, linked or pinned since.

    Exit code 1 when nothing was archived.
    """
    moment = parse_moment(now, "--now")
    with globals_of(context).opened() as memory:
        outcome = memory.prune.apply(number, now=moment)
        applied = memory.prune.get(number)
    if as_json:
        output().out(to_text(outcome))
    else:
        show_outcome(output(), outcome, applied)
    raise Exit(DONE if outcome.archived else NOTHING_FOUND)


@prune_commands.add("undo")
def undo(context: Context, number: PlanId, as_json: AsJson = False, now: Now = None) -> None:
    """Bring back everything a plan archived. Exit code 1 when nothing was left to bring back."""
    moment = parse_moment(now, "--now")
    with globals_of(context).opened() as memory:
        undone = memory.prune.undo(number, now=moment)
    if as_json:
        output().out(to_text(undone))
    else:
        show_undone(output(), undone)
    raise Exit(DONE if undone.restored else NOTHING_FOUND)


@prune_commands.add("list")
def list_(
    context: Context,
    limit: Annotated[int, Option("-n", help="At most so many, 1 to 1000.")] = 20,
    as_json: AsJson = False,
) -> None:
    """The newest plans and what became of them. Exit code 1 when there are none."""
    if not 1 <= limit <= LARGEST_N:
        raise InvalidInput(f"-n is {limit}; it must lie between 1 and {LARGEST_N:,}.")
    with globals_of(context).opened() as memory:
        plans = memory.prune.list(limit=limit)
    if as_json:
        output().out(to_text(plans))
    elif plans:
        show_plans(output(), plans)
    else:
        notes().print("There are no plans yet. Make one: pgrecall prune plan")
    raise Exit(DONE if plans else NOTHING_FOUND)


def plan_document(plan: PrunePlan) -> dict[str, Any]:
    """The plan as SQL's ``recall.prune_plan_of`` gives it, all its items in one."""
    document: dict[str, Any] = plain(plan)
    links = document["report"]["links"]
    document["report"]["links"] = [[link["source"], link["target"], link["relation"]] for link in links]
    return document


def _report(plan: PrunePlan, as_json: bool, html: Path | None) -> None:
    if html is not None:
        _write_page(plan, html)
    if as_json:
        output().out(to_text(plan_document(plan)))
    else:
        show_plan(output(), plan)
    if html is not None:
        notes().print(f"The report with pictures is in {html}.")


def _write_page(plan: PrunePlan, file: Path) -> None:
    from pgrecall.faces.charts.report_html import plan_page

    try:
        file.write_text(plan_page(plan), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}.",
            hint=f"The plan is stored; write it elsewhere: pgrecall prune show {plan.id} --html FILE",
        ) from error
