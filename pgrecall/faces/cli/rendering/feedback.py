"""Feedback on a terminal: memories and ranks, with how often they were shown, used and rejected."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.faces.charts import wording as words
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.models.feedback import Feedback, MemoryFeedback, RankFeedback

SHOWN_RANKS = 20


def show_feedback(terminal: Terminal, found: Feedback, *, unused: bool) -> None:
    """A table of memories and one of ranks."""
    if found.memories:
        terminal.show(_memories(found.memories))
    elif unused:
        terminal.print("Every memory that was shown was used at least once.")
    terminal.print()
    terminal.show(_ranks(found.ranks[:SHOWN_RANKS]))
    if len(found.ranks) > SHOWN_RANKS:
        terminal.print(f"and {len(found.ranks) - SHOWN_RANKS:,} more ranks (pgrecall feedback show --json)")
    if not any(rank.judged for rank in found.ranks):
        terminal.print("No search has been judged yet: pgrecall feedback used SEARCH_ID ID_OR_KEY...")


def _memories(memories: Sequence[MemoryFeedback]) -> Table:
    table = _table("id", "memory", "layer", "shown", "used", "rejected", "last shown")
    for memory in memories:
        counts = (f"{count:,}" for count in (memory.shown, memory.used, memory.rejected))
        name = words.named(memory.title, memory.key, memory.id, 60)
        last = words.moment(memory.last_shown_at)
        table.add_row(str(memory.id), name, memory.layer, *counts, last)
    return table


def _ranks(ranks: Sequence[RankFeedback]) -> Table:
    table = _table("rank", "shown", "judged", "used", "rejected", "use rate", "propensity")
    for rank in ranks:
        counts = (f"{count:,}" for count in (rank.shown, rank.judged, rank.used, rank.rejected))
        rate = "" if rank.use_rate is None else f"{rank.use_rate:.3f}"
        table.add_row(str(rank.rank), *counts, rate, f"{rank.propensity:.3f}")
    return table


def _table(*columns: str) -> Table:
    return Table(*columns, right=set(columns) - {"memory", "layer", "last shown"})
