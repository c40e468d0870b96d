"""The overview of vitality, as one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pgrecall.encoding import require_text
from pgrecall.models.overview import Overview, OverviewList, ZoneShare
from pgrecall.operations.operation import NOW, Operation


@dataclass(frozen=True, slots=True)
class OverviewRequest:
    """What a overview lists, and how finely it counts."""

    lists: Sequence[OverviewList]
    layer: str | None
    limit: int
    offset: int
    bins: int
    now: datetime | None


def overview(request: OverviewRequest) -> Operation[Overview]:
    """How lively the live memories are."""
    if request.layer is not None:
        require_text(request.layer, "The layer")
    return Operation(
        "SELECT recall.overview(%(lists)s::text[], %(layer)s, %(limit)s, %(offset)s, %(bins)s, "
        f"{NOW}) AS document",
        {
            "lists": list(request.lists),
            "layer": request.layer,
            "limit": request.limit,
            "offset": request.offset,
            "bins": request.bins,
            "now": request.now,
        },
        lambda rows: Overview.from_document(rows[0]["document"]),
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
