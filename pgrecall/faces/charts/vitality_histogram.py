"""The distribution of vitality, coloured by zone, or with the planned memories of a prune plan hatched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from pgrecall.faces.charts.axes import (
    LEFT,
    RIGHT,
    WIDTH,
    Scale,
    Tick,
    count_ticks,
    legend,
    names_below,
    rules,
    share_ticks,
    swatch,
    zone_bands,
)
from pgrecall.faces.charts.svg import Chart, element, joined, number, stacked, text, text_width
from pgrecall.faces.wording import counted
from pgrecall.models.charts import VitalityCounts
from pgrecall.models.layers import Layer
from pgrecall.models.prune import PrunePlan
from pgrecall.vitality.parameters import DEFAULT_ZONES, ZoneThresholds

BINS = 50
MOST_LAYERS = 12
_TOP, _FLOOR = 16.0, 200.0
_LEAST = 2.0
"""The minimum height of a column that is not empty."""


def vitality_histogram(
    counts: Sequence[int], zones: ZoneThresholds | None, planned: Sequence[int] | None = None
) -> Chart:
    """How many memories have which vitality.

    Args:
        counts: memories in each of as many equal parts of 0 to 1.
        zones: the bounds of the zones; None where layers differ in theirs.
        planned: of ``counts``, those that a prune plan takes.
    """
    across = Scale(0, 1, LEFT, RIGHT)
    ticks = count_ticks(max(counts, default=0))
    up = Scale(0, ticks[-1].value, _FLOOR, _TOP)
    parts = [rules(ticks, up)]
    bands = zone_bands(zones) if zones else ()
    for zone, low, high in bands:
        if low:
            parts.append(element("path", class_="bound", d=f"M{number(across(low))} 8V{number(_FLOOR)}"))
        if text_width(zone, 12) < across(high) - across(low):
            parts.append(text(zone, (across(low) + across(high)) / 2, _FLOOR + 38, "name", anchor="middle"))
    for place, memories in enumerate(counts):
        if memories:
            low, high = place / len(counts), (place + 1) / len(counts)
            kind = "live" if planned or not zones else zones.zone((low + high) / 2)
            parts.append(
                _column((low, high), memories, kind, planned[place] if planned else None, across, up)
            )
    below = [Tick(low, f"{low:g}") for _, low, _ in bands] + [Tick(1, "1")] if bands else share_ticks()
    parts.append(names_below(below, across, _FLOOR + 18))
    height = _FLOOR + (44 if bands else 26)
    if planned:
        entries = [(swatch("live"), "live memories"), (_HATCHED_SWATCH, "of them planned")]
        drawn, more = legend(entries, height + 12, LEFT)
        parts += [_HATCH, drawn]
        height += more + 4
    return Chart(
        name="vitality",
        title="Live memories by vitality",
        about=_about(counts),
        body=joined(parts),
        width=WIDTH,
        height=height,
        caption="Vitality, from 0 (forgotten) to 1 (just used).",
    )


def plan_histogram(plan: PrunePlan) -> Chart:
    """The vitality of all live memories when a prune plan was created, and of the planned ones."""
    return vitality_histogram(plan.report.histogram, DEFAULT_ZONES, planned_counts(plan))


def planned_counts(plan: PrunePlan) -> list[int]:
    """The number of planned memories in each bin of the plan."""
    counts = plan.report.histogram
    last = len(counts) - 1
    planned = Counter(min(int(item.vitality * len(counts)), last) for item in plan.items)
    return [min(planned[place], count) for place, count in enumerate(counts)]


def vitality_by_layer(distribution: Sequence[VitalityCounts], layers: Sequence[Layer], at: datetime) -> Chart:
    """A histogram of each layer, the largest first."""
    bounds = {layer.name: layer.rates.zones for layer in layers}
    shown = sorted(distribution, key=lambda counts: (-counts.memories, counts.layer))[:MOST_LAYERS]
    parts = [
        (
            f"{each.layer} · {each.memories:,}",
            vitality_histogram(each.counts, bounds.get(each.layer, DEFAULT_ZONES)),
        )
        for each in shown
    ]
    hidden = len(distribution) - len(shown)
    return stacked(
        parts,
        name="vitality",
        title=f"Vitality of {sum(counts.memories for counts in distribution):,} memories",
        caption=(f"{hidden} smaller layers are not drawn. " if hidden else "")
        + f"Live memories on {at:%Y-%m-%d}, from 0 (forgotten) to 1 (just used); dashed lines are the bounds "
        "of the zones. Protected memories are drawn at their vitality, without their floor.",
    )


def _column(
    reach: tuple[float, float], memories: int, kind: str, planned: int | None, across: Scale, up: Scale
) -> Markup:
    low, high = reach
    x, width = across(low) + 1.5, across(high) - across(low) - 3
    height = max(_FLOOR - up(memories), _LEAST)
    words = (
        counted(memories, "memory", "memories")
        if planned is None
        else (f"{memories:,} live, {planned:,} planned")
    )
    drawn = [
        element("title", f"Vitality {low:.2f} to {high:.2f}: {words}"),
        element("rect", class_=kind, x=x, y=_FLOOR - height, width=width, height=height),
    ]
    if planned:
        part = max(_FLOOR - up(planned), _LEAST)
        drawn.append(
            element(
                "rect", class_="hatched", x=x, y=_FLOOR - part, width=width, height=part, fill="url(#hatch)"
            )
        )
    if planned is not None:
        few = f"{memories:,}" if memories < 1_000_000 else f"{memories / 1_000_000:.1f} M"
        drawn.append(text(few, x + width / 2, _FLOOR - height - 4, "name", anchor="middle"))
    drawn.append(element("rect", class_="reach", x=x, y=8, width=width, height=_FLOOR - 8))
    return element("g", *drawn, class_="column")


def _about(counts: Sequence[int]) -> str:
    if not counts or not any(counts):
        return "A histogram without memories."
    place = max(range(len(counts)), key=lambda place: counts[place])
    return (
        f"A histogram of {counted(sum(counts), 'live memory', 'live memories')} in {len(counts)} bins. The "
        f"largest, {place / len(counts):.2f} to {(place + 1) / len(counts):.2f}, holds {counts[place]:,}."
    )


_HATCH = Markup(
    '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect class="hatch-ground" width="5" height="5"/>'
    '<rect class="hatch-line" width="1.5" height="5"/></pattern></defs>'
)
_HATCHED_SWATCH = element("rect", x=-6, y=-6, width=12, height=12, fill="url(#hatch)")
