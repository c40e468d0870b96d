"""The view that explains zones: what each means, and how long a memory of each layer stays there."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import Response

from pgrecall.faces.charts.axes import ZONES
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.faces.wording import duration_words
from pgrecall.models.layers import Layer
from pgrecall.vitality.score import ONE_ACCESS, TEN_DAILY, days_in_zones

_CENTURY = 36_525.0

MEANINGS = {
    "active": "Used recently or often. Searches rank it above equally relevant memories.",
    "stale": "Not used for a while. Searches still find it, and using it makes it active again.",
    "fading": "Nearly forgotten. Searches find it if it fits clearly better than livelier memories.",
    "dormant": "Not used for a long time. A prune plan may propose to archive it; nothing else happens.",
}
"""What each zone means, for readers who do not know vitality."""


async def zones(request: PageRequest) -> Response:
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
