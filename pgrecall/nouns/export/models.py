"""The header of an export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Export:
    """Header of an export: a tenant as lines of JSON, in a file or stream.

    Attributes:
        tenant: the exported tenant; the import may use another name.
        exported_at: time of the export.
        made_by: program and version that wrote it.
        embedder: embedder of the exported database; None without one.
        embeddings: whether the export contains vectors.
        counts: number of lines by table.
    """

    tenant: str
    exported_at: datetime
    made_by: str
    dimensions: int
    embedder: str | None
    embeddings: bool
    counts: Mapping[str, int]

    @property
    def lines(self) -> int:
        """Number of lines, including the header."""
        return 1 + sum(self.counts.values())
