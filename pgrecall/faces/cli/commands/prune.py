"""Commands about pruning: plan, show, apply, undo, list."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.invocation import (
    DONE,
    NOTHING_FOUND,
    CommandGroup,
    GlobalOptions,
    finish,
    pass_globals,
)
from pgrecall.faces.cli.options import TEXT, json_option, limit_option, now_option
from pgrecall.faces.cli.rendering.console import notes, output, plain, print_json
from pgrecall.faces.cli.rendering.prune import show_outcome, show_plan, show_plans, show_undone
from pgrecall.models.prune import PrunePlan

plan_argument = click.argument(
    "number", type=int, metavar="ID", help="Id of the plan, as in `pgrecall prune list`."
)
html_option = click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Also write the report as one HTML file."
)


@click.group("prune", cls=CommandGroup)
def prune() -> None:
    """Archive memories that are no longer used, by a plan that you review, apply and can undo."""


@prune.command("plan")
@click.option("--max-count", type=int, help="Maximum number of memories; by default prune.max_count, 1000.")
@click.option(
    "--max-share", type=float, help="Maximum share of live memories, 0 to 1; by default prune.max_share, 0.1."
)
@click.option(
    "--grace-days",
    type=float,
    help="Keep memories stored or accessed within this many days; by default prune.grace_days, 30.",
)
@click.option(
    "--layer", "layers", type=TEXT, multiple=True, help="Only memories of this layer; may be repeated."
)
@json_option
@html_option
@now_option
@pass_globals
def plan(
    given: GlobalOptions,
    max_count: int | None,
    max_share: float | None,
    grace_days: float | None,
    layers: tuple[str, ...],
    as_json: bool,
    html: Path | None,
    now: datetime | None,
) -> None:
    """Plan which memories to archive; nothing is archived yet. Exit code 1 when there are none."""
    _require_writable(html)
    with given.opened() as memory:
        made = memory.prune.plan(
            max_count=max_count, max_share=max_share, grace_days=grace_days, layers=layers or None, now=now
        )
    _report(made, as_json, html)
    raise Exit(DONE if made.items else NOTHING_FOUND)


@prune.command("show")
@plan_argument
@json_option
@html_option
@pass_globals
def show(given: GlobalOptions, number: int, as_json: bool, html: Path | None) -> None:
    """Show a plan: what it archives and why, what it keeps back, and its state."""
    _require_writable(html)
    with given.opened() as memory:
        found = memory.prune.get(number)
    _report(found, as_json, html)


@prune.command("apply")
@plan_argument
@click.option(
    "--only", type=int, multiple=True, metavar="ID", help="Archive this memory of the plan; repeatable."
)
@json_option
@now_option
@pass_globals
def apply(
    given: GlobalOptions, number: int, only: tuple[int, ...], as_json: bool, now: datetime | None
) -> None:
    """Archive the memories of a plan, except those accessed, linked or pinned since.

    Exit code 1 when nothing was archived.
    """
    with given.opened() as memory:
        outcome = memory.prune.apply(number, only=only or None, now=now)
        applied = memory.prune.get(number)
    finish(outcome, as_json, partial(show_outcome, plan=applied), found=outcome.archived)


@prune.command("undo")
@plan_argument
@json_option
@now_option
@pass_globals
def undo(given: GlobalOptions, number: int, as_json: bool, now: datetime | None) -> None:
    """Restore all memories that a plan archived. Exit code 1 when there was nothing to restore."""
    with given.opened() as memory:
        undone = memory.prune.undo(number, now=now)
    finish(undone, as_json, show_undone, found=undone.restored)


@prune.command("list")
@limit_option(20, 1000, "plans")
@json_option
@pass_globals
def list_(given: GlobalOptions, limit: int, as_json: bool) -> None:
    """List the newest plans and their states. Exit code 1 when there are none."""
    with given.opened() as memory:
        plans = memory.prune.list(limit=limit)
    nothing = "There are no plans yet. Create one: pgrecall prune plan"
    finish(plans, as_json, show_plans, found=plans, otherwise=nothing)


def plan_document(plan: PrunePlan) -> dict[str, Any]:
    """The plan as SQL's ``recall.get_prune_plan`` returns it, with all its items."""
    document: dict[str, Any] = plain(plan)
    links = document["report"]["links"]
    document["report"]["links"] = [[link["source"], link["target"], link["relation"]] for link in links]
    return document


def _report(plan: PrunePlan, as_json: bool, html: Path | None) -> None:
    if html is not None:
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
            hint=f"The plan is stored; choose another file: pgrecall prune show {plan.id} --html FILE",
        ) from error
