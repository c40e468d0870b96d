"""What an importer is told of the time and of the tenant it imports into."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from pgrecall.errors import InvalidInput
from pgrecall.importers.fields import Rules
from pgrecall.nouns.layers.models import Layer


def import_rules(layers: Iterable[Layer], wanted: str | None = None, now: datetime | None = None) -> Rules:
    """The rules for an import.

    Args:
        layers: those of the tenant.
        wanted: the layer that the caller chose for what is imported.
        now: the time of the import; None: that of the clock.

    Raises:
        InvalidInput: the tenant has no such layer.
    """
    names = frozenset(layer.name for layer in layers)
    if wanted is not None and wanted not in names:
        raise InvalidInput(
            f"There is no layer {wanted!r:.100}.", hint=f"The layers are {', '.join(sorted(names))}."
        )
    return Rules(now or datetime.now(UTC), names)
