"""What an import did, and what it could not use."""

from __future__ import annotations

from dataclasses import dataclass


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
