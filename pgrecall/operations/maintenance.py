"""Keeping memories in order: pinned, told of the past, rebuilt from the log, and verified."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pgrecall.errors import InvalidInput
from pgrecall.models.maintenance import Check, LayerStatus
from pgrecall.models.memories import VitalityTerms
from pgrecall.operations.operation import NOW, Operation, Row, id_of


def pin(reference: int | str, pinned: bool, now: datetime | None) -> Operation[bool]:
    """Keeps a memory out of every prune plan, or no longer; the result says whether that is a change."""
    return Operation(
        f"SELECT recall.pin({id_of(reference, 'memory')}, %(pinned)s, {NOW}) AS changed",
        {"memory": reference, "pinned": pinned, "now": now},
        lambda rows: bool(rows[0]["changed"]),
        repeatable=True,
    )


def rebuild(references: Sequence[int | str] | None) -> Operation[int]:
    """Computes summaries anew from the log; the result counts those that were not what the log says."""
    if references is None:
        ids, parameters = "NULL", {}
    else:
        parameters = {f"memory{place}": reference for place, reference in enumerate(references)}
        known = (f"recall.require_memory({id_of(value, name)})" for name, value in parameters.items())
        ids = f"ARRAY[{', '.join(known)}]::bigint[]"
    return Operation(
        f"SELECT recall.rebuild({ids}) AS changed",
        parameters,
        lambda rows: int(rows[0]["changed"]),
        repeatable=True,
    )


def verify(now: datetime | None) -> Operation[tuple[Check, ...]]:
    """What must hold of the tenant's data, and what does not."""
    return Operation(
        f"SELECT recall.verify({NOW}) AS verified",
        {"now": now},
        lambda rows: tuple(_check(entry) for entry in rows[0]["verified"]["checks"]),
        repeatable=True,
    )


def vitality_as_of(reference: int | str, at: datetime) -> Operation[VitalityTerms]:
    """Every term of a memory's vitality at an instant."""
    known = f"recall.require_memory({id_of(reference, 'memory')})"
    return Operation(
        f"SELECT * FROM recall.vitality_as_of({known}, %(at)s)",
        {"memory": reference, "at": at},
        lambda rows: _terms(rows, reference, at),
        repeatable=True,
    )


def zones_as_of(at: datetime) -> Operation[tuple[LayerStatus, ...]]:
    """How many live memories each layer held at an instant, by zone."""
    return Operation("SELECT * FROM recall.zones_as_of(%(at)s)", {"at": at}, _zones, repeatable=True)


def _check(entry: Row) -> Check:
    return Check(entry["name"], entry["about"], entry["problems"], tuple(entry["examples"]))


def _terms(rows: Sequence[Row], reference: int | str, at: datetime) -> VitalityTerms:
    if not rows:
        raise InvalidInput(
            f"Memory {reference!r} did not exist at {at.isoformat()}.", hint="Ask for a later moment."
        )
    return VitalityTerms(**rows[0])


def _zones(rows: Sequence[Row]) -> tuple[LayerStatus, ...]:
    held: dict[str, dict[str, int]] = {}
    for row in rows:
        held.setdefault(row["layer"], {})[row["zone"]] = row["memories"]
    return tuple(LayerStatus(layer, sum(zones.values()), zones) for layer, zones in held.items())
