"""What pictures are drawn from, as one call each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pgrecall.errors import MemoryNotFound
from pgrecall.models.charts import AccessRecord, Neighbourhood, VitalityCounts, VitalityPoint
from pgrecall.operations.operation import NOW, Operation, Row, id_of


def accesses_of(reference: int | str, limit: int) -> Operation[tuple[AccessRecord, ...]]:
    """The newest accesses of a memory, newest first."""
    return Operation(
        f"SELECT * FROM recall.accesses_of({_known(reference)}, %(limit)s)",
        {"memory": reference, "limit": limit},
        lambda rows: tuple(AccessRecord(**row) for row in rows),
        repeatable=True,
    )


def vitality_histogram(bins: int, now: datetime | None) -> Operation[tuple[VitalityCounts, ...]]:
    """The distribution of vitality in each layer."""
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
    """How alive a memory was or will be at these instants, by instant."""
    return Operation(
        f"SELECT * FROM recall.vitality_curve({_known(reference)}, %(instants)s::timestamptz[], {NOW})",
        {"memory": reference, "instants": list(instants), "now": now},
        lambda rows: tuple(VitalityPoint(**row) for row in rows),
        repeatable=True,
    )


def neighbourhood(
    reference: int | str, hops: int, limit: int, now: datetime | None
) -> Operation[Neighbourhood]:
    """What lies around a memory."""

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


def _known(reference: int | str) -> str:
    return f"recall.require_memory({id_of(reference, 'memory')})"
