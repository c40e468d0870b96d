"""The landscape of vitality, as one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pgrecall.encoding import require_text
from pgrecall.models.landscape import Landscape, LandscapeList, ZoneShare
from pgrecall.operations.base import NOW, Operation


@dataclass(frozen=True, slots=True)
class LandscapeRequest:
    """What a landscape lists, and how finely it counts."""

    lists: Sequence[LandscapeList]
    layer: str | None
    limit: int
    offset: int
    bins: int
    now: datetime | None


def landscape(request: LandscapeRequest) -> Operation[Landscape]:
    """How lively the live memories are."""
    if request.layer is not None:
        require_text(request.layer, "The layer")
    return Operation(
        "SELECT recall.landscape(%(lists)s::text[], %(layer)s, %(limit)s, %(offset)s, %(bins)s, "
        f"{NOW}) AS document",
        {
            "lists": list(request.lists),
            "layer": request.layer,
            "limit": request.limit,
            "offset": request.offset,
            "bins": request.bins,
            "now": request.now,
        },
        lambda rows: Landscape.from_document(rows[0]["document"]),
        repeatable=True,
    )


def zones_over_time(instants: Sequence[datetime], sample: int) -> Operation[tuple[ZoneShare, ...]]:
    """What the zones held at these instants, by instant, layer and zone."""
    return Operation(
        "SELECT * FROM recall.zones_over_time(%(instants)s::timestamptz[], %(sample)s)",
        {"instants": list(instants), "sample": sample},
        lambda rows: tuple(ZoneShare(**row) for row in rows),
        repeatable=True,
    )
