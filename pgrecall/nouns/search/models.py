"""Search requests, filters, hits and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pgrecall.nouns.memories.models import DIRECTIVES, Role, SpeechAct
from pgrecall.nouns.search.plan import ModelUse, SearchPlan

VitalityMode = Literal["odds", "unbounded", "multiply", "bounded", "off"]


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """A turn of the conversation that a query belongs to.

    Attributes:
        role, content: who said it (user, assistant, system or tool), and what was said.
        at: when it was said, by which "yesterday" in it is understood; None is now.
    """

    role: Role
    content: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """Restricts a search or a list. The SQL type ``recall.search_filter`` has the same fields.

    Attributes:
        layers, roles, authors, sources: only memories with one of these values.
        speech_acts: only memories that say one of these: statement, question, acknowledgement, instruction,
            preference, change.
        tags: only memories with all of these tags.
        metadata: only memories with metadata that contain this JSON object, nested values included.
        hints: only memories that contain all of these terms.
        since, until: only memories of this period, excluding its end; a search without a query returns all.
        include_archived: include archived and forgotten memories.
        include_superseded: include memories that a newer one replaces.
        include_invalid: include memories that are not valid yet or no longer.
        as_of: a past time; searches what had happened by then (by ``occurred_at``, not the time of storing)
            and was not archived or replaced yet. Texts and vitality are those of then, but memories are found
            by the texts of today.
    """

    layers: Sequence[str] | None = None
    roles: Sequence[str] | None = None
    authors: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    sources: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    hints: Sequence[str] | None = None
    speech_acts: Sequence[SpeechAct] | None = None
    since: datetime | None = None
    until: datetime | None = None
    include_archived: bool = False
    include_superseded: bool = False
    include_invalid: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest(SearchFilter):
    """A search: a query, filters, and options for the ranking.

    Attributes:
        query: the text to search for; may be empty with ``queries``, ``cues`` or a period.
        k: maximum number of hits.
        queries: sub-queries, searched together; a memory counts by the query it answers best.
        conversation: the last turns before the query, oldest first, at most 100. A query that refers to them
            is completed by them, memories that they name are weak cues, and those with the text of a turn are
            left out. Mappings with ``role``, ``content`` and ``at`` do too.
        cues: memories, by id or key, from which activation spreads; with ``session_id`` also the
            latest of that session.
        min_relevance: leaves out hits of lower relevance, 0 to 1.
        require_answer: returns no hits if probably none answers the query: if the confidence is below the
            setting ``search.min_confidence``.
        now: time to use for ranking instead of the database's clock.
        profile: coefficients and weights; None is the profile of the only layer in ``layers``, else balanced.
        weights: weight of each arm, 0 to 10: semantic, lexical, name, author, cue, graph, period.
        vitality_mode: how vitality changes the score; None is the profile's mode, else ``odds``.
        vitality_weight: weight of vitality; None is the profile's, else the tenant's setting (0.5).
        explain: whether hits have an explanation of their rank.
        plan: whether the configured language model plans the search: what it needs, sub-queries, a period;
            None is PGRECALL_SEARCH_PLAN.
        rerank: whether a reranker scores the best candidates again; None is PGRECALL_SEARCH_RERANK.
        deadline: maximum number of seconds for the reranker; None is the configured limit.
        session_id: session of the search.
        project, project_only: the project that it is asked in, and whether memories of others are left out;
            otherwise their odds are divided by 8.
        log: whether hits are logged as shown, which counts a tenth of an access each.
    """

    query: str = ""
    k: int = 10
    min_relevance: float = 0.0
    require_answer: bool = False
    vitality_mode: VitalityMode | None = None
    vitality_weight: float | None = None
    explain: bool = True
    now: datetime | None = None
    queries: Sequence[str] | None = None
    conversation: Sequence[ConversationTurn] | None = None
    cues: tuple[int | str, ...] | None = None
    profile: str | None = None
    weights: Mapping[str, float] | None = None
    plan: bool | None = None
    rerank: bool | None = None
    deadline: float | None = None
    session_id: str | None = None
    project: str | None = None
    project_only: bool = False
    log: bool = True

    @property
    def logged(self) -> bool:
        """Whether hits are logged as shown; False for a search at another time."""
        return self.log and self.now is None and self.as_of is None

    @property
    def asked(self) -> tuple[str, ...]:
        """The query and its sub-queries."""
        return ((self.query,) if self.query.strip() else ()) + tuple(self.queries or ())


@dataclass(frozen=True, slots=True)
class Reranked:
    """A reranked hit's rank before reranking (from 1) and the reranker's logit."""

    original_rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a long memory: the ``text`` from ``start`` to ``end``, in characters of the body from 0."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that a search found.

    Attributes:
        happened_at: time of the event, or of storing if no time was given.
        score: relevance and vitality combined, as a probability; hits are in its order.
        relevance: probability that it answers the query.
        vitality, zone: its vitality at the time of the search, 0 to 1, and its zone by it.
        rank: its rank, from 1.
        superseded_by, supersedes, contradicts: what replaces it, what it replaces, what contradicts it.
        explanation: the terms of its score; empty without ``explain``.
        reranked: result of the reranker; None if it did not read this hit.
        passage: of a long memory, the passage that is nearest to the query; None if it has none.
        speech_act: what it says; None until it is found out.
        newer_version: a later hit that states the same with another value.
        tenant: the shared tenant that it lives in; None in the own one.
        directive: of a long instruction or preference, the sentence that makes it one.
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
    passage: Passage | None = None
    speech_act: SpeechAct | None = None
    newer_version: int | None = None
    tenant: str | None = None
    directive: str | None = None

    @property
    def is_directive(self) -> bool:
        """Whether it is an instruction or a preference of the own tenant, which agents heed."""
        return self.tenant is None and self.speech_act in DIRECTIVES


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first; ``no_match`` if there are none.

    Attributes:
        confidence: probability that any candidate answers the query, 0 to 1; None for a search without words.
        answered: whether there are hits, and the confidence reaches the setting ``search.min_confidence``.
        names: known names that were removed from the query before embedding.
        skipped: a sentence for each step that did not run.
        search_id: id of the logged search, for ``used`` and ``rejected``.
        arms: number of judged memories that each arm found.
        timings: milliseconds by phase.
        staleness: seconds of changes that a replica's answer lacks at most; None if the primary answered.
        needs_context: whether the query makes sense only with its conversation; then the confidence is 0.
        completed_query: the query with the turns that it refers to, if that was searched instead.
        plan: the plan of the language model; None without one.
        model_use: how much the language model was asked; None if it was not.
    """

    hits: tuple[Hit, ...]
    names: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    search_id: int | None = None
    arms: Mapping[str, int] = field(default_factory=dict)
    reranked: bool = False
    timings: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    answered: bool = True
    staleness: float | None = None
    needs_context: bool = False
    completed_query: str | None = None
    plan: SearchPlan | None = None
    model_use: ModelUse | None = None

    @property
    def no_match(self) -> bool:
        """Whether there are no hits."""
        return not self.hits
