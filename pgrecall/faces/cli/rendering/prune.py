"""Prune plans on a terminal: what would be archived and why, what stays, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.faces.charts import wording as words
from pgrecall.faces.cli.rendering.search import ZONE_STYLES
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import Terminal
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
_ZONES = ("active", "stale", "fading", "archived")
_OUTCOME_STYLES = {"archived": "green", "skipped": "yellow"}


def show_plan(terminal: Terminal, plan: PrunePlan) -> None:
    """The plan for the one who reviews it, and the next step."""
    _say(
        terminal, f"Prune plan {plan.id}, made on {words.moment(plan.created_at)}. {words.state_words(plan)}"
    )
    _say(terminal, words.summary(plan))
    for sentence in (*words.remarks(plan), *words.options_words(plan.options)):
        _say(terminal, f"  {sentence}")
    if plan.report.live:
        terminal.print()
        terminal.show(_zone_table(plan.report))
    if plan.items:
        terminal.print()
        terminal.show(_item_table(plan.items[:SHOWN_ITEMS]))
        _more(terminal, len(plan.items) - SHOWN_ITEMS, f"pgrecall prune show {plan.id} --json")
    _show_kept_back(terminal, plan.report)
    _show_communities(terminal, plan.report)
    terminal.print()
    _say(terminal, _next_step(plan))


def show_outcome(terminal: Terminal, outcome: PruneOutcome, plan: PrunePlan) -> None:
    """What applying a plan archived, what it skipped and why, and the way back."""
    archived = words.counted(len(outcome.archived), "memory was", "memories were")
    _say(terminal, f"Prune plan {plan.id} is applied: {archived} archived, {len(outcome.skipped):,} skipped.")
    for what in ("archived", "skipped"):
        items = [item for item in plan.items if item.outcome == what]
        for item in items[:SHOWN_ITEMS]:
            why = f": {item.note}" if item.note else ""
            _say(terminal, f"  {what} {_name(item)}{why}", style=_OUTCOME_STYLES[what])
        _more(terminal, len(items) - SHOWN_ITEMS, f"pgrecall prune show {plan.id} --json")
    if outcome.archived:
        _say(terminal, f"They are still found with --include-archived. Undo: pgrecall prune undo {plan.id}")


def show_undone(terminal: Terminal, undone: PruneUndone) -> None:
    """What came back."""
    restored = words.counted(undone.restored, "memory is", "memories are")
    _say(terminal, f"Prune plan {undone.plan} is undone: {restored} back.")
    if undone.back_before:
        _say(terminal, f"{words.counted(undone.back_before, 'memory', 'memories')} had come back before.")


def show_plans(terminal: Terminal, plans: Sequence[PlanSummary]) -> None:
    """A table of plans."""
    table = _table("id", "made", "state", "planned", "kept back", "archived", "skipped")
    for plan in plans:
        numbers = (plan.planned, plan.kept_back, plan.archived, plan.skipped)
        made = words.moment(plan.created_at)
        table.add_row(str(plan.id), made, plan.state, *(f"{number:,}" for number in numbers))
    terminal.show(table)


def _zone_table(report: PlanReport) -> Table:
    table = Table("layer", *((zone, ZONE_STYLES[zone]) for zone in _ZONES), right=_ZONES)
    for layer, zones in sorted(report.zones.items()):
        table.add_row(layer, *(f"{zones.get(zone, 0):,}" for zone in _ZONES))
    return table


def _item_table(items: Sequence[PlanItem]) -> Table:
    table = _table("#", "vitality", "layer", "memory and reason")
    for item in items:
        told = [(_name(item), "bold"), (f"\n{item.reason}", "dim")]
        if item.impact.links_in or item.impact.links_out:
            references = words.counted(item.impact.links_in, "reference")
            told.append((f" Ends {references} to it and {item.impact.links_out:,} from it.", "dim"))
        if item.outcome:
            note = f": {item.note}" if item.note else ""
            told.append((f"\n{item.outcome}{note}", _OUTCOME_STYLES[item.outcome]))
        table.add_row(str(item.place), f"{item.vitality:.3f}", item.layer, told)
    return table


def _show_kept_back(terminal: Terminal, report: PlanReport) -> None:
    if not report.staying:
        return
    terminal.print()
    terminal.print((f"Kept back, {report.staying:,}:", "bold"))
    for memory in report.kept_back[:SHOWN_KEPT]:
        _say(terminal, f"  {words.named(memory.title, memory.key, memory.id)}")
        _say(terminal, f"    {_holding(memory)}", style="dim")
    _more(terminal, report.staying - SHOWN_KEPT)


def _holding(memory: PlanKeptBack) -> str:
    if not memory.cut_size:
        return "It stays so that nothing is cut off, though another one would do."
    cut = words.counted(memory.cut_size, "memory", "memories")
    names = ", ".join(words.named(other.title, None, other.id, 40) for other in memory.examples[:3])
    return f"Without it {cut} would be cut off, such as {names}."


def _show_communities(terminal: Terminal, report: PlanReport) -> None:
    dying = [community for community in report.communities if community.planned]
    if not dying:
        return
    terminal.print()
    terminal.print(("Least lively communities of links:", "bold"))
    for community in dying[:SHOWN_COMMUNITIES]:
        names = ", ".join(words.shortened(name, 40) for name in community.examples)
        size = words.counted(community.memories, "memory", "memories")
        mean = f"mean vitality {community.mean_vitality:.3f}"
        _say(terminal, f"  {size}, {community.planned:,} planned, {mean}: {names}")


def _next_step(plan: PrunePlan) -> str:
    match plan.state:
        case "planned" if plan.items:
            return f"Next: pgrecall prune apply {plan.id}"
        case "planned":
            return "Next: nothing to apply."
        case "applied":
            return f"Next: pgrecall prune undo {plan.id}, should anything be missed."
        case "undone":
            return "Next: pgrecall prune plan, for a new one."


def _name(item: PlanItem) -> str:
    return words.named(item.title, item.key, item.id)


def _more(terminal: Terminal, count: int, command: str = "") -> None:
    if count > 0:
        _say(terminal, f"  and {count:,} more{f' ({command})' if command else ''}")


def _say(terminal: Terminal, sentence: str, *, style: str = "") -> None:
    terminal.print((sentence, style), soft_wrap=True)


def _table(*columns: str) -> Table:
    return Table(*columns, right=("#", "vitality", "planned", "kept back", "archived", "skipped"))
