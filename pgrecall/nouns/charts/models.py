"""Data of charts: accesses, distributions, curves, neighbourhoods, and the overview of a tenant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.nouns.conversion import read_document
from pgrecall.nouns.memories.models import AccessKind

OverviewList = Literal["alive", "leaving", "unused"]
"""``alive``: highest vitality first; ``leaving``: nearest to the lower bound of their zone first; ``unused``:
never accessed, oldest first."""
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AccessRecord:
    """A logged access; ``weight`` is the number of accesses that it counts as."""

    id: int
    kind: AccessKind
    weight: float
    at: datetime
    session_id: str | None


@dataclass(frozen=True, slots=True)
class VitalityCounts:
    """A histogram of the vitality of a layer's live memories, with ``counts`` in equal bins from 0 to 1."""

    layer: str
    memories: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VitalityPoint:
    """The vitality of a memory at a time. ``retention`` includes the floor and decides the zone."""

    at: datetime
    vitality: float
    retention: float
    zone: str


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A memory in a neighbourhood, ``hops`` links from its centre.

    ``cut_size`` is the number of memories that it alone keeps connected with the rest, at the last count.
    Without a title, ``title`` has the first words of the body.
    """

    id: int
    key: str | None
    title: str
    layer: str
    hops: int
    vitality: float
    zone: str
    cut_size: int
    protected: bool
    pinned: bool
    archived: bool


@dataclass(frozen=True, slots=True)
class GraphLink:
    """A reference from one memory to another."""

    source: int
    target: int
    relation: str
    weight: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The memories near a memory, itself first, then the nearest. ``left_out`` counts those beyond the
    limit."""

    nodes: tuple[GraphNode, ...]
    links: tuple[GraphLink, ...]
    left_out: int

    @classmethod
    def from_document(cls, document: Document) -> Neighbourhood:
        """Converts the result of ``recall.neighbourhood``."""
        return read_document(cls, document)


@dataclass(frozen=True, slots=True)
class OverviewLayer:
    """The live memories of a layer: their number, how many were never accessed, the number in each zone, and
    the ``counts`` of their vitality in equal bins from 0 to 1."""

    layer: str
    memories: int
    unused: int
    zones: Mapping[str, int]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OverviewItem:
    """A memory in a list. ``used_at`` is its last use or None; ``kept`` says whether it is pinned or
    protected; ``leaves_at`` is when it leaves its zone without further accesses, None if it does not.
    Without a title, ``title`` has the first words of the body."""

    id: int
    key: str | None
    title: str
    layer: str
    vitality: float
    zone: str
    accesses: int
    born_at: datetime
    used_at: datetime | None
    leaves_at: datetime | None
    kept: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """Part of a list; ``memories`` counts all of it."""

    memories: int
    items: tuple[OverviewItem, ...]


@dataclass(frozen=True, slots=True)
class ZoneShare:
    """The number of live memories of a layer in a zone at a time, estimated for large tenants."""

    at: datetime
    layer: str
    zone: str
    memories: float


@dataclass(frozen=True, slots=True)
class Overview:
    """The vitality of live memories, by layer and in lists."""

    layers: tuple[OverviewLayer, ...]
    lists: Mapping[str, Listed]

    @classmethod
    def from_document(cls, document: Document) -> Overview:
        """Converts the result of ``recall.overview``."""
        return read_document(cls, document)
