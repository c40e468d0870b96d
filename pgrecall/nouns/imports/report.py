"""The result of an import, and what its importer left out."""

from __future__ import annotations

from dataclasses import dataclass


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
        links_pending: how many links of all memories wait for their target.
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
