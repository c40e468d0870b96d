"""SQL calls for the past of memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pgrecall.errors import InvalidInput
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.memories.models import VitalityTerms
from pgrecall.nouns.operation import Operation, Row, id_of
from pgrecall.nouns.status.models import LayerStatus


def vitality_as_of(reference: int | str, at: datetime) -> Operation[VitalityTerms]:
    """Computes the terms of a memory's vitality at a past time."""
    return Operation(
        f"SELECT * FROM recall.vitality_as_of(recall.require_memory({id_of(reference, 'memory')}), %(at)s)",
        {"memory": reference, "at": at},
        lambda rows: _terms(rows, reference, at),
        repeatable=True,
    )


def zones_as_of(at: datetime) -> Operation[tuple[LayerStatus, ...]]:
    """Counts live memories by layer and zone at a past time."""
    return Operation("SELECT * FROM recall.zones_as_of(%(at)s)", {"at": at}, _zones, repeatable=True)


def _terms(rows: Sequence[Row], reference: int | str, at: datetime) -> VitalityTerms:
    if not rows:
        raise InvalidInput(
            f"Memory {reference!r} did not exist at {at.isoformat()}.", hint="Give a later time."
        )
    return read_as(VitalityTerms, rows[0])


def _zones(rows: Sequence[Row]) -> tuple[LayerStatus, ...]:
    held: dict[str, dict[str, int]] = {}
    for row in rows:
        held.setdefault(row["layer"], {})[row["zone"]] = row["memories"]
    return tuple(LayerStatus(layer, sum(zones.values()), zones) for layer, zones in held.items())
