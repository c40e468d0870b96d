"""Plans of each kind, their summaries, and what applying or undoing one did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, Literal

from pgrecall.nouns.plans.dedupe import DedupePlan
from pgrecall.nouns.plans.prune import PlanState, PrunePlan
from pgrecall.nouns.plans.redact import RedactPlan

PlanKind = Literal["prune", "dedupe", "redact"]
ItemOutcome = Literal["archived", "kept", "merged", "redacted", "skipped"]

Plan = PrunePlan | DedupePlan | RedactPlan
"""A stored plan; ``kind`` tells which."""


def read_plan(document: Mapping[str, Any]) -> Plan:
    """Converts the result of ``recall.get_plan``."""
    kinds: Mapping[str, type[Plan]] = {"prune": PrunePlan, "dedupe": DedupePlan, "redact": RedactPlan}
    return kinds[document["kind"]].from_document(document)


def joined(pages: Sequence[Plan]) -> Plan:
    """One plan with the items or clusters of all these pages of it."""
    first = pages[0]
    if isinstance(first, PrunePlan):
        parts = (page.items for page in pages if isinstance(page, PrunePlan))
        return replace(first, items=tuple(chain.from_iterable(parts)))
    if isinstance(first, RedactPlan):
        found = (page.items for page in pages if isinstance(page, RedactPlan))
        return replace(first, items=tuple(chain.from_iterable(found)))
    clusters = (page.clusters for page in pages if isinstance(page, DedupePlan))
    return replace(first, clusters=tuple(chain.from_iterable(clusters)))


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A row of the list of plans.

    ``planned`` counts the memories to change, ``archived`` and ``skipped`` what became of them; a merged or
    redacted memory counts as archived. A prune plan has ``kept_back``, the number of candidates that stay. A
    dedupe plan has the number of its ``clusters``, and of the ``contradictions`` that it proposes.
    """

    id: int
    kind: PlanKind
    state: PlanState
    created_at: datetime
    applied_at: datetime | None
    undone_at: datetime | None
    planned: int
    archived: int
    skipped: int
    kept_back: int | None
    clusters: int | None
    contradictions: int | None


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The outcome of a memory of a plan; ``note`` is the reason why it was skipped."""

    id: int
    outcome: ItemOutcome
    note: str | None


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """The outcome of applying a plan, by memory in the order of the plan; each keeper comes first."""

    plan: int
    results: tuple[PlanResult, ...]

    @property
    def archived(self) -> tuple[int, ...]:
        """The ids of the archived memories, with those that were merged into a keeper."""
        return tuple(result.id for result in self.results if result.outcome in ("archived", "merged"))

    @property
    def redacted(self) -> tuple[int, ...]:
        """The ids of the memories whose secrets were replaced."""
        return tuple(result.id for result in self.results if result.outcome == "redacted")

    @property
    def skipped(self) -> tuple[PlanResult, ...]:
        """The memories that were skipped."""
        return tuple(result for result in self.results if result.outcome == "skipped")


@dataclass(frozen=True, slots=True)
class PlanUndone:
    """The outcome of undoing a plan: ``restored`` memories, and ``back_before`` that were already back, or
    of a redact plan were changed since."""

    plan: int
    restored: int
    back_before: int
