"""A reliability diagram: how often what was said with a probability of p was so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pgrecall.faces.charts.plots_style import Theme, entitle, new_figure
from pgrecall.faces.cli.rendering.snippets import printable
from pgrecall.models.calibration import Agreement, Calibration, ReliabilityBin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHIFT = 0.008
"""The two series stand a little beside each other, so that neither hides the other's interval."""


def reliability_figure(done: Calibration, theme: Theme) -> Figure:
    """Above, observed against predicted with 95 % intervals, now and held out; below, how many candidates."""
    figure = new_figure(7.4, 8.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    above.plot([0, 1], [0, 1], "--", color=theme.wire, linewidth=1, zorder=0, label="as predicted")
    for bins, shift, colour, marker, label in (
        (done.reliability_before, -_SHIFT, theme.mark, "s", _label("now", done.before)),
        (done.reliability_after, _SHIFT, theme.zones["active"], "o", _label("fitted, held out", done.after)),
    ):
        _points(above, bins, shift, colour, marker, label)
        _counts(below, bins, shift, colour)
    _dress(above, below)
    entitle(
        figure,
        theme,
        f"How true relevances are: {printable(done.name)}",
        about=f"{done.queries:,} judged questions with {done.candidates:,} candidates, {done.relevant:,} of "
        "them relevant. Bars are 95 % Wilson intervals. Held out: each question is predicted by coefficients "
        "that were fitted without it.",
    )
    # Above the axes, where no interval can lie under it.
    above.legend(loc="lower left", bbox_to_anchor=(0, 1))
    return figure


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
    places = [(tenth + 0.5) / 10 + 2.6 * shift for tenth in tenths]
    axes.bar(places, [entry.count for entry in bins], width=0.038, color=colour)


def _dress(above: Any, below: Any) -> None:
    above.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="share that is relevant")
    below.set_yscale("log")
    below.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    below.set(xlabel="predicted probability", ylabel="candidates", ylim=(0.8, None))
    below.set_xticks([tenth / 10 for tenth in range(11)])
    for axes in (above, below):
        axes.grid(visible=True, linewidth=0.8)
