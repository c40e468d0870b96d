"""Output of a redact plan: where secrets are and of what kind, never what they are."""

from __future__ import annotations

from pgrecall.faces import plan_words as words
from pgrecall.faces.cli.rendering.console import SafeConsole, say, say_more, styled, table
from pgrecall.faces.cli.rendering.prune import OUTCOME_STYLES, SHOWN_ITEMS
from pgrecall.nouns.plans.redact import RedactPlan


def show_secrets(console: SafeConsole, plan: RedactPlan) -> None:
    """The kinds of secrets of a redact plan, and the memories that hold them."""
    say(console, words.secrets_summary(plan.report))
    if not plan.report.complete:
        say(console, "The plan ended at its limit. Apply it, then make another one for the rest.")
    if not plan.items:
        return
    rows = table("#", "layer", "memory and places", right=("#",))
    for item in plan.items[:SHOWN_ITEMS]:
        pieces = [(f"memory {item.id}", "bold")]
        pieces += [(f"\n{words.secret_place(found)}", "dim") for found in item.findings]
        if item.outcome:
            note = f": {item.note}" if item.note else ""
            pieces.append((f"\n{item.outcome}{note}", OUTCOME_STYLES[item.outcome]))
        rows.add_row(str(item.place), item.layer, styled(*pieces))
    console.print()
    console.print(rows)
    say_more(console, len(plan.items) - SHOWN_ITEMS, f"pgrecall plan show {plan.id} --json")
