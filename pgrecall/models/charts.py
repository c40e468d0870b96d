"""What pictures are drawn from: uses, distributions, curves, and the links around a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pgrecall.models.access import AccessKind


@dataclass(frozen=True, slots=True)
class AccessRecord:
    """An access as it stands in the log; ``weight`` is as how many accesses it was logged."""

    id: int
    kind: AccessKind
    weight: float
    at: datetime
    session_id: str | None


@dataclass(frozen=True, slots=True)
class VitalityCounts:
    """How many live memories of a layer have a vitality in each of as many equal parts of 0 to 1."""

    layer: str
    memories: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VitalityPoint:
    """How alive a memory is at an instant; ``retention`` adds the protection floor, and zones go by it."""

    at: datetime
    vitality: float
    retention: float
    zone: str


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A memory in a part of the link graph, ``hops`` links from the one it is around.

    ``cut_size`` is how many memories it alone keeps connected with the rest, when last counted; a memory
    without a title goes by the first words of its body.
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
    """What lies around a memory: itself first, then the nearest; ``left_out`` counts those beyond a limit."""

    nodes: tuple[GraphNode, ...]
    links: tuple[GraphLink, ...]
    left_out: int

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Neighbourhood:
        """From what ``recall.neighbourhood`` returns."""
        nodes = tuple(GraphNode(**entry) for entry in document["nodes"])
        links = tuple(GraphLink(**entry) for entry in document["links"])
        return cls(nodes, links, document["left_out"])
