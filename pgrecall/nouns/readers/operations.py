"""SQL calls for the readers of a shared tenant."""

from __future__ import annotations

from datetime import datetime

from pgrecall.encoding import require_text
from pgrecall.nouns.operation import NOW, Operation


def add_reader(reader: str, now: datetime | None) -> Operation[bool]:
    """Lets another tenant read this one; returns whether that is new."""
    require_text(reader, "The reader")
    return Operation(
        f"SELECT recall.add_reader(%(reader)s, {NOW}) AS added",
        {"reader": reader, "now": now},
        lambda rows: bool(rows[0]["added"]),
        repeatable=True,
    )


def remove_reader(reader: str) -> Operation[bool]:
    """Ends what :func:`add_reader` began; returns whether the tenant could read."""
    require_text(reader, "The reader")
    return Operation(
        "SELECT recall.remove_reader(%(reader)s) AS removed",
        {"reader": reader},
        lambda rows: bool(rows[0]["removed"]),
        repeatable=True,
    )
