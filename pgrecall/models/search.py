"""A question, and what answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pgrecall.models.memories import Role

VitalityMode = Literal["odds", "multiply", "bounded", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """Which memories a search or a list is about. The SQL type ``recall.search_filter`` has the same fields.

    Attributes:
        layers, roles, authors, sources: only memories with one of these.
        tags: only memories with all of these.
        metadata: only memories whose metadata contain this JSON object, nested values included.
        hints: terms that a memory must hold.
        since, until: when it happened, the end excluded. A search without words returns all of this time.
        include_archived: also archived and forgotten memories.
        include_superseded: also memories that a newer one replaces.
        include_invalid: also memories that are not valid yet, or no longer.
        as_of: a moment before ``now``: what was known then, ranked as it was then.
    """

    layers: tuple[str, ...] | None = None
    roles: tuple[str, ...] | None = None
    authors: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    hints: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    include_archived: bool = False
    include_superseded: bool = False
    include_invalid: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest(SearchFilter):
    """A search: a query, the filter of its answers, and how they are ranked.

    Attributes:
        query: the question; it may be empty where ``queries``, a window of time or ``cues`` ask instead.
        k: how many hits at most.
        queries: sub-queries, searched together; a memory counts by the one it answers best.
        cues: memories, by id or key, whose associates come to mind; with ``session_id`` also those the
            session used last.
        min_relevance: leave out what answers with less than this probability.
        now: another moment to rank what is known today at; None is the database's clock.
        profile: which coefficients and weights; None is that of the only layer asked for, else balanced.
        weights: how much an arm counts, 0 to 10, by its name: semantic, lexical, name, author, cue, graph.
        vitality_mode: None is the profile's, else ``odds``.
        vitality_weight: None is the profile's, else the tenant's setting (0.5).
        explain: whether each hit says why it stands where it does.
        rerank: whether a reranker rereads the best candidates, for ``deadline`` seconds at most.
        deadline: seconds a reranker may take; None is as configured.
        session_id: the session this is part of.
        log: whether each hit is logged as shown, which makes it a little livelier.
    """

    query: str = ""
    k: int = 10
    min_relevance: float = 0.0
    vitality_mode: VitalityMode | None = None
    vitality_weight: float | None = None
    explain: bool = True
    now: datetime | None = None
    queries: tuple[str, ...] | None = None
    cues: tuple[int | str, ...] | None = None
    profile: str | None = None
    weights: Mapping[str, float] | None = None
    rerank: bool = False
    deadline: float | None = None
    session_id: str | None = None
    log: bool = True

    @property
    def logged(self) -> bool:
        """Whether what is shown is logged: never for a question about another moment than this one."""
        return self.log and self.now is None and self.as_of is None

    @property
    def asked(self) -> tuple[str, ...]:
        """The question and its sub-queries, as one list."""
        return ((self.query,) if self.query.strip() else ()) + tuple(self.queries or ())


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a reranker made of a hit: its place before (from 1) and the reranker's logit."""

    original_rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer.

    Attributes:
        happened_at: when it happened; when it was stored, where nobody said.
        score: relevance and vitality in one, as a probability; the order of the hits.
        relevance: the probability that it answers the question.
        vitality: how alive its use keeps it at this moment, 0 to 1.
        zone: active, stale, fading or archived, by its vitality.
        rank: its place, from 1.
        superseded_by: the memory that replaces this one.
        supersedes: the memories that this one replaces.
        contradicts: the memories it is linked with as contradicting, either way.
        explanation: why it stands where it does; empty unless the request asked for it.
        reranked: what a reranker made of it; None where none read it.
    """

    id: int
    key: str | None
    layer: str
    title: str
    body: str
    role: Role | None
    author: str | None
    tags: tuple[str, ...]
    happened_at: datetime
    score: float
    relevance: float
    vitality: float
    zone: str
    rank: int
    superseded_by: int | None = None
    supersedes: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    archived_at: datetime | None = None
    explanation: Mapping[str, Any] = field(default_factory=dict)
    reranked: Reranked | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit on its way to a reranker: the log-odds of its fused relevance, B less the median B of its layer,
    and whether vitality is left out since it was asked for by name."""

    hit: Hit
    logit: float
    liveliness: float
    exempt: bool


@dataclass(frozen=True, slots=True)
class Weighing:
    """How relevance and vitality make a score, and how a reranker's logit and the fused one make a relevance:
    logit(p) = intercept + rerank * r + fused * logit(p_fused)."""

    mode: VitalityMode
    weight: float
    intercept: float = 0.0
    rerank: float = 0.0
    fused: float = 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """What the database found: hits in their order, what each arm found, and what did not run.

    ``search_id`` names the logged search; ``candidates`` and ``weighing`` are for a reranker.
    """

    hits: tuple[Hit, ...]
    arms: Mapping[str, int]
    skipped: tuple[str, ...]
    search_id: int | None = None
    candidates: tuple[Candidate, ...] = ()
    weighing: Weighing | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and what was left out on the way; ``no_match`` when nothing was good enough.

    Attributes:
        names: the known names that were taken out of the embedded question.
        skipped: which steps did not run, in a sentence each.
        search_id: names a logged search for ``used`` and ``rejected``.
        arms: how many memories each arm found.
        timings: milliseconds by phase.
    """

    hits: tuple[Hit, ...]
    names: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    search_id: int | None = None
    arms: Mapping[str, int] = field(default_factory=dict)
    reranked: bool = False
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def no_match(self) -> bool:
        return not self.hits
