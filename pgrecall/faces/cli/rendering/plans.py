"""Output of the commands about plans: a plan of each kind, its outcome, and the list of plans."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.faces import wording
from pgrecall.faces.cli.rendering.console import SafeConsole, say, say_more, table
from pgrecall.faces.cli.rendering.dedupe import SHOWN_CLUSTERS as SHOWN_CLUSTERS
from pgrecall.faces.cli.rendering.dedupe import show_clusters
from pgrecall.faces.cli.rendering.prune import OUTCOME_STYLES, SHOWN_ITEMS, show_candidates
from pgrecall.faces.cli.rendering.redact import show_secrets
from pgrecall.faces.plan_words import state_words
from pgrecall.nouns.plans.dedupe import DedupeKeeper, DedupeMember, DedupePlan
from pgrecall.nouns.plans.models import Plan, PlanOutcome, PlanSummary, PlanUndone
from pgrecall.nouns.plans.prune import PlanItem, PrunePlan
from pgrecall.nouns.plans.redact import RedactItem, RedactPlan


def show_plan(console: SafeConsole, plan: Plan) -> None:
    """A plan to review, and the next step."""
    created = wording.moment(plan.created_at)
    say(console, f"{_named(plan)}, created on {created}. {state_words(plan)}")
    if isinstance(plan, PrunePlan):
        show_candidates(console, plan)
    elif isinstance(plan, RedactPlan):
        show_secrets(console, plan)
    else:
        show_clusters(console, plan)
    console.print()
    say(console, _next_step(plan))


def show_outcome(console: SafeConsole, outcome: PlanOutcome, plan: Plan) -> None:
    """What a plan changed, what it skipped and why, and how to undo it."""
    changed = outcome.archived or outcome.redacted
    done = wording.counted(len(changed), "memory was", "memories were")
    verb = {"prune": "archived", "dedupe": "merged", "redact": "redacted"}[plan.kind]
    say(console, f"{_named(plan)} is applied: {done} {verb}, {len(outcome.skipped):,} skipped.")
    skipped = len(outcome.skipped)
    for is_skipped, count in ((False, len(outcome.results) - skipped), (True, skipped)):
        items = [item for item in _items(plan) if (item.outcome == "skipped") == is_skipped][:SHOWN_ITEMS]
        for item in items:
            note = f": {item.note}" if item.note else ""
            style = OUTCOME_STYLES[item.outcome or "skipped"]
            say(console, f"  {item.outcome} {_item_name(item)}{note}", style=style)
        say_more(console, count - len(items), f"pgrecall plan show {plan.id} --json")
    if outcome.archived:
        say(console, f"Search finds them with --include-archived. To undo: pgrecall plan undo {plan.id}")
    elif outcome.redacted:
        say(console, f"To undo: pgrecall plan undo {plan.id}. To keep nothing: pgrecall plan drop {plan.id}")
        say(console, "Replace the secrets where they are used: backups and exports may still have them.")
        if isinstance(plan, RedactPlan) and plan.report.remains:
            say(console, plan.report.remains)


def show_undone(console: SafeConsole, undone: PlanUndone) -> None:
    """What undoing a plan restored."""
    restored = wording.counted(undone.restored, "memory is", "memories are")
    say(console, f"Plan {undone.plan} is undone: {restored} back.")
    if undone.back_before:
        gone = wording.counted(undone.back_before, "memory", "memories")
        say(console, f"{gone} had been restored, rewritten or deleted before.")


def show_plans(console: SafeConsole, plans: Sequence[PlanSummary]) -> None:
    """A table of plans."""
    counts = ("planned", "archived", "skipped", "kept back", "clusters", "contradictions")
    rows = table("id", "kind", "created", "state", *counts, right=counts)
    for plan in plans:
        numbers = (
            plan.planned, plan.archived, plan.skipped, plan.kept_back, plan.clusters, plan.contradictions,
        )  # fmt: skip
        shown = ("" if number is None else f"{number:,}" for number in numbers)
        rows.add_row(str(plan.id), plan.kind, wording.moment(plan.created_at), plan.state, *shown)
    console.print(rows)


def _named(plan: Plan) -> str:
    return f"{plan.kind.capitalize()} plan {plan.id}"


def _item_name(item: PlanItem | DedupeKeeper | DedupeMember | RedactItem) -> str:
    """A title may hold the secret that a redact plan is about."""
    if isinstance(item, RedactItem):
        return f"memory {item.id}"
    return wording.named(item.title, item.key, item.id)


def _items(plan: Plan) -> Sequence[PlanItem | DedupeKeeper | DedupeMember | RedactItem]:
    if not isinstance(plan, DedupePlan):
        return plan.items
    items: list[PlanItem | DedupeKeeper | DedupeMember] = []
    for cluster in plan.clusters:
        items += (cluster.keeper, *cluster.members)
    return items


def _next_step(plan: Plan) -> str:
    match plan.state:
        case "planned" if plan.report.planned:
            return f"Next: pgrecall plan apply {plan.id}"
        case "planned":
            return "Next: nothing to apply."
        case "applied":
            return f"Next: pgrecall plan undo {plan.id}, to undo it."
        case "undone":
            return f"Next: pgrecall plan {plan.kind}, for a new one."
