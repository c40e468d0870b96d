"""The link graph, the checks on a tenant's data, and alarms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class GraphReport:
    """The link graph of a tenant.

    ``bridges`` are links whose removal disconnects it. ``points`` counts articulation points, memories whose
    removal disconnects it; ``protected`` those that would cut off enough others.
    """

    memories: int
    links: int
    points: int
    bridges: tuple[tuple[int, int], ...]
    protected: int


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant of a tenant's data, the number of violations, and up to five examples."""

    name: str
    about: str
    problems: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlarmChange:
    """An alarm and its change since the last report to the alert hook.

    ``kind`` is its name, which stays the same while the sentence ``alarm`` changes. One that ended has no
    sentence.
    """

    kind: str
    alarm: str | None
    change: Literal["raised", "standing", "ended"]
