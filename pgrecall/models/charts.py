"""What charts are drawn from: accesses, distributions, curves, links around a memory, the overview of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.models.memories import AccessKind

OverviewList = Literal["alive", "leaving", "unused"]
"""The liveliest; those nearest to the lower bound of their zone; those never used, the oldest first."""


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


@dataclass(frozen=True, slots=True)
class OverviewLayer:
    """The live memories of a layer: how many, how many of them were never used, how many each zone holds, and
    how many have a vitality in each of as many equal parts of 0 to 1."""

    layer: str
    memories: int
    unused: int
    zones: Mapping[str, int]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OverviewItem:
    """A memory that is listed. ``used_at`` is its last whole use, None without one; ``kept`` says that it is
    pinned or protected; ``leaves_at`` is when it leaves its zone if it is not used, None if it never does.
    A memory without a title goes by the first words of its body."""

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

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> OverviewItem:
        moments = {name: _moment(document[name]) for name in ("born_at", "used_at", "leaves_at")}
        return cls(**{**document, **moments})


@dataclass(frozen=True, slots=True)
class Listed:
    """Part of a list: ``memories`` counts all that it holds."""

    memories: int
    items: tuple[OverviewItem, ...]


@dataclass(frozen=True, slots=True)
class ZoneShare:
    """How many live memories of a layer a zone held at an instant: estimated where not all were seen."""

    at: datetime
    layer: str
    zone: str
    memories: float


@dataclass(frozen=True, slots=True)
class Overview:
    """How lively live memories are: by layer, and in lists."""

    layers: tuple[OverviewLayer, ...]
    lists: Mapping[str, Listed]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Overview:
        """From what ``recall.overview`` returns."""
        layers = tuple(
            OverviewLayer(**{**entry, "counts": tuple(entry["counts"])}) for entry in document["layers"]
        )
        lists = {
            name: Listed(part["memories"], tuple(map(OverviewItem.from_document, part["items"])))
            for name, part in document["lists"].items()
        }
        return cls(layers, lists)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
