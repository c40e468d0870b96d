"""Exporting and importing a tenant as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pgrecall.nouns.export.models import Export
from pgrecall.nouns.operation import NOW, Operation, Row, read_int


def export_lines(embeddings: bool, made_by: str, now: datetime | None) -> Operation[tuple[str, ...]]:
    """Exports the tenant; the first line is the header. Read it in portions."""
    return Operation(
        f"SELECT recall.export_lines(%(embeddings)s, %(made_by)s, {NOW}) AS line",
        {"embeddings": embeddings, "made_by": made_by, "now": now},
        lambda rows: tuple(row["line"] for row in rows),
    )


def begin_import(header: str, embeddings: bool) -> Operation[Export]:
    """Prepares the tenant, which must be empty, for an export with this header."""
    return Operation(
        "SELECT recall.begin_import(%(header)s, %(embeddings)s) AS header",
        {"header": header, "embeddings": embeddings},
        lambda rows: _export(rows[0]["header"]),
    )


def import_lines(lines: Sequence[str]) -> Operation[int]:
    """Stores the next lines; returns the number of lines stored so far, including the header."""
    return Operation(
        "SELECT recall.import_lines(%(lines)s)",
        {"lines": list(lines)},
        read_int,
    )


def end_import() -> Operation[Mapping[str, int]]:
    """Checks that the import is complete; returns the number of lines by table."""
    return Operation("SELECT recall.end_import() AS came", {}, _counts)


def header_of(line: str) -> Export:
    """Parses the first line of an export."""
    return _export(json.loads(line))


def _counts(rows: Sequence[Row]) -> Mapping[str, int]:
    return {str(kind): int(count) for kind, count in rows[0]["came"].items()}


def _export(header: Mapping[str, Any]) -> Export:
    return Export(
        tenant=str(header.get("tenant", "")),
        exported_at=datetime.fromisoformat(str(header["exported_at"])),
        made_by=str(header.get("made_by", "")),
        dimensions=int(header["dimensions"]),
        embedder=header.get("embedder"),
        embeddings=bool(header["embeddings"]),
        counts=dict(header["counts"]),
    )
