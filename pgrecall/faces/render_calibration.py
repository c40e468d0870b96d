"""What a calibration came to, on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from pgrecall.faces.snippets import printable
from pgrecall.models import Calibration

_FIGURES = (("log loss", "log_loss"), ("Brier score", "brier"), ("calibration error", "ece"), ("MRR", "mrr"))


def show_calibration(console: Console, done: Calibration) -> None:
    """How much was judged, the figures before and after, and the coefficients."""
    missed = f"; {done.missed:,} more were not found by search" if done.missed else ""
    console.print(
        f"{done.queries:,} queries, {done.candidates:,} candidates, {done.relevant:,} relevant{missed}",
        soft_wrap=True,
    )
    if done.left_out:
        console.print(f"{done.left_out:,} questions without words were left out", soft_wrap=True)
    figures = _table(printable(done.name), "now", "held out")
    for told, name in _FIGURES:
        figures.add_row(told, f"{getattr(done.before, name):.4f}", f"{getattr(done.after, name):.4f}")
    console.print(figures)
    told = "falls" if done.better else "does not fall"
    console.print(
        f"The log loss {told}: by {done.gain:.4f} (95 % from {done.gain_low:.4f} to {done.gain_high:.4f}).\n",
        soft_wrap=True,
    )
    coefficients = _table("coefficient", "now", "fitted")
    for name, value in done.coefficients.items():
        held = "  held at 0" if name in done.held_at_zero else ""
        coefficients.add_row(name, f"{done.current[name]:.2f}", f"{value:.2f}{held}")
    console.print(coefficients)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(first)
    for name in others:
        table.add_column(name)
    return table
