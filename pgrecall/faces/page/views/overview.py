"""The views of a whole tenant: the overview by zone, layer and vitality, the zones, and maintenance.

The overview reads narrow rows in one pass, so that long memories do not slow it down.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.errors import DatabaseUnavailable, DatabaseUnsuitable
from pgrecall.faces.charts.axes import NARROW, ZONES
from pgrecall.faces.charts.vitality_histogram import FINE, merged_at_zones, vitality_histogram
from pgrecall.faces.charts.zones_over_time import ZonesOverTime, zone_bar, zones_over_time
from pgrecall.faces.page.form_fields import int_field, text_field, time_field
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.faces.wording import counts_words, duration_words, interval_words
from pgrecall.nouns.charts.models import Overview, OverviewList, ZoneShare
from pgrecall.nouns.charts.operations import OVERVIEW_LISTS
from pgrecall.nouns.layers.models import Layer
from pgrecall.nouns.service.models import CellsReport
from pgrecall.vitality.parameters import ZoneThresholds
from pgrecall.vitality.score import ONE_ACCESS, TEN_DAILY, days_in_zones

SHOWN, PAGE = 8, 50
BAR_WIDTH = 320.0
INSTANTS, SAMPLE = 13, 500
DRAWN_AT_ONCE = 2000
"""Live memories up to which the past is drawn without being asked for."""

_CENTURY = 36_525.0

MEANINGS = {
    "active": "Used recently or often. Searches rank it above equally relevant memories.",
    "stale": "Not used for a while. Searches still find it, and using it makes it active again.",
    "fading": "Nearly forgotten. Searches find it if it fits clearly better than livelier memories.",
    "dormant": "Not used for a long time. A prune plan may propose to archive it; nothing else happens.",
}
"""What each zone means, for readers who do not know vitality."""

PAST_DAYS = (30, 90, 365, 1826)
_DEFAULT_DAYS = 365
_FURTHEST = 100_000

NAMES: dict[OverviewList, tuple[str, str]] = {
    "alive": ("Most alive", "Accessed most and most recently."),
    "leaving": (
        "Fading soon",
        "Closest to the lower end of their zone, which they leave unless they are used.",
    ),
    "unused": ("Never used", "Stored and perhaps shown, but never used; oldest first."),
}
"""Title and description of each list."""


async def overview(request: PageRequest) -> Response:
    """Zones, the past if requested or cheap, the distribution, and the beginning of each list."""
    layer = text_field(request.query, "layer")
    days = int_field(request.query, "days", 0, low=0, high=36_525)
    known = await request.memory.layers.list()
    if layer is not None and layer not in {each.name for each in known}:
        raise HTTPException(404, f"There is no layer {layer!r:.60}.")
    found = await request.memory.charts.overview(layer=layer, limit=SHOWN, bins=FINE, now=request.now)
    memories = sum(each.memories for each in found.layers)
    zones = _common_zones(found, known)
    unit = BAR_WIDTH / max((each.memories for each in found.layers), default=1)
    fine = [sum(each) for each in zip([0] * FINE, *(each.counts for each in found.layers), strict=True)]
    counts, edges = merged_at_zones(fine, zones)
    past: tuple[ZonesOverTime, ...] | None = None
    narrow_past: tuple[ZonesOverTime, ...] = ()
    if memories and (days or memories <= DRAWN_AT_ONCE):
        shares = await _past(request, layer, days or _DEFAULT_DAYS)
        past, narrow_past = zones_over_time(shares), zones_over_time(shares, frame=NARROW)
    return await request.render(
        "overview.html.j2",
        layer=layer,
        found=found,
        memories=memories,
        totals=_totals(found),
        zone_bars=[zone_bar(each.zones, unit) for each in found.layers],
        histogram=vitality_histogram(counts, zones, edges=edges),
        narrow_histogram=vitality_histogram(counts, zones, edges=edges, frame=NARROW),
        bins=[(*edge, count) for edge, count in zip(pairwise(edges), counts, strict=True)],
        narrow_past=narrow_past,
        bounds={each.name: each.rates.zones for each in known},
        zones=zones,
        past=past,
        past_days=PAST_DAYS,
        days=days or _DEFAULT_DAYS,
        names=NAMES,
        sampled=memories > SAMPLE,
        sample=SAMPLE,
    )


async def one_list(request: PageRequest) -> Response:
    """Shows a list page by page; all pages use the time of the first."""
    name = next((known for known in OVERVIEW_LISTS if known == request.request.path_params["listed"]), None)
    if name is None:
        raise HTTPException(404)
    layer, at = text_field(request.query, "layer"), time_field(request.query, "at") or request.now
    first = int_field(request.query, "after", 0, low=0, high=_FURTHEST)
    found = await request.memory.charts.overview(
        [name], layer=layer, limit=PAGE, offset=first, bins=2, now=at
    )
    listed = found.lists[name]
    return await request.render(
        "overview_list.html.j2",
        name=name,
        words=NAMES[name],
        layer=layer,
        at=at,
        first=first,
        listed=listed,
        bounds={each.name: each.rates.zones for each in await request.memory.layers.list()},
        before=max(first - PAGE, 0) if first else None,
        after=first + PAGE if first + PAGE < min(listed.memories, _FURTHEST + 1) else None,
    )


async def _past(request: PageRequest, layer: str | None, days: int) -> list[ZoneShare]:
    """The zones at instants up to now; where the tenant is younger, from its beginning on."""
    begin = request.now - timedelta(days=days)
    shares = await request.memory.charts.zones_over_time(_instants(begin, request.now), sample=SAMPLE)
    first = min((share.at for share in shares), default=request.now)
    step = (request.now - begin) / (INSTANTS - 1)
    if first - begin > 2 * step and request.now - first > timedelta(hours=1):
        shares = await request.memory.charts.zones_over_time(
            _instants(first - step, request.now), sample=SAMPLE
        )
    return [share for share in shares if layer in (None, share.layer)]


def _instants(begin: datetime, end: datetime) -> list[datetime]:
    return [begin + (end - begin) * step / (INSTANTS - 1) for step in range(INSTANTS)]


def _totals(found: Overview) -> dict[str, int]:
    return {zone: sum(layer.zones.get(zone, 0) for layer in found.layers) for zone in ZONES}


def _common_zones(found: Overview, known: Sequence[Layer]) -> ZoneThresholds | None:
    """The bounds of the zones, where all layers that are shown have the same."""
    shown = {layer.layer for layer in found.layers}
    bounds = {layer.rates.zones for layer in known if layer.name in shown}
    return bounds.pop() if len(bounds) == 1 else None


MAX_RUNS = 20


async def maintenance(request: PageRequest) -> Response:
    return await request.render("maintenance.html.j2", **await _values(request), checks=None)


async def verify(request: PageRequest) -> Response:
    """The same view with the result of the checks, which change nothing."""
    checks = await request.memory.maintenance.verify(now=request.now)
    return await request.render("maintenance.html.j2", **await _values(request), checks=checks)


async def end_grant(request: PageRequest) -> Response:
    """Ends what a person lets a program do; one that has ended meanwhile is not listed any more."""
    await request.memory.keys.end_grant(request.request.path_params["grant"])
    return redirect("/maintenance#programs")


async def _cells(request: PageRequest) -> tuple[CellsReport | None, list[str]]:
    """The cells, where there are any and the service may ask for all, and what keeps them from being seen."""
    try:
        return await request.memory.service.cells(), []
    except DatabaseUnsuitable:  # its login role is bound to a tenant
        return None, []
    except DatabaseUnavailable as error:
        return None, [error.message]


async def _values(request: PageRequest) -> dict[str, Any]:
    cells, unseen = await _cells(request)
    return {
        "state": await request.memory.status(now=request.now),
        "cells": cells,
        "tenant": request.memory.tenant,
        "grants": await request.memory.keys.grants(),
        "runs": await request.memory.jobs.runs(limit=MAX_RUNS),
        "problems": await request.service.problems() + unseen,
        "running": request.service.queue.running,
        "waiting": request.service.queue.waiting,
        "interval": interval_words,
        "counts": counts_words,
    }


async def zones(request: PageRequest) -> Response:
    """Explains the zones: what each means, and how long a memory of each layer stays there."""
    return await request.render(
        "zones.html.j2",
        meanings=[(zone, MEANINGS[zone]) for zone in ZONES],
        layers=[(layer, _stays(layer)) for layer in await request.memory.layers.list()],
    )


def _stays(layer: Layer) -> dict[str, list[str]]:
    """How long one access, and ten on ten days, keep a memory above the end of each zone but the last."""
    horizons = [days_in_zones(layer.rates, history) for history in (ONE_ACCESS, TEN_DAILY)]
    return {zone: [_duration(getattr(each, zone)) for each in horizons] for zone in ZONES[:-1]}


def _duration(days: float) -> str:
    if days <= 0:
        return "no time"
    return duration_words(timedelta(days=days)) if days < _CENTURY else "over a century"
