"""A reliability diagram: how often what was said with a probability of p was so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pgrecall.models import Agreement, Calibration, ReliabilityBin

_SERIES = (("now", "#b4552d", "s"), ("fitted, held out", "#1f5f8b", "o"))
_SHIFT = 0.008
"""The two series stand a little beside each other, so that neither hides the other's interval."""


def draw_reliability(done: Calibration, file: Path) -> None:
    """Writes a PNG: observed against predicted with 95 % intervals, and how many candidates there were.

    Raises:
        OSError: the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure  # not pyplot, which keeps figures and looks for a display

    figure = Figure(figsize=(7.2, 7.6), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    drawn = zip(_SERIES, (done.reliability_before, done.reliability_after), (-_SHIFT, _SHIFT), strict=True)
    for (name, colour, marker), bins, shift in drawn:
        figures = done.before if name == "now" else done.after
        _points(above, bins, shift, colour, marker, _label(name, figures))
        _counts(below, bins, shift, colour)
    _dress(above, below)
    counted = f"{done.queries:,} judged queries, {done.candidates:,} candidates, {done.relevant:,} relevant"
    name = done.name.replace("$", r"\$")  # which would begin a formula
    # Outside the axes, where no interval can lie under it.
    legend = figure.legend(loc="outside upper left", title=f"{name}: {counted}", frameon=False)
    legend.set_alignment("left")
    figure.savefig(file, dpi=150, format="png")


def _label(name: str, figures: Agreement) -> str:
    return f"{name}: log loss {figures.log_loss:.4f}, calibration error {figures.ece:.4f}"


def _points(
    axes: Any, bins: Sequence[ReliabilityBin], shift: float, colour: str, marker: str, label: str
) -> None:
    places, observed = [entry.predicted + shift for entry in bins], [entry.observed for entry in bins]
    axes.plot(places, observed, color=colour, linewidth=1, alpha=0.3)
    low = [entry.observed - entry.low for entry in bins]
    high = [entry.high - entry.observed for entry in bins]
    axes.errorbar(
        places,
        observed,
        yerr=[low, high],
        color=colour,
        marker=marker,
        markersize=6,
        linestyle="none",
        elinewidth=1.2,
        capsize=3,
        label=label,
    )


def _counts(axes: Any, bins: Sequence[ReliabilityBin], shift: float, colour: str) -> None:
    tenths = [min(int(entry.predicted * 10), 9) for entry in bins]
    axes.bar(
        [(tenth + 0.5) / 10 + 2.6 * shift for tenth in tenths],
        [entry.count for entry in bins],
        width=0.038,
        color=colour,
    )


def _dress(above: Any, below: Any) -> None:
    above.plot([0, 1], [0, 1], "--", color="#777777", linewidth=1, zorder=0, label="as predicted")
    above.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="share relevant, with its 95 % interval")
    below.set_yscale("log")
    below.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    below.set(xlabel="predicted probability", ylabel="candidates", ylim=(0.8, None))
    below.set_xticks([tenth / 10 for tenth in range(11)])
    for axes in (above, below):
        axes.grid(visible=True, color="#e4e4e4", linewidth=0.8)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
