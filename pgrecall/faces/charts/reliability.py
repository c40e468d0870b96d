"""A reliability diagram: observed against predicted probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from pgrecall.faces.charts.axes import Scale, Tick, grid_lines, legend, power_ticks, share_ticks, tick_labels
from pgrecall.faces.charts.svg import Chart, element, joined, line, number, text
from pgrecall.faces.wording import shortened
from pgrecall.nouns.calibration.models import Agreement, Calibration, ReliabilityBin

_LEFT, _RIGHT, _TOP, _FLOOR = 60.0, 560.0, 72.0, 472.0
_COUNTS_TOP, _COUNTS_FLOOR = 512.0, 612.0
_SHIFT = 5.0
"""Horizontal offset of the two series, so that neither hides the interval of the other."""

_SHAPES = {"now": "M-4-4H4V4H-4Z", "fitted": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0Z"}


def reliability_chart(done: Calibration) -> Chart:
    """Plots observed against predicted probabilities with 95 % intervals, above the numbers of candidates."""
    across, up = Scale(0, 1, _LEFT, _RIGHT), Scale(0, 1, _FLOOR, _TOP)
    bins = (*done.reliability_before, *done.reliability_after)
    ticks = power_ticks(max((each.count for each in bins), default=1))
    count = Scale(1, ticks[-1].value, _COUNTS_FLOOR, _COUNTS_TOP, logarithmic=True)
    tenths = [Tick(tenth / 10, f"{tenth / 10:g}") for tenth in range(11)]
    entries = [
        (element("path", class_="bound", d="M-8 0H8"), "as predicted"),
        (_dot("now"), _label("now", done.before)),
        (_dot("fitted"), _label("fitted, held out", done.after)),
    ]
    drawn, _ = legend(entries, 12, 0, 620)
    parts = [
        drawn,
        grid_lines(share_ticks(), up, _LEFT, _RIGHT),
        grid_lines(ticks, count, _LEFT, _RIGHT),
        element("path", class_="bound", d=line([(_LEFT, _FLOOR), (_RIGHT, _TOP)])),
        tick_labels(tenths, across, _COUNTS_FLOOR + 18),
        text("predicted probability", (_LEFT + _RIGHT) / 2, _COUNTS_FLOOR + 40, anchor="middle"),
        text("share that is relevant", 0, _TOP - 12),
        text("candidates", 0, _COUNTS_TOP - 10),
        *(_point(each, "now", -_SHIFT, (across, up, count)) for each in done.reliability_before),
        *(_point(each, "fitted", _SHIFT, (across, up, count)) for each in done.reliability_after),
    ]
    return Chart(
        name="reliability",
        title=f"Reliability of relevance: {shortened(done.name, 40)}",
        about=f"{_label('Now', done.before)}. {_label('Fitted and held out', done.after)}.",
        caption=f"{done.queries:,} judged queries with {done.candidates:,} candidates, {done.relevant:,} "
        "of them relevant. Bars are 95 % Wilson intervals. Held out: each query is predicted by "
        "coefficients that were fitted without it.",
        body=joined(parts),
        width=620,
        height=_COUNTS_FLOOR + 48,
    )


def _label(name: str, figures: Agreement) -> str:
    return f"{name}: log loss {figures.log_loss:.4f}, calibration error {figures.ece:.4f}"


def _dot(series: str) -> Markup:
    return element("path", class_=f"series-{series}", d=_SHAPES[series])


def _point(each: ReliabilityBin, series: str, shift: float, scales: Sequence[Scale]) -> Markup:
    """Draws the observed share of a bin with its interval, and below it the number of candidates."""
    across, up, count = scales
    x, y = across(each.predicted) + shift, up(each.observed)
    tenth = across((min(int(each.predicted * 10), 9) + 0.5) / 10) + 2 * shift
    top = count(each.count)
    return element(
        "g",
        element(
            "title",
            f"{series}: {each.predicted:.3f} predicted, {each.observed:.3f} observed, {each.count:,} judged",
        ),
        element(
            "path",
            class_=f"interval series-{series}",
            d=f"M{number(x)} {number(up(each.low))}V{number(up(each.high))}",
        ),
        element("g", _dot(series), transform=f"translate({number(x)} {number(y)})"),
        element(
            "rect",
            class_=f"series-{series}",
            x=tenth - 8,
            y=min(top, _COUNTS_FLOOR - 1.5),
            width=16,
            height=max(_COUNTS_FLOOR - top, 1.5),
        ),
    )
