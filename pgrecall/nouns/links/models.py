"""Summaries and what they are derived from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SourceState = Literal["current", "changed", "forgotten", "missing"]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One source of a summary.

    Attributes:
        summary: the id of the summary.
        source: the id of the source; None if it was deleted, or was never stored.
        state: ``changed``: rewritten or replaced after the summary was written; ``forgotten``: archived by
            ``forget``, or deleted; ``missing``: never stored; else ``current``.
    """

    summary: int
    source: int | None
    state: SourceState


@dataclass(frozen=True, slots=True)
class StaleSummary:
    """A summary to write anew: how many of its sources changed after it, and how many were forgotten."""

    id: int
    key: str | None
    title: str
    changed: int
    forgotten: int
