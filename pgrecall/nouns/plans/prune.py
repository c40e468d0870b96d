"""Prune plans, converted from the document that ``recall.get_plan`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.nouns.conversion import read_document
from pgrecall.nouns.memories.models import VitalityTerms

PlanState = Literal["planned", "applied", "undone"]
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of a plan. ``max_share`` is 0 to 1; ``layers`` None means all."""

    max_count: int
    max_share: float
    grace_days: float
    revival_days: float
    layers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class PlanExample:
    """An example. In plans, ``title`` has the first words of the body if there is no title."""

    id: int
    title: str


@dataclass(frozen=True, slots=True)
class PlanKeptBack:
    """A candidate that stays because archiving it too would disconnect ``cut_size`` live memories;
    ``examples`` are at most 10 of them."""

    id: int
    key: str | None
    title: str
    cut_size: int
    examples: tuple[PlanExample, ...]


@dataclass(frozen=True, slots=True)
class PlanLink:
    """A reference that would end."""

    source: int
    target: int
    relation: str


@dataclass(frozen=True, slots=True)
class PlanNeighbour:
    """A remaining memory that loses a link."""

    id: int
    key: str | None
    title: str
    layer: str
    vitality: float
    zone: str
    protected: bool


@dataclass(frozen=True, slots=True)
class PlanCommunity:
    """Live memories around a hub: each joins its neighbour with the most links, and so on up to the hub.

    Their number, how many of them the plan archives, their mean vitality, and the titles of a few.
    """

    memories: int
    planned: int
    mean_vitality: float
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The effects of a plan.

    ``zones`` counts live memories by layer and zone, ``histogram`` by vitality in 20 bins of 0.05. Of the
    ``eligible`` candidates, ``staying`` are kept back (``kept_back`` has at most 1,000, largest cut first),
    ``capped`` exceed a limit, and ``planned`` are in the plan. Without keeping any back and without limits,
    ``would_cut_off`` live memories would be disconnected. ``links_ending`` counts references that end;
    ``links`` has at most 500 of them and ``neighbours`` their other ends. ``communities`` has at most 20,
    lowest mean vitality first.
    """

    live: int
    zones: Mapping[str, Mapping[str, int]]
    histogram: tuple[int, ...]
    eligible: int
    capped: int
    planned: int
    would_cut_off: int
    kept_back: tuple[PlanKeptBack, ...]
    links_ending: int
    links: tuple[PlanLink, ...]
    neighbours: tuple[PlanNeighbour, ...]
    communities: tuple[PlanCommunity, ...]

    @property
    def staying(self) -> int:
        """The number of candidates that are kept back."""
        return self.eligible - self.capped - self.planned


@dataclass(frozen=True, slots=True)
class PlanEnd:
    """The other end of a reference that would end; ``outgoing`` if the planned memory refers to it."""

    id: int
    title: str
    relation: str
    outgoing: bool


@dataclass(frozen=True, slots=True)
class PlanImpact:
    """The references of a planned memory to and from live memories; ``ends`` has at most 10 of them."""

    links_in: int
    links_out: int
    ends: tuple[PlanEnd, ...]


@dataclass(frozen=True, slots=True)
class PlanItem:
    """A memory of a plan: ``place`` 1 has the lowest vitality. ``note`` is the reason why it was skipped."""

    id: int
    key: str | None
    title: str
    layer: str
    place: int
    vitality: float
    terms: VitalityTerms
    reason: str
    impact: PlanImpact
    outcome: Literal["archived", "skipped"] | None
    note: str | None


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """A stored plan. ``items`` may be one page of all ``report.planned`` items, by place."""

    id: int
    kind: Literal["prune"]
    state: PlanState
    created_at: datetime
    applied_at: datetime | None
    undone_at: datetime | None
    options: PlanOptions
    report: PlanReport
    items: tuple[PlanItem, ...]

    @classmethod
    def from_document(cls, document: Document) -> PrunePlan:
        """Converts the result of ``recall.get_plan``, as in ``pgrecall plan show --json``."""
        return read_document(cls, document)
