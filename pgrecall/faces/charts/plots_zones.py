"""Two pictures of all memories: how vitality is distributed, and how many each zone holds, now and before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pgrecall.faces.charts.plots_style import ZONES, Theme, date_ticks, entitle, new_figure, only_rules
from pgrecall.faces.cli.rendering.snippets import printable
from pgrecall.models.charts import VitalityCounts
from pgrecall.models.layers import Layer
from pgrecall.models.maintenance import LayerStatus
from pgrecall.vitality.parameters import DEFAULT_ZONES, ZoneThresholds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 50
MOST_LAYERS = 12
_ROW = 1.35
Moments = Sequence[tuple[datetime, Sequence[LayerStatus]]]


def vitality_figure(
    distribution: Sequence[VitalityCounts], layers: Sequence[Layer], theme: Theme, at: datetime
) -> Figure:
    """A row for each layer, the largest first: how many memories have which vitality, coloured by zone."""
    bounds = {layer.name: layer.rates.zones for layer in layers}
    shown = sorted(distribution, key=lambda counts: (-counts.memories, counts.layer))[:MOST_LAYERS]
    figure = new_figure(8.6, 1.5 + _ROW * len(shown))
    rows = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for place, (axes, counts) in enumerate(zip(rows, shown, strict=True)):
        _distribution(axes, counts, bounds.get(counts.layer, DEFAULT_ZONES), theme, named=place == 0)
    rows[-1].set_xlabel("vitality, 0 (forgotten) to 1 (just used)")
    memories = sum(counts.memories for counts in distribution)
    entitle(
        figure,
        theme,
        f"How alive {memories:,} memories are",
        about=_left_out(len(distribution) - len(shown)) + f"Live memories on {_day(at)}; dashed lines are the"
        " bounds of the zones. Protected memories are drawn at their vitality, without their floor.",
    )
    return figure


def zones_figure(now: Sequence[LayerStatus], before: Moments, theme: Theme, at: datetime) -> Figure:
    """Above, how many memories of each layer are in which zone; below, of all layers over time."""
    shown = sorted(now, key=lambda layer: (-layer.memories, layer.layer))[:MOST_LAYERS]
    figure = new_figure(8.6, 4.9 + 0.42 * len(shown))
    above, below = figure.subplots(2, 1, height_ratios=[0.45 * len(shown) + 0.3, 3])
    _layers(above, shown, theme)
    _over_time(below, before, theme)
    memories = sum(layer.memories for layer in now)
    entitle(
        figure,
        theme,
        f"Where {memories:,} memories stand",
        about=_left_out(len(now) - len(shown)) + f"Live memories on {_day(at)}; those archived by a plan or"
        " by hand are left out, the zone archived is what a plan may take.",
    )
    return figure


def _distribution(
    axes: Any, counts: VitalityCounts, zones: ZoneThresholds, theme: Theme, *, named: bool
) -> None:
    bins = len(counts.counts)
    middles = [(place + 0.5) / bins for place in range(bins)]
    colours = [theme.zones[zones.zone(middle)] for middle in middles]
    axes.bar(middles, counts.counts, width=0.86 / bins, color=colours)
    axes.set_title(f"{printable(counts.layer)}  ·  {counts.memories:,}")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.12 * max(counts.counts))
    axes.locator_params(axis="y", nbins=3, integer=True)
    axes.set_ylabel("memories")
    only_rules(axes, "y")
    limits = {"archived": 0.0, "fading": zones.fading, "stale": zones.stale, "active": zones.active}
    for zone, low in limits.items():
        if low:
            axes.axvline(low, color=theme.wire, linewidth=1, linestyle=(0, (3, 3)), zorder=0)
        if named:
            axes.text(
                low + 0.006,
                1.0,
                zone,
                transform=axes.get_xaxis_transform(),
                va="top",
                fontsize=9,
                color=theme.soft,
            )


def _layers(axes: Any, layers: Sequence[LayerStatus], theme: Theme) -> None:
    places = range(len(layers))
    begun = [0] * len(layers)
    for zone in ZONES:
        held = [layer.zones.get(zone, 0) for layer in layers]
        axes.barh(places, held, left=begun, height=0.62, color=theme.zones[zone], label=zone)
        begun = [start + more for start, more in zip(begun, held, strict=True)]
    most = max(begun)
    for place, whole in zip(places, begun, strict=True):
        axes.text(whole + 0.01 * most, place, f"{whole:,}", va="center", fontsize=9, color=theme.soft)
    axes.set_yticks(list(places), [printable(layer.layer) for layer in layers])
    axes.tick_params(axis="y", labelcolor=theme.ink)
    axes.set_ylim(len(layers) - 0.5, -0.5)
    axes.set_xlim(0, 1.08 * most)
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.locator_params(axis="x", nbins=6, integer=True)
    axes.set_title("memories by layer and zone, now")
    only_rules(axes, "x")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, handlelength=1, columnspacing=1.2)


def _over_time(axes: Any, before: Moments, theme: Theme) -> None:
    moments = [at for at, _ in before]
    held = [_by_zone(layers) for _, layers in before]
    # The lowest band is what a plan may take: it grows from the ground, and its height can be read.
    drawn = tuple(reversed(ZONES))
    axes.stackplot(
        moments,
        [[zones.get(zone, 0) for zones in held] for zone in drawn],
        colors=[theme.zones[zone] for zone in drawn],
        edgecolor=theme.page,
        linewidth=0.8,
    )
    axes.set_xlim(moments[0], moments[-1])
    axes.set_ylim(0, None)
    date_ticks(axes)
    axes.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.locator_params(axis="y", nbins=5, integer=True)
    axes.set_ylabel("memories")
    axes.set_title(f"all layers over time, at {len(before)} instants")
    only_rules(axes, "y")


def _by_zone(layers: Sequence[LayerStatus]) -> Mapping[str, int]:
    held: Counter[str] = Counter()
    for layer in layers:
        held.update(layer.zones)
    return held


def _left_out(layers: int) -> str:
    return f"{layers} smaller layers are not drawn. " if layers else ""


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
