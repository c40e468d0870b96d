"""What an import did, and what an export contains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """Something an importer could not use: where it stands, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. ``removed`` are keys of the same source that it no longer holds."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    links_pending: int = 0
    removed: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Export:
    """A tenant as lines of JSON, in a file or stream.

    Attributes:
        tenant: whose memories they were; they may be imported as another's.
        exported_at: the moment the export was made for.
        made_by: the program that made it, with its version.
        embedder: what made the vectors of the database it came from; None without one.
        embeddings: whether the export has them.
        counts: lines of each kind, by the name of their table.
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
        """How many lines there are in all, the first one included."""
        return 1 + sum(self.counts.values())
