"""Output of a prune plan: its candidates, what it keeps back, and communities of links."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from pgrecall.faces import plan_words, wording
from pgrecall.faces.cli.rendering.console import ZONE_STYLES, SafeConsole, say, say_more, styled, table
from pgrecall.nouns.plans.prune import PlanItem, PlanKeptBack, PlanReport, PrunePlan

SHOWN_ITEMS = 50
SHOWN_KEPT = 10
SHOWN_COMMUNITIES = 5
_ZONES = ("active", "stale", "fading", "dormant")
OUTCOME_STYLES = {
    "archived": "green", "merged": "green", "kept": "green", "redacted": "green", "skipped": "yellow",
}  # fmt: skip


def show_candidates(console: SafeConsole, plan: PrunePlan) -> None:
    """What a prune plan archives and why, and what it keeps back."""
    say(console, plan_words.summary(plan))
    for sentence in (*plan_words.remarks(plan), *plan_words.options_words(plan.options)):
        say(console, f"  {sentence}")
    if plan.report.live:
        console.print()
        console.print(_zone_table(plan.report))
    if plan.items:
        console.print()
        console.print(_item_table(plan.items[:SHOWN_ITEMS]))
        say_more(console, len(plan.items) - SHOWN_ITEMS, f"pgrecall plan show {plan.id} --json")
    _show_kept_back(console, plan.report)
    _show_communities(console, plan.report)


def _zone_table(report: PlanReport) -> Table:
    rows = table("layer", *(styled((zone, ZONE_STYLES[zone])) for zone in _ZONES), right=_ZONES)
    for layer, zones in sorted(report.zones.items()):
        rows.add_row(layer, *(f"{zones.get(zone, 0):,}" for zone in _ZONES))
    return rows


def _item_table(items: Sequence[PlanItem]) -> Table:
    rows = table("#", "vitality", "layer", "memory and reason", right=("#", "vitality"))
    for item in items:
        pieces = [(wording.named(item.title, item.key, item.id), "bold"), (f"\n{item.reason}", "dim")]
        if item.impact.links_in or item.impact.links_out:
            references = wording.counted(item.impact.links_in, "reference")
            pieces.append((f" Ends {references} to it and {item.impact.links_out:,} from it.", "dim"))
        if item.outcome:
            note = f": {item.note}" if item.note else ""
            pieces.append((f"\n{item.outcome}{note}", OUTCOME_STYLES[item.outcome]))
        rows.add_row(str(item.place), f"{item.vitality:.3f}", item.layer, styled(*pieces))
    return rows


def _show_kept_back(console: SafeConsole, report: PlanReport) -> None:
    if not report.staying:
        return
    console.print()
    console.print(styled((f"Kept back, {report.staying:,}:", "bold")))
    for memory in report.kept_back[:SHOWN_KEPT]:
        say(console, f"  {wording.named(memory.title, memory.key, memory.id)}")
        say(console, f"    {_reason_to_keep(memory)}", style="dim")
    say_more(console, report.staying - SHOWN_KEPT)


def _reason_to_keep(memory: PlanKeptBack) -> str:
    if not memory.cut_size:
        return "It stays so that nothing is disconnected; another candidate could stay instead."
    cut = wording.counted(memory.cut_size, "memory", "memories")
    names = ", ".join(wording.named(other.title, None, other.id, 40) for other in memory.examples[:3])
    return f"Without it {cut} would be disconnected, such as {names}."


def _show_communities(console: SafeConsole, report: PlanReport) -> None:
    dying = [community for community in report.communities if community.planned]
    if not dying:
        return
    console.print()
    console.print(styled(("Communities of links with the lowest vitality:", "bold")))
    for community in dying[:SHOWN_COMMUNITIES]:
        names = ", ".join(wording.shortened(name, 40) for name in community.examples)
        size = wording.counted(community.memories, "memory", "memories")
        mean = f"mean vitality {community.mean_vitality:.3f}"
        say(console, f"  {size}, {community.planned:,} planned, {mean}: {names}")
