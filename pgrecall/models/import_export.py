"""The result of an import, and the header of an export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """An item that an importer could not use: its place and the reason."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that an importer left out or assumed, as a plural noun, and how often.

    Attributes:
        places: where, if that is known: a file, and a line or an entry of it.
    """

    what: str
    count: int
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import.

    Attributes:
        removed: keys that the source no longer contains.
        problems: items that could not be used.
        skipped: what was left out or assumed, with counts, highest first.
        import_id: id of this import, to undo it; None if it changed nothing.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    links_pending: int = 0
    removed: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    import_id: int | None = None


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
