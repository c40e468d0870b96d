"""The distribution of vitality, coloured by zone, or with the planned memories of a prune plan hatched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from markupsafe import Markup

from pgrecall.faces.charts.axes import (
    WIDE,
    Band,
    Frame,
    Scale,
    Tick,
    count_ticks,
    grid_lines,
    legend,
    share_ticks,
    swatch,
    tick_labels,
    zone_bands,
)
from pgrecall.faces.charts.svg import Chart, element, joined, number, stacked, text, text_width
from pgrecall.faces.wording import counted
from pgrecall.nouns.charts.models import VitalityCounts
from pgrecall.nouns.layers.models import Layer
from pgrecall.nouns.plans.prune import PrunePlan
from pgrecall.vitality.parameters import DEFAULT_ZONES, ZoneThresholds

BINS = 50
MAX_LAYERS = 12
_TOP, _FLOOR = 16.0, 200.0
_MIN_HEIGHT = 2.0
"""Minimum height of a column that is not empty."""

FINE = 200
"""Number of equal bins from 0 to 1 that :func:`merged_at_zones` merges."""

_BIN = 0.05
"""Approximate width of a merged bin."""


def merged_at_zones(
    counts: Sequence[int], zones: ZoneThresholds | None
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Merges fine bins into readable ones. No bin crosses the bound of a zone.

    Args:
        counts: memories in each of equal bins from 0 to 1.
        zones: the bounds of the zones; None if they differ between layers.

    Returns:
        The merged counts, and the edges of their bins from 0 to 1.
    """
    bounds = [0.0, *((zones.fading, zones.stale, zones.active) if zones else ()), 1.0]
    cuts = [0]
    for low, high in pairwise(round(bound * len(counts)) for bound in bounds):
        pieces = max(round((high - low) / (_BIN * len(counts))), 1)
        cuts += [low + round((high - low) * piece / pieces) for piece in range(1, pieces + 1)]
    cuts = sorted(set(cuts))
    merged = tuple(sum(counts[low:high]) for low, high in pairwise(cuts))
    return merged, tuple(cut / len(counts) for cut in cuts)


def vitality_histogram(
    counts: Sequence[int],
    zones: ZoneThresholds | None,
    planned: Sequence[int] | None = None,
    *,
    edges: Sequence[float] | None = None,
    frame: Frame = WIDE,
) -> Chart:
    """Draws the number of memories by vitality.

    Args:
        counts: memories in each bin.
        zones: the bounds of the zones; None if they differ between layers.
        planned: the memories of a prune plan in each bin.
        edges: the edges of the bins, one more than ``counts``; None for equal bins from 0 to 1.
        frame: width and axes of the chart.
    """
    edges = edges or [place / len(counts) for place in range(len(counts) + 1)] if counts else [0.0, 1.0]
    across = Scale(0, 1, frame.left, frame.right)
    ticks = count_ticks(max(counts, default=0))
    up = Scale(0, ticks[-1].value, _FLOOR, _TOP)
    parts = [grid_lines(ticks, up, frame.left, frame.right)]
    bands = zone_bands(zones) if zones else ()
    parts += _bounds(bands, across)
    for place, memories in enumerate(counts):
        if memories:
            low, high = edges[place], edges[place + 1]
            kind = "live" if planned or not zones else zones.zone((low + high) / 2)
            parts.append(
                _column((low, high), memories, kind, planned[place] if planned else None, across, up, frame)
            )
    below = [Tick(low, f"{low:g}") for _, low, _ in bands] + [Tick(1, "1")] if bands else share_ticks()
    parts.append(tick_labels(below, across, _FLOOR + 18, frame.width))
    height = _FLOOR + (44 if bands else 26)
    if planned:
        hatched = element("rect", x=-6, y=-6, width=12, height=12, fill=f"url(#{_hatch_id(frame)})")
        entries = [(swatch("live"), "live memories"), (hatched, "of them planned")]
        drawn, more = legend(entries, height + 12, frame.left, frame.width - frame.left)
        parts += [_hatch(frame), drawn]
        height += more + 4
    return Chart(
        name=f"vitality{frame.id_suffix}",
        title="Live memories by vitality",
        about=_about(counts, edges),
        body=joined(parts),
        width=frame.width,
        height=height,
        caption="Vitality, from 0 (forgotten) to 1 (just used).",
    )


def _bounds(bands: Sequence[Band], across: Scale) -> Iterator[Markup]:
    """Draws the lower bound of each zone, and its name where it fits."""
    for zone, low, high in bands:
        if low:
            yield element("path", class_="bound", d=f"M{number(across(low))} 8V{number(_FLOOR)}")
        if text_width(zone, 12) < across(high) - across(low):
            yield text(zone, (across(low) + across(high)) / 2, _FLOOR + 38, "name", anchor="middle")


def plan_histogram(plan: PrunePlan, frame: Frame = WIDE) -> Chart:
    """Draws the vitality of all live memories when a prune plan was created, and of the planned ones."""
    return vitality_histogram(plan.report.histogram, DEFAULT_ZONES, planned_counts(plan), frame=frame)


def planned_counts(plan: PrunePlan) -> list[int]:
    """Counts the planned memories in each bin of the plan."""
    counts = plan.report.histogram
    last = len(counts) - 1
    planned = Counter(min(int(item.vitality * len(counts)), last) for item in plan.items)
    return [min(planned[place], count) for place, count in enumerate(counts)]


def vitality_by_layer(distribution: Sequence[VitalityCounts], layers: Sequence[Layer], at: datetime) -> Chart:
    """Draws a histogram of each layer, largest first."""
    bounds = {layer.name: layer.rates.zones for layer in layers}
    shown = sorted(distribution, key=lambda counts: (-counts.memories, counts.layer))[:MAX_LAYERS]
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
    reach: tuple[float, float],
    memories: int,
    kind: str,
    planned: int | None,
    across: Scale,
    up: Scale,
    frame: Frame,
) -> Markup:
    low, high = reach
    gap = 0.5 if frame.narrow else 1.5
    x, width = across(low) + gap, max(across(high) - across(low) - 2 * gap, 1.0)
    height = max(_FLOOR - up(memories), _MIN_HEIGHT)
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
        fill = f"url(#{_hatch_id(frame)})"
        part = max(_FLOOR - up(planned), _MIN_HEIGHT)
        drawn.append(
            element("rect", class_="hatched", x=x, y=_FLOOR - part, width=width, height=part, fill=fill)
        )
    if planned is not None and (planned or not frame.narrow):
        few = f"{memories:,}" if memories < 1_000_000 else f"{memories / 1_000_000:.1f} M"
        drawn.append(text(few, x + width / 2, _FLOOR - height - 4, "name", anchor="middle"))
    drawn.append(element("rect", class_="reach", x=x, y=8, width=width, height=_FLOOR - 8))
    return element("g", *drawn, class_="column")


def _about(counts: Sequence[int], edges: Sequence[float]) -> str:
    if not counts or not any(counts):
        return "A histogram without memories."
    place = max(range(len(counts)), key=lambda place: counts[place])
    return (
        f"A histogram of {counted(sum(counts), 'live memory', 'live memories')} in {len(counts)} bins. The "
        f"largest, {edges[place]:.2f} to {edges[place + 1]:.2f}, holds {counts[place]:,}."
    )


def _hatch_id(frame: Frame) -> str:
    return f"hatch{frame.id_suffix}"


def _hatch(frame: Frame) -> Markup:
    return Markup(
        '<defs><pattern id="{}" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="hatch-ground" width="5" height="5"/>'
        '<rect class="hatch-line" width="1.5" height="5"/></pattern></defs>'
    ).format(_hatch_id(frame))
