"""Data of the charts, the overview of all memories, and the state at past times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pgrecall.encoding import require_text
from pgrecall.errors import MemoryNotFound
from pgrecall.nouns.charts.models import (
    AccessRecord,
    Neighbourhood,
    Overview,
    OverviewList,
    VitalityCounts,
    VitalityPoint,
    ZoneShare,
)
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.operation import NOW, Operation, Row, id_of

OVERVIEW_LISTS: Sequence[OverviewList] = ("alive", "leaving", "unused")
"""All lists that an overview can have."""


def accesses_of(reference: int | str, limit: int) -> Operation[tuple[AccessRecord, ...]]:
    """Reads the newest accesses of a memory, newest first."""
    return Operation(
        f"SELECT * FROM recall.accesses_of({_known(reference)}, %(limit)s)",
        {"memory": reference, "limit": limit},
        lambda rows: tuple(read_as(AccessRecord, row) for row in rows),
        repeatable=True,
    )


def vitality_histogram(bins: int, now: datetime | None) -> Operation[tuple[VitalityCounts, ...]]:
    """Reads the distribution of vitality in each layer."""
    return Operation(
        f"SELECT * FROM recall.vitality_histogram(%(bins)s, {NOW})",
        {"bins": bins, "now": now},
        lambda rows: tuple(
            VitalityCounts(row["layer"], row["memories"], tuple(row["counts"])) for row in rows
        ),
        repeatable=True,
    )


def vitality_curve(
    reference: int | str, instants: Sequence[datetime], now: datetime | None
) -> Operation[tuple[VitalityPoint, ...]]:
    """Computes the vitality of a memory at these times, past or future."""
    return Operation(
        f"SELECT * FROM recall.vitality_curve({_known(reference)}, %(instants)s::timestamptz[], {NOW})",
        {"memory": reference, "instants": list(instants), "now": now},
        lambda rows: tuple(read_as(VitalityPoint, row) for row in rows),
        repeatable=True,
    )


def neighbourhood(
    reference: int | str, hops: int, limit: int, now: datetime | None
) -> Operation[Neighbourhood]:
    """Reads the neighbourhood of a memory in the link graph."""

    def read(rows: Sequence[Row]) -> Neighbourhood:
        document = rows[0]["document"]
        if document is None:
            raise MemoryNotFound(reference)
        return Neighbourhood.from_document(document)

    return Operation(
        f"SELECT recall.neighbourhood({_known(reference)}, %(hops)s, %(limit)s, {NOW}) AS document",
        {"memory": reference, "hops": hops, "limit": limit, "now": now},
        read,
        repeatable=True,
    )


@dataclass(frozen=True, slots=True)
class OverviewRequest:
    """The lists and the resolution of an overview."""

    lists: Sequence[OverviewList]
    layer: str | None
    limit: int
    offset: int
    bins: int
    now: datetime | None


def overview(request: OverviewRequest) -> Operation[Overview]:
    """Reads the overview of live memories."""
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
    """Counts memories at these times by layer and zone."""
    return Operation(
        "SELECT * FROM recall.zones_over_time(%(instants)s::timestamptz[], %(sample)s)",
        {"instants": list(instants), "sample": sample},
        lambda rows: tuple(read_as(ZoneShare, row) for row in rows),
        repeatable=True,
    )


def _known(reference: int | str) -> str:
    return f"recall.require_memory({id_of(reference, 'memory')})"
