"""The number of memories in each zone: by layer now, and over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from markupsafe import Markup

from pgrecall.faces.charts.axes import (
    WIDE,
    WIDTH,
    ZONES,
    Frame,
    Scale,
    count_ticks,
    date_ticks,
    grid_lines,
    legend,
    swatch,
    tick_labels,
)
from pgrecall.faces.charts.svg import Chart, element, joined, line, stacked, text
from pgrecall.faces.wording import counted, moment, shortened
from pgrecall.nouns.charts.models import ZoneShare
from pgrecall.nouns.status.models import LayerStatus

MAX_LAYERS = 12
_TOP, _FLOOR = 14.0, 200.0
_SMALL_WIDTH, _SMALL_HEIGHT = 240.0, 80.0
_MIN_WIDTH = 1.5
"""Minimum width of a part of a bar that is not empty."""

_BAR_LEFT, _BAR_ROW = 130.0, 26.0


@dataclass(frozen=True, slots=True)
class ZonesOverTime:
    """The zones of a layer at several times, or of all layers if ``layer`` is empty, and their chart."""

    layer: str
    held: Mapping[datetime, Mapping[str, int]]
    chart: Chart

    @property
    def memories(self) -> int:
        """The number of memories at the last time."""
        return sum(self.held[max(self.held)].values())


def zones_over_time(
    shares: Sequence[ZoneShare], instants: Sequence[datetime] = (), frame: Frame = WIDE
) -> tuple[ZonesOverTime, ...]:
    """Draws all layers and, if there are several, a small chart of each, largest first.

    Args:
        shares: the memories by time, layer and zone.
        instants: times to draw even if there were no memories.
        frame: width and axes of the large chart.

    Returns:
        The charts; none for fewer than two times.
    """
    instants = sorted({share.at for share in shares} | set(instants))
    if len(instants) < 2:
        return ()
    largest: dict[str, float] = defaultdict(float)
    for share in shares:
        largest[share.layer] = max(largest[share.layer], share.memories)
    names = sorted(largest, key=lambda name: (-largest[name], name)) if len(largest) > 1 else []
    made = []
    for place, layer in enumerate(("", *names)):
        held: dict[datetime, dict[str, float]] = {at: dict.fromkeys(ZONES, 0.0) for at in instants}
        for share in shares:
            if layer in ("", share.layer):
                held[share.at][share.zone] += share.memories
        rounded = {at: {zone: round(many) for zone, many in zones.items()} for at, zones in held.items()}
        name = f"zones-{place}{frame.id_suffix}"
        made.append(ZonesOverTime(layer, rounded, _chart(held, name, layer, frame, small=bool(layer))))
    return tuple(made)


def zone_bar(zones: Mapping[str, int], unit: float) -> Markup:
    """Draws the zones of a layer as a bar, ``unit`` wide for each memory."""
    drawn, start = [], 0.0
    for zone in ZONES:
        if memories := zones.get(zone, 0):
            size = max(memories * unit, _MIN_WIDTH)
            drawn.append(element("rect", class_=zone, x=start, y=1, width=size, height=12))
            start += size
    return joined(drawn)


def zones_by_layer(
    now: Sequence[LayerStatus], past: Sequence[ZoneShare], instants: Sequence[datetime], at: datetime
) -> Chart:
    """Draws the memories of each layer by zone, above all layers over time."""
    shown = sorted(now, key=lambda layer: (-layer.memories, layer.layer))[:MAX_LAYERS]
    unit = (WIDTH - _BAR_LEFT - 80) / max(layer.memories for layer in shown)
    rows, y = [], 0.0
    for layer in shown:
        bar, length = zone_bar(layer.zones, unit), layer.memories * unit
        rows.append(text(shortened(layer.layer, 16), _BAR_LEFT - 10, y + 12, "name", anchor="end"))
        rows.append(element("g", bar, transform=f"translate({_BAR_LEFT:g} {y + 1:g})"))
        rows.append(text(f"{layer.memories:,}", _BAR_LEFT + length + 10, y + 12))
        y += _BAR_ROW
    about = "; ".join(f"{layer.layer} {_zone_words(layer.zones)}" for layer in shown)
    bars = Chart(name="layers", title="", about=about, body=joined(rows), width=WIDTH, height=y)
    parts = [("By layer, now", bars)]
    if over := zones_over_time(past, instants):
        parts.append((f"All layers over time, at {len(over[0].held)} points in time", over[0].chart))
    hidden = len(now) - len(shown)
    return stacked(
        parts,
        name="zones",
        title=f"Zones of {sum(layer.memories for layer in now):,} memories",
        caption=(f"{hidden} smaller layers are not drawn. " if hidden else "")
        + f"Live memories on {at:%Y-%m-%d}; archived ones are left out. A prune plan may archive "
        "those in the zone dormant.",
    )


def _chart(
    held: Mapping[datetime, Mapping[str, float]], name: str, layer: str, frame: Frame, *, small: bool
) -> Chart:
    """Stacks the zones, lowest at the bottom."""
    instants = list(held)
    left, right, floor = (0.0, _SMALL_WIDTH, _SMALL_HEIGHT) if small else (frame.left, frame.right, _FLOOR)
    across = Scale(instants[0].timestamp(), instants[-1].timestamp(), left, right)
    ticks = count_ticks(max(sum(zones.values()) for zones in held.values()))
    up = Scale(0, ticks[-1].value, floor, 2 if small else _TOP)
    places = [across(at.timestamp()) for at in instants]
    dates = date_ticks(instants[0], instants[-1], 2 if frame.narrow else 4)
    parts = (
        []
        if small
        else [
            grid_lines(ticks, up, frame.left, frame.right),
            tick_labels(dates, across, 218, frame.width),
        ]
    )
    beneath = [0.0] * len(instants)
    for zone in reversed(ZONES):
        above = [low + zones[zone] for low, zones in zip(beneath, held.values(), strict=True)]
        if above != beneath:
            outline = [*zip(places, map(up, above), strict=True)]
            outline += reversed([*zip(places, map(up, beneath), strict=True)])
            parts.append(element("path", class_=f"area {zone}", d=f"{line(outline)}Z"))
        beneath = above
    borders = [left, *((one + other) / 2 for one, other in pairwise(places)), right]
    for (at, zones), (begin, end) in zip(held.items(), pairwise(borders), strict=True):
        words = element("title", f"{moment(at)}: {_zone_words(zones)}")
        parts.append(element("rect", words, class_="reach", x=begin, y=0, width=end - begin, height=floor))
    height = floor
    if not small:
        drawn, more = legend(
            [(swatch(zone), zone) for zone in ZONES], 238, frame.left, frame.right - frame.left
        )
        parts, height = [*parts, drawn], 228 + more
    last = held[instants[-1]]
    return Chart(
        name=name,
        title=f"Zones over time: {layer or 'all layers'}",
        about=f"{counted(round(sum(last.values())), 'memory', 'memories')} at the end: {_zone_words(last)}.",
        body=joined(parts),
        width=_SMALL_WIDTH if small else frame.width,
        height=height,
    )


def _zone_words(zones: Mapping[str, float]) -> str:
    return ", ".join(f"{round(zones.get(zone, 0)):,} {zone}" for zone in ZONES)
