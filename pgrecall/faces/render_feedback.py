"""Feedback on a terminal: memories and ranks, with how often they were shown, used and rejected."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pgrecall.faces import report_words as words
from pgrecall.faces.snippets import printable
from pgrecall.models import Feedback, MemoryFeedback, RankFeedback

SHOWN_RANKS = 20


def show_feedback(console: Console, found: Feedback, *, unused: bool) -> None:
    """A table of memories and one of ranks."""
    if found.memories:
        console.print(_memories(found.memories))
    elif unused:
        console.print("Every memory that was shown was used at least once.")
    console.print()
    console.print(_ranks(found.ranks[:SHOWN_RANKS]))
    if len(found.ranks) > SHOWN_RANKS:
        console.print(f"and {len(found.ranks) - SHOWN_RANKS:,} more ranks (pgrecall feedback show --json)")
    if not any(rank.judged for rank in found.ranks):
        console.print("No search has been judged yet: pgrecall feedback used SEARCH_ID ID_OR_KEY...")


def _memories(memories: Sequence[MemoryFeedback]) -> Table:
    table = _table("id", "memory", "layer", "shown", "used", "rejected", "last shown")
    for memory in memories:
        counts = (f"{count:,}" for count in (memory.shown, memory.used, memory.rejected))
        name = Text(words.named(memory.title, memory.key, memory.id, 60))
        last = words.moment(memory.last_shown_at)
        table.add_row(str(memory.id), name, Text(printable(memory.layer)), *counts, last)
    return table


def _ranks(ranks: Sequence[RankFeedback]) -> Table:
    table = _table("rank", "shown", "judged", "used", "rejected", "use rate", "propensity")
    for rank in ranks:
        counts = (f"{count:,}" for count in (rank.shown, rank.judged, rank.used, rank.rejected))
        rate = "" if rank.use_rate is None else f"{rank.use_rate:.3f}"
        table.add_row(str(rank.rank), *counts, rate, f"{rank.propensity:.3f}")
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in columns:
        left = name in ("memory", "layer", "last shown")
        table.add_column(name, justify="left" if left else "right", overflow="fold")
    return table
