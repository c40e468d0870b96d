"""SQL calls for the readers of a shared tenant, and for copying memories into it."""

from __future__ import annotations

from datetime import datetime

from pgrecall.encoding import require_text, to_json
from pgrecall.nouns.memories.models import StoredMemory
from pgrecall.nouns.operation import NOW, Operation, read_bool
from pgrecall.nouns.readers.models import Shared


def add_reader(reader: str, may_share: bool, now: datetime | None) -> Operation[bool]:
    """Lets another tenant read this one, and perhaps share with it; returns whether anything changed."""
    require_text(reader, "The reader")
    return Operation(
        f"SELECT recall.add_reader(%(reader)s, {NOW}, %(may_share)s)",
        {"reader": reader, "may_share": may_share, "now": now},
        read_bool,
        repeatable=True,
    )


def remove_reader(reader: str) -> Operation[bool]:
    """Ends what :func:`add_reader` began; returns whether the tenant could read."""
    require_text(reader, "The reader")
    return Operation(
        "SELECT recall.remove_reader(%(reader)s)",
        {"reader": reader},
        read_bool,
        repeatable=True,
    )


def share(memory: StoredMemory, to: str, now: datetime | None) -> Operation[Shared]:
    """Copies a memory into another tenant. The cell of that one executes it, and picks the fields."""
    require_text(to, "The tenant")
    names = ("id", "key", "layer", "title", "body", "role", "author", "tags", "occurred_at")
    return Operation(
        f"SELECT * FROM recall.share(%(to)s, %(memory)s, {NOW})",
        {"to": to, "memory": to_json({name: getattr(memory, name) for name in names}), "now": now},
        lambda rows: Shared(**rows[0]),
        repeatable=True,
    )
