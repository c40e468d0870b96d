"""A memory's life: when it was used, how alive that kept it, and when it will leave each zone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pgrecall.faces.charts.plots_style import Theme, date_ticks, entitle, new_figure
from pgrecall.faces.cli.rendering.snippets import printable
from pgrecall.models.charts import AccessRecord, VitalityPoint
from pgrecall.models.memories import StoredMemory
from pgrecall.vitality.parameters import ZoneThresholds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TICKS = 1000
_AFTER = tuple(timedelta(seconds=seconds) for seconds in (-1, 0, 86_400))
_AHEAD, _FIRST_DAYS, _LAST_DAYS = 160, 1 / 24, 100 * 365.25
_SPANS = ((1 / 24, "1 h"), (1, "1 d"), (7, "1 wk"), (30.44, "1 mo"), (365.25, "1 y"), (3652.5, "10 y"))
_DAY = 86_400.0
_NAME = 60


@dataclass(frozen=True, slots=True)
class Life:
    """What is drawn of a memory: its uses, its curve until ``now`` and from then on, its zones' bounds."""

    memory: StoredMemory
    accesses: Sequence[AccessRecord]
    past: Sequence[VitalityPoint]
    future: Sequence[VitalityPoint]
    zones: ZoneThresholds
    now: datetime


def past_instants(
    born: datetime, accesses: Sequence[AccessRecord], now: datetime, *, grid: int = 80, detailed: int = 150
) -> list[datetime]:
    """Where the curve is computed until now: evenly, and closely around the newest uses, where it jumps."""
    span = max((now - born) / grid, timedelta(seconds=1))
    even = [born + step * span for step in range(grid)]
    close = [access.at + after for access in accesses[:detailed] for after in _AFTER]
    return sorted({at for at in (*even, *close, now) if born <= at <= now})


def future_instants(now: datetime) -> list[datetime]:
    """Where it is computed from now on: an hour to a hundred years, ever wider apart."""
    ratio = (_LAST_DAYS / _FIRST_DAYS) ** (1 / (_AHEAD - 1))
    return [now, *(now + timedelta(days=_FIRST_DAYS * ratio**step) for step in range(_AHEAD))]


def days_until(future: Sequence[VitalityPoint], threshold: float, now: datetime) -> float | None:
    """After how many days from ``now`` the retention falls below a threshold for good: 0 where it is below
    already, None where a hundred years do not suffice."""
    if future[-1].retention >= threshold:
        return None
    for before, after in reversed(list(pairwise(future))):
        if before.retention >= threshold:
            share = (before.retention - threshold) / (before.retention - after.retention)
            first, last = (max((point.at - now).total_seconds() / _DAY, 1e-3) for point in (before, after))
            return math.exp(math.log(first) + share * math.log(last / first))
    return 0.0


def memory_figure(life: Life, theme: Theme) -> Figure:
    """On the left its past in days, on the right its future, in which each step is longer than the last."""
    figure = new_figure(10.2, 5.2)
    grid = figure.subplots(2, 2, sharey="row", width_ratios=[3, 2], height_ratios=[8, 1])
    (past, future), (ticks, beneath) = grid
    beneath.set_visible(False)
    ticks.sharex(past)
    _bands(past, life.zones, theme, named=False)
    _bands(future, life.zones, theme, named=True)
    _curve(past, [point.at for point in life.past], life.past, theme)
    _dress_past(past, life)
    _uses(ticks, life, theme)
    days = [max((point.at - life.now).total_seconds() / _DAY, _FIRST_DAYS) for point in life.future]
    _curve(future, days, life.future, theme)
    _leavings(future, life, theme)
    name = printable(life.memory.title or life.memory.key or life.memory.body[:_NAME]).replace("\n", " ")
    entitle(
        figure,
        theme,
        name if len(name) <= _NAME else f"{name[: _NAME - 1]}…",
        about=f"{life.memory.layer}, {_counted(life)}; vitality {life.memory.vitality.vitality:.2f} and "
        f"{life.memory.vitality.zone} on {life.now:%Y-%m-%d %H:%M} UTC.{_floor(life)}",
    )
    return figure


def _bands(axes: Any, zones: ZoneThresholds, theme: Theme, *, named: bool) -> None:
    bounds = (("active", zones.active, 1.0), ("stale", zones.stale, zones.active),
              ("fading", zones.fading, zones.stale), ("archived", 0.0, zones.fading))  # fmt: skip
    for zone, low, high in bounds:
        axes.axhspan(low, high, color=theme.zones[zone], alpha=0.14, linewidth=0)
        across = axes.get_yaxis_transform()
        if named:
            axes.text(0.02, low + 0.012, zone, transform=across, va="bottom", fontsize=9, color=theme.soft)
        if low:
            axes.axhline(low, color=theme.wire, linewidth=0.8, linestyle=(0, (3, 3)))
    axes.set_ylim(0, 1)


def _curve(axes: Any, where: Sequence[object], points: Sequence[VitalityPoint], theme: Theme) -> None:
    axes.plot(where, [point.vitality for point in points], color=theme.ink, linewidth=1.5)
    if any(point.retention > point.vitality for point in points):
        kept = [point.retention for point in points]
        axes.plot(where, kept, color=theme.mark, linewidth=1.3, linestyle=(0, (4, 2)))


def _dress_past(axes: Any, life: Life) -> None:
    axes.set_ylabel("vitality")
    axes.set_title("until now")
    axes.set_xlim(life.past[0].at, life.now)
    axes.tick_params(labelbottom=False, length=0)


def _uses(axes: Any, life: Life, theme: Theme) -> None:
    showings = [access.at for access in life.accesses if access.kind == "retrieval"]
    uses = [access.at for access in life.accesses if access.kind != "retrieval"]
    axes.vlines(uses, 0.5, 0.95, color=theme.ink, linewidth=1)
    axes.vlines(showings, 0.1, 0.4, color=theme.wire, linewidth=1)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.25, 0.72], ["shown", "used"])
    axes.tick_params(axis="y", length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    date_ticks(axes)


def _leavings(axes: Any, life: Life, theme: Theme) -> None:
    """Where the curve leaves a zone, with how long that takes; the title tells which it does not leave."""
    axes.set_xscale("log")
    last = _FIRST_DAYS
    bounds = (("active", life.zones.active), ("stale", life.zones.stale), ("fading", life.zones.fading))
    lasting = None
    for zone, threshold in bounds:
        days = days_until(life.future, threshold, life.now)
        lasting = lasting or (zone if days is None else None)
        if days:
            axes.plot([days], [threshold], "o", color=theme.ink, markersize=5)
            words = f"leaves {zone} in {_duration(days)}"
            late = days > math.sqrt(_FIRST_DAYS * _LAST_DAYS)
            axes.annotate(
                words,
                (days, threshold),
                xytext=(-7 if late else 7, -6 if late else 6),
                textcoords="offset points",
                ha="right" if late else "left",
                va="top" if late else "bottom",
                fontsize=9,
            )
            last = max(last, days)
    end = _LAST_DAYS if lasting else min(max(6 * last, 30.0), _LAST_DAYS)
    axes.set_xlim(_FIRST_DAYS, end)
    spans = [(days, name) for days, name in (*_SPANS, (_LAST_DAYS, "100 y")) if days <= end]
    axes.set_xticks([days for days, _ in spans], [name for _, name in spans])
    axes.minorticks_off()
    axes.tick_params(length=0)
    axes.set_xlabel("time from now, each step longer")
    axes.set_title(f"from now on, unused: still {lasting} in a century" if lasting else "from now on, unused")


def _duration(days: float) -> str:
    for size, unit in ((365.25, "years"), (30.44, "months"), (1.0, "days"), (1 / 24, "hours")):
        if days >= 1.95 * size:
            return f"{days / size:.2g} {unit}" if days < 9.95 * size else f"{days / size:.0f} {unit}"
    return f"{max(1, round(days * 1440))} minutes"


def _counted(life: Life) -> str:
    uses = sum(access.kind not in ("retrieval", "write") for access in life.accesses)
    more = " newest" if len(life.accesses) == MOST_TICKS else ""
    return f"{uses} uses among its {len(life.accesses):,}{more} accesses"


def _floor(life: Life) -> str:
    held = any(point.retention > point.vitality for point in (*life.past, *life.future))
    return " Dashed: its retention, which the protection floor holds up; zones go by it." if held else ""
