"""Feedback and calibration on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from pgrecall.faces.charts import wording as words
from pgrecall.faces.cli.console import SafeConsole, table
from pgrecall.models.calibration import Calibration
from pgrecall.models.feedback import Feedback, MemoryFeedback, RankFeedback

SHOWN_RANKS = 20
_FIGURES = (("log loss", "log_loss"), ("Brier score", "brier"), ("calibration error", "ece"), ("MRR", "mrr"))


def show_feedback(console: SafeConsole, found: Feedback, *, unused: bool) -> None:
    """A table of memories and one of ranks."""
    if found.memories:
        console.print(_memories(found.memories))
    elif unused:
        console.print("Every memory that was shown was used at least once.")
    console.print()
    console.print(_ranks(found.ranks[:SHOWN_RANKS]))
    if len(found.ranks) > SHOWN_RANKS:
        console.print(f"and {len(found.ranks) - SHOWN_RANKS:,} more ranks (pgrecall feedback report --json)")
    if not any(rank.judged for rank in found.ranks):
        console.print("No search has been judged yet: pgrecall feedback used SEARCH_ID ID_OR_KEY...")


def _memories(memories: Sequence[MemoryFeedback]) -> Table:
    rows = _table("id", "memory", "layer", "shown", "used", "rejected", "last shown")
    for memory in memories:
        counts = (f"{count:,}" for count in (memory.shown, memory.used, memory.rejected))
        name = words.named(memory.title, memory.key, memory.id, 60)
        last = words.moment(memory.last_shown_at)
        rows.add_row(str(memory.id), name, memory.layer, *counts, last)
    return rows


def _ranks(ranks: Sequence[RankFeedback]) -> Table:
    rows = _table("rank", "shown", "judged", "used", "rejected", "use rate", "propensity")
    for rank in ranks:
        counts = (f"{count:,}" for count in (rank.shown, rank.judged, rank.used, rank.rejected))
        rate = "" if rank.use_rate is None else f"{rank.use_rate:.3f}"
        rows.add_row(str(rank.rank), *counts, rate, f"{rank.propensity:.3f}")
    return rows


def _table(*columns: str) -> Table:
    return table(*columns, right=set(columns) - {"memory", "layer", "last shown"})


def show_calibration(console: SafeConsole, done: Calibration) -> None:
    """The number of judgements, the figures before and after, and the coefficients."""
    missed = f"; {done.missed:,} more were not found by search" if done.missed else ""
    console.print(
        f"{done.queries:,} queries, {done.candidates:,} candidates, {done.relevant:,} relevant{missed}",
    )
    if done.left_out:
        console.print(f"{done.left_out:,} queries without words were left out")
    figures = table(done.name, "now", "held out")
    for label, name in _FIGURES:
        figures.add_row(label, f"{getattr(done.before, name):.4f}", f"{getattr(done.after, name):.4f}")
    console.print(figures)
    verdict = "falls" if done.better else "does not fall"
    console.print(
        f"The log loss {verdict}: by {done.gain:.4f} "
        f"(95 % from {done.gain_low:.4f} to {done.gain_high:.4f}).\n"
    )
    coefficients = table("coefficient", "now", "fitted")
    for name, value in done.coefficients.items():
        held = "  held at 0" if name in done.held_at_zero else ""
        coefficients.add_row(name, f"{done.current[name]:.2f}", f"{value:.2f}{held}")
    console.print(coefficients)
