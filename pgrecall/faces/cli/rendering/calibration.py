"""What a calibration came to, on a terminal."""

from __future__ import annotations

from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.models.calibration import Calibration

_FIGURES = (("log loss", "log_loss"), ("Brier score", "brier"), ("calibration error", "ece"), ("MRR", "mrr"))


def show_calibration(terminal: Terminal, done: Calibration) -> None:
    """How much was judged, the figures before and after, and the coefficients."""
    missed = f"; {done.missed:,} more were not found by search" if done.missed else ""
    terminal.print(
        f"{done.queries:,} queries, {done.candidates:,} candidates, {done.relevant:,} relevant{missed}",
        soft_wrap=True,
    )
    if done.left_out:
        terminal.print(f"{done.left_out:,} questions without words were left out", soft_wrap=True)
    figures = Table(done.name, "now", "held out")
    for told, name in _FIGURES:
        figures.add_row(told, f"{getattr(done.before, name):.4f}", f"{getattr(done.after, name):.4f}")
    terminal.show(figures)
    told = "falls" if done.better else "does not fall"
    terminal.print(
        f"The log loss {told}: by {done.gain:.4f} (95 % from {done.gain_low:.4f} to {done.gain_high:.4f}).\n",
        soft_wrap=True,
    )
    coefficients = Table("coefficient", "now", "fitted")
    for name, value in done.coefficients.items():
        held = "  held at 0" if name in done.held_at_zero else ""
        coefficients.add_row(name, f"{done.current[name]:.2f}", f"{value:.2f}{held}")
    terminal.show(coefficients)
