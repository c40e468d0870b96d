"""Dedupe plans, converted from the document that ``recall.get_plan`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.nouns.conversion import read_document
from pgrecall.nouns.history.models import DiffRun
from pgrecall.nouns.plans.prune import PlanState

DedupeItemOutcome = Literal["kept", "merged", "skipped"]
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DedupeOptions:
    """The options of a plan. ``min_similarity`` is 0 to 1; ``layers`` None means all. ``chosen``: a person
    named the memories; no search for duplicates found them."""

    min_similarity: float
    max_count: int
    layers: tuple[str, ...] | None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class _DedupeItem:
    id: int
    key: str | None
    layer: str
    title: str
    vitality: float
    length: int
    updated_at: datetime
    reason: str
    outcome: DedupeItemOutcome | None
    note: str | None


@dataclass(frozen=True, slots=True)
class DedupeKeeper(_DedupeItem):
    """The memory of a cluster that stays, and the reason in one sentence. ``length`` is in characters."""


@dataclass(frozen=True, slots=True)
class DedupeMember(_DedupeItem):
    """A memory that is merged into the keeper of its cluster.

    ``similarity`` is the cosine of the vectors, None without vectors; ``difference`` is the word-by-word
    difference from its text to that of the keeper. ``note`` is the reason why it was skipped.
    """

    similarity: float | None
    difference: tuple[DiffRun, ...]


@dataclass(frozen=True, slots=True)
class DedupeMoves:
    """What merging a cluster gives its keeper: logged accesses, and links, tags and aliases that it lacks."""

    accesses: int
    links: int
    tags: tuple[str, ...]
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DedupeCluster:
    """Memories with the same content: the keeper, and those that are merged into it."""

    cluster: int
    keeper: DedupeKeeper
    moves: DedupeMoves
    members: tuple[DedupeMember, ...]


@dataclass(frozen=True, slots=True)
class ProposedContradiction:
    """Two memories that differ only in a number, a date, a negation or a small word that changes the meaning.

    A proposal: a person links them, as with ``pgrecall link SRC DST --relation contradicts``.
    """

    src: int
    dst: int
    reason: str
    similarity: float | None
    src_title: str
    src_key: str | None
    dst_title: str
    dst_key: str | None


@dataclass(frozen=True, slots=True)
class DedupeReport:
    """The findings: of ``live`` memories, ``uncompared`` are not compared yet. Of the ``found`` duplicates,
    ``capped`` exceed the limit, and ``planned`` are merged into the keepers of ``clusters``."""

    live: int
    uncompared: int
    found: int
    planned: int
    capped: int
    clusters: int
    contradictions: tuple[ProposedContradiction, ...]


@dataclass(frozen=True, slots=True)
class DedupePlan:
    """A stored plan. ``clusters`` may be one page of all ``report.clusters``, in their order.

    Differences compare the first ``compared_characters`` of each text: 20,000, and fewer if a page merges
    more than 50 memories.
    """

    id: int
    kind: Literal["dedupe"]
    state: PlanState
    created_at: datetime
    applied_at: datetime | None
    undone_at: datetime | None
    options: DedupeOptions
    report: DedupeReport
    clusters: tuple[DedupeCluster, ...]
    compared_characters: int = 20_000

    @classmethod
    def from_document(cls, document: Document) -> DedupePlan:
        """Converts the result of ``recall.get_plan``, as in ``pgrecall plan show --json``."""
        return read_document(cls, document)
