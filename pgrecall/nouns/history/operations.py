"""SQL calls for versions of memories, for changes, and for vitality in the past."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pgrecall.encoding import MAX_INTEGER, embedding_of_text, require_text
from pgrecall.errors import InvalidInput
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.history.models import Change, ChangeKind, FieldDifference, Version
from pgrecall.nouns.memories.models import Remembered, VitalityTerms
from pgrecall.nouns.operation import NOW, Operation, Row, id_of, read_str, rows_of
from pgrecall.nouns.status.models import LayerStatus


def versions(reference: int | str, limit: int, before: int | None = None) -> Operation[tuple[Version, ...]]:
    """Lists the versions of a memory, newest first; with ``before``, only those older than that version."""
    return Operation(
        f"SELECT * FROM recall.versions({id_of(reference, 'memory')}, %(limit)s, %(before)s)",
        {"memory": reference, "limit": limit, "before": None if before is None else _number(before)},
        lambda rows: tuple(_version(row) for row in rows),
        repeatable=True,
    )


def version(reference: int | str, number: int) -> Operation[Version | None]:
    """Reads one version; returns None if it is not kept."""
    return Operation(
        f"SELECT * FROM recall.versions({id_of(reference, 'memory')}, 1, %(before)s) "
        "WHERE number = %(number)s",
        {"memory": reference, "number": _number(number), "before": min(number, MAX_INTEGER - 1) + 1},
        lambda rows: _version(rows[0]) if rows else None,
        repeatable=True,
    )


def _version(row: Row) -> Version:
    return read_as(Version, {**row, "tags": tuple(row["tags"]), "aliases": tuple(row["aliases"])})


def diff_versions(
    reference: int | str, earlier: int, later: int | None
) -> Operation[tuple[FieldDifference, ...]]:
    """Compares two versions of a memory, texts as a whole; without ``later``, a version with the current
    one."""
    return Operation(
        "SELECT field, earlier, later "
        f"FROM recall.diff_versions({id_of(reference, 'memory')}, %(earlier)s, %(later)s)",
        {
            "memory": reference,
            "earlier": _number(earlier),
            "later": None if later is None else _number(later),
        },
        lambda rows: tuple(_difference(row) for row in rows),
        repeatable=True,
    )


def _difference(row: Row) -> FieldDifference:
    return FieldDifference(row["field"], row["earlier"], row["later"])


def restore_version(
    reference: int | str,
    number: int,
    embedded: Embedded | None,
    embedded_with: str | None,
    content_hash: str | None,
    now: datetime | None,
) -> Operation[Remembered]:
    """Restores the text and fields of a version."""
    return Operation(
        f"SELECT * FROM recall.restore_version({id_of(reference, 'memory')}, %(number)s, %(embedded)s, "
        f"%(model)s, {NOW})",
        {
            "memory": reference,
            "number": _number(number),
            "embedded": embedding_of_text(embedded, content_hash),
            "model": None if embedded is None else embedded_with,
            "now": now,
        },
        lambda rows: Remembered(rows[0]["id"], rows[0]["key"], rows[0]["outcome"]),
        repeatable=True,
    )


def changes(
    since: str | None, limit: int, kinds: Sequence[ChangeKind] | None
) -> Operation[tuple[Change, ...]]:
    """Reads the next changes after a cursor, in order."""
    for kind in kinds or ():
        require_text(kind, "The kind of change")
    return rows_of("changes", Change, since=since, limit=limit, kinds=None if kinds is None else list(kinds))


def change_cursor() -> Operation[str]:
    """Reads the cursor after the last change."""
    return Operation("SELECT recall.change_cursor()", {}, read_str, repeatable=True)


def _number(number: int) -> int:
    """Returns the number; raises InvalidInput for one that no version has."""
    if not 0 < number <= MAX_INTEGER:
        raise InvalidInput(f"There is no version {number}.", hint="Versions are counted from 1.")
    return number


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
