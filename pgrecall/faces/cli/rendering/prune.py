"""Output of the prune commands: a plan, its outcome, and the list of plans."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from pgrecall.faces import wording as words
from pgrecall.faces.cli.rendering.console import ZONE_STYLES, SafeConsole, say, say_more, styled, table
from pgrecall.models.prune import (
    PlanItem,
    PlanKeptBack,
    PlanReport,
    PlanSummary,
    PruneOutcome,
    PrunePlan,
    PruneUndone,
)

SHOWN_ITEMS = 50
SHOWN_KEPT = 10
SHOWN_COMMUNITIES = 5
_ZONES = ("active", "stale", "fading", "dormant")
_OUTCOME_STYLES = {"archived": "green", "skipped": "yellow"}


def show_plan(console: SafeConsole, plan: PrunePlan) -> None:
    """A plan to review, and the next step."""
    say(
        console,
        f"Prune plan {plan.id}, created on {words.moment(plan.created_at)}. {words.state_words(plan)}",
    )
    say(console, words.summary(plan))
    for sentence in (*words.remarks(plan), *words.options_words(plan.options)):
        say(console, f"  {sentence}")
    if plan.report.live:
        console.print()
        console.print(_zone_table(plan.report))
    if plan.items:
        console.print()
        console.print(_item_table(plan.items[:SHOWN_ITEMS]))
        say_more(console, len(plan.items) - SHOWN_ITEMS, f"pgrecall prune show {plan.id} --json")
    _show_kept_back(console, plan.report)
    _show_communities(console, plan.report)
    console.print()
    say(console, _next_step(plan))


def show_outcome(console: SafeConsole, outcome: PruneOutcome, plan: PrunePlan) -> None:
    """What a plan archived, what it skipped and why, and how to undo it."""
    archived = words.counted(len(outcome.archived), "memory was", "memories were")
    say(console, f"Prune plan {plan.id} is applied: {archived} archived, {len(outcome.skipped):,} skipped.")
    for what in ("archived", "skipped"):
        items = [item for item in plan.items if item.outcome == what]
        for item in items[:SHOWN_ITEMS]:
            why = f": {item.note}" if item.note else ""
            say(console, f"  {what} {_name(item)}{why}", style=_OUTCOME_STYLES[what])
        say_more(console, len(items) - SHOWN_ITEMS, f"pgrecall prune show {plan.id} --json")
    if outcome.archived:
        say(console, f"Search finds them with --include-archived. To undo: pgrecall prune undo {plan.id}")


def show_undone(console: SafeConsole, undone: PruneUndone) -> None:
    """What undoing a plan restored."""
    restored = words.counted(undone.restored, "memory is", "memories are")
    say(console, f"Prune plan {undone.plan} is undone: {restored} back.")
    if undone.back_before:
        say(console, f"{words.counted(undone.back_before, 'memory', 'memories')} had been restored before.")


def show_plans(console: SafeConsole, plans: Sequence[PlanSummary]) -> None:
    """A table of plans."""
    rows = _table("id", "created", "state", "planned", "kept back", "archived", "skipped")
    for plan in plans:
        numbers = (plan.planned, plan.kept_back, plan.archived, plan.skipped)
        created = words.moment(plan.created_at)
        rows.add_row(str(plan.id), created, plan.state, *(f"{number:,}" for number in numbers))
    console.print(rows)


def _zone_table(report: PlanReport) -> Table:
    rows = table("layer", *(styled((zone, ZONE_STYLES[zone])) for zone in _ZONES), right=_ZONES)
    for layer, zones in sorted(report.zones.items()):
        rows.add_row(layer, *(f"{zones.get(zone, 0):,}" for zone in _ZONES))
    return rows


def _item_table(items: Sequence[PlanItem]) -> Table:
    rows = _table("#", "vitality", "layer", "memory and reason")
    for item in items:
        pieces = [(_name(item), "bold"), (f"\n{item.reason}", "dim")]
        if item.impact.links_in or item.impact.links_out:
            references = words.counted(item.impact.links_in, "reference")
            pieces.append((f" Ends {references} to it and {item.impact.links_out:,} from it.", "dim"))
        if item.outcome:
            note = f": {item.note}" if item.note else ""
            pieces.append((f"\n{item.outcome}{note}", _OUTCOME_STYLES[item.outcome]))
        rows.add_row(str(item.place), f"{item.vitality:.3f}", item.layer, styled(*pieces))
    return rows


def _show_kept_back(console: SafeConsole, report: PlanReport) -> None:
    if not report.staying:
        return
    console.print()
    console.print(styled((f"Kept back, {report.staying:,}:", "bold")))
    for memory in report.kept_back[:SHOWN_KEPT]:
        say(console, f"  {words.named(memory.title, memory.key, memory.id)}")
        say(console, f"    {_reason_to_keep(memory)}", style="dim")
    say_more(console, report.staying - SHOWN_KEPT)


def _reason_to_keep(memory: PlanKeptBack) -> str:
    if not memory.cut_size:
        return "It stays so that nothing is disconnected; another candidate could stay instead."
    cut = words.counted(memory.cut_size, "memory", "memories")
    names = ", ".join(words.named(other.title, None, other.id, 40) for other in memory.examples[:3])
    return f"Without it {cut} would be disconnected, such as {names}."


def _show_communities(console: SafeConsole, report: PlanReport) -> None:
    dying = [community for community in report.communities if community.planned]
    if not dying:
        return
    console.print()
    console.print(styled(("Communities of links with the lowest vitality:", "bold")))
    for community in dying[:SHOWN_COMMUNITIES]:
        names = ", ".join(words.shortened(name, 40) for name in community.examples)
        size = words.counted(community.memories, "memory", "memories")
        mean = f"mean vitality {community.mean_vitality:.3f}"
        say(console, f"  {size}, {community.planned:,} planned, {mean}: {names}")


def _next_step(plan: PrunePlan) -> str:
    match plan.state:
        case "planned" if plan.items:
            return f"Next: pgrecall prune apply {plan.id}"
        case "planned":
            return "Next: nothing to apply."
        case "applied":
            return f"Next: pgrecall prune undo {plan.id}, to undo it."
        case "undone":
            return "Next: pgrecall prune plan, for a new one."


def _name(item: PlanItem) -> str:
    return words.named(item.title, item.key, item.id)


def _table(*columns: str) -> Table:
    return table(*columns, right=("#", "vitality", "planned", "kept back", "archived", "skipped"))
