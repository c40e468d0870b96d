"""Prune plans: what a dry run found, read from the document that ``recall.get_prune_plan`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.models.memories import VitalityTerms

PlanState = Literal["planned", "applied", "undone"]
ItemOutcome = Literal["archived", "skipped"]
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a plan was made with. ``layers`` None means all of them; days are days."""

    max_count: int
    max_share: float
    grace_days: float
    revival_days: float
    layers: tuple[str, ...] | None

    @classmethod
    def from_document(cls, document: Document) -> PlanOptions:
        layers = document["layers"]
        return cls(**{**document, "layers": None if layers is None else tuple(layers)})


@dataclass(frozen=True, slots=True)
class PlanExample:
    """A memory named in passing. In plans a memory without a title goes by the first words of its body."""

    id: int
    title: str


@dataclass(frozen=True, slots=True)
class PlanKeptBack:
    """A candidate that stays: without it alone, ``cut_size`` live memories would be cut off from others;
    ``examples`` are at most 10 of them."""

    id: int
    key: str | None
    title: str
    cut_size: int
    examples: tuple[PlanExample, ...]

    @classmethod
    def from_document(cls, document: Document) -> PlanKeptBack:
        examples = tuple(PlanExample(**entry) for entry in document["examples"])
        return cls(**{**document, "examples": examples})


@dataclass(frozen=True, slots=True)
class PlanLink:
    """A reference that would end."""

    source: int
    target: int
    relation: str


@dataclass(frozen=True, slots=True)
class PlanNeighbour:
    """A live memory that stays and loses a link."""

    id: int
    key: str | None
    title: str
    layer: str
    vitality: float
    zone: str
    protected: bool


@dataclass(frozen=True, slots=True)
class PlanCommunity:
    """Live memories around one hub: each belongs with its best-linked neighbour, and so on to the hub. How
    many, how many of them the plan archives, how lively they are on average, and the titles of a few."""

    memories: int
    planned: int
    mean_vitality: float
    examples: tuple[str, ...]

    @classmethod
    def from_document(cls, document: Document) -> PlanCommunity:
        return cls(**{**document, "examples": tuple(document["examples"])})


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What the whole plan would do.

    ``zones`` counts live memories by layer and zone, ``histogram`` by vitality in 20 bins of 0.05.
    Of ``eligible`` candidates ``staying`` are kept back (``kept_back`` shows at most 1,000, the worst cut
    first), ``capped`` are left out by a cap, ``planned`` are left. Had nothing been kept back, and no cap
    applied, ``would_cut_off`` live memories would have been cut off.
    ``links_ending`` references end, of which ``links`` shows at most 500 and ``neighbours`` the far
    ends; ``communities`` are at most 20, lowest mean vitality first.
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
        """How many candidates are kept back in all."""
        return self.eligible - self.capped - self.planned

    @classmethod
    def from_document(cls, document: Document) -> PlanReport:
        read: dict[str, Any] = {
            "histogram": tuple(document["histogram"]),
            "kept_back": tuple(PlanKeptBack.from_document(entry) for entry in document["kept_back"]),
            "links": tuple(PlanLink(*entry) for entry in document["links"]),
            "neighbours": tuple(PlanNeighbour(**entry) for entry in document["neighbours"]),
            "communities": tuple(PlanCommunity.from_document(entry) for entry in document["communities"]),
        }
        return cls(**{**document, **read})


@dataclass(frozen=True, slots=True)
class PlanEnd:
    """The far end of a reference that would end; ``outgoing`` says that the planned memory refers to it."""

    id: int
    title: str
    relation: str
    outgoing: bool


@dataclass(frozen=True, slots=True)
class PlanImpact:
    """References of a planned memory to and from live memories; ``ends`` shows at most 10 of them."""

    links_in: int
    links_out: int
    ends: tuple[PlanEnd, ...]

    @classmethod
    def from_document(cls, document: Document) -> PlanImpact:
        return cls(**{**document, "ends": tuple(PlanEnd(**entry) for entry in document["ends"])})


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One memory a plan archives: ``place`` 1 is the least lively. ``note`` says why it was skipped."""

    id: int
    key: str | None
    title: str
    layer: str
    place: int
    vitality: float
    terms: VitalityTerms
    reason: str
    impact: PlanImpact
    outcome: ItemOutcome | None
    note: str | None

    @classmethod
    def from_document(cls, document: Document) -> PlanItem:
        terms, impact = VitalityTerms(**document["terms"]), PlanImpact.from_document(document["impact"])
        return cls(**{**document, "terms": terms, "impact": impact})


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """A stored dry run. ``items`` may be one page of all ``report.planned`` of them, by place."""

    id: int
    state: PlanState
    created_at: datetime
    applied_at: datetime | None
    undone_at: datetime | None
    options: PlanOptions
    report: PlanReport
    items: tuple[PlanItem, ...]

    @classmethod
    def from_document(cls, document: Document) -> PrunePlan:
        """Reads what ``recall.get_prune_plan`` returns and ``pgrecall prune show --json`` prints."""
        read: dict[str, Any] = {
            "created_at": datetime.fromisoformat(document["created_at"]),
            "applied_at": _moment(document["applied_at"]),
            "undone_at": _moment(document["undone_at"]),
            "options": PlanOptions.from_document(document["options"]),
            "report": PlanReport.from_document(document["report"]),
            "items": tuple(PlanItem.from_document(entry) for entry in document["items"]),
        }
        return cls(**{**document, **read})


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """One line of the list of plans. ``archived`` and ``skipped`` count what became of its items."""

    id: int
    state: PlanState
    created_at: datetime
    applied_at: datetime | None
    undone_at: datetime | None
    planned: int
    kept_back: int
    archived: int
    skipped: int


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What became of one item; ``note`` says why it was skipped."""

    id: int
    outcome: ItemOutcome
    note: str | None


@dataclass(frozen=True, slots=True)
class PruneOutcome:
    """What applying a plan did, item by item in the plan's order."""

    plan: int
    results: tuple[PruneResult, ...]

    @property
    def archived(self) -> tuple[int, ...]:
        """The ids of what was archived."""
        return tuple(result.id for result in self.results if result.outcome == "archived")

    @property
    def skipped(self) -> tuple[PruneResult, ...]:
        """What was left as it is."""
        return tuple(result for result in self.results if result.outcome == "skipped")


@dataclass(frozen=True, slots=True)
class PruneUndone:
    """What undoing a plan did: ``restored`` memories came back, ``back_before`` were back already, by use."""

    plan: int
    restored: int
    back_before: int


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
