"""Types of the client's keyword arguments: fields of drafts, filters, searches and layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from pgrecall.nouns.memories.models import DraftLink, Role, SpeechAct
from pgrecall.nouns.search.models import ConversationTurn, Hit, VitalityMode
from pgrecall.vitality.parameters import Reading


class DraftFields(TypedDict, total=False):
    """The fields of a :class:`Draft` other than its body."""

    title: str
    key: str | None
    layer: str
    role: Role | None
    author: str | None
    context: str
    source: str | None
    session_id: str | None
    tags: Sequence[str]
    aliases: Sequence[str]
    metadata: dict[str, Any]
    occurred_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    expires_at: datetime | None
    pinned: bool
    speech_act: SpeechAct | None
    links: Sequence[DraftLink]


class EditFields(TypedDict, total=False):
    """The fields of a memory that can be edited; None empties one.

    Attributes:
        body: the text.
        title: a short name.
        layer: the kind of memory, which determines how it ages.
        role: role of the speaker.
        author: the person who wrote or spoke it.
        context: additional words to find it by.
        session_id: the conversation or task it belongs to.
        tags: words to filter by.
        aliases: other names for it.
        metadata: any further data, as a JSON object.
        occurred_at: time of the event.
        valid_from, valid_until: period of validity.
        expires_at: time from which searches omit it by default; the job ``expire`` then archives it.
        speech_act: what it says; None: it is found out again.
    """

    body: str | None
    title: str | None
    layer: str
    role: Role | None
    author: str | None
    context: str | None
    session_id: str | None
    tags: tuple[str, ...] | None
    aliases: tuple[str, ...] | None
    metadata: dict[str, Any] | None
    occurred_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    expires_at: datetime | None
    speech_act: SpeechAct | None


class FilterOptions(TypedDict, total=False):
    """The fields of a :class:`SearchFilter`."""

    layers: Sequence[str] | None
    roles: Sequence[str] | None
    authors: Sequence[str] | None
    tags: Sequence[str] | None
    sources: Sequence[str] | None
    metadata: Mapping[str, Any] | None
    hints: Sequence[str] | None
    speech_acts: Sequence[SpeechAct] | None
    since: datetime | None
    until: datetime | None
    include_archived: bool
    include_superseded: bool
    include_invalid: bool
    as_of: datetime | None


class SearchOptions(FilterOptions, total=False):
    """The fields of a :class:`SearchRequest` other than its query."""

    k: int
    min_relevance: float
    require_answer: bool
    vitality_mode: VitalityMode | None
    vitality_weight: float | None
    explain: bool
    now: datetime | None
    queries: Sequence[str] | None
    conversation: Sequence[ConversationTurn] | None
    cues: tuple[int | str, ...] | None
    profile: str | None
    weights: Mapping[str, float] | None
    plan: bool | None
    rerank: bool | None
    deadline: float | None
    session_id: str | None
    project: str | None
    project_only: bool
    log: bool


class ContextOptions(SearchOptions, total=False):
    """The fields of a :class:`SearchRequest` other than its query, and what keeps hits out of a block.

    See :class:`pgrecall.ContextRequest` for what is below.
    """

    min_confidence: float | None
    exclude: Callable[[Hit], bool] | None
    both_sides: bool
    directive_share: float | None
    state_share: float | None


class RankingChange(TypedDict, total=False):
    """The changes of a replay; missing fields stay as they are.

    Attributes:
        weights: weight of each arm, 0 to 10: semantic, lexical, name, author, cue, graph, period.
        vitality_mode: how vitality changes the score.
        vitality_weight: weight of vitality.
        profile: coefficients and weights.
    """

    weights: Mapping[str, float] | None
    vitality_mode: VitalityMode | None
    vitality_weight: float | None
    profile: str | None


class LayerFields(TypedDict, total=False):
    """The parameters of a layer; None keeps the current value.

    Attributes:
        metabolic_rate: how many times faster than at rate 1 the layer fades, 0.001 to 1000.
        reading: whether the rate speeds up the clock or multiplies the exponent.
        base_decay: exponent d of the decay of an access.
        birth_weight: number of accesses that storing counts as, for memories stored from now on.
        active: lowest retention of the zone active.
        stale: lowest retention of the zone stale.
        fading: lowest retention of the zone fading.
        profile: profile of searches that are limited to this layer.
    """

    metabolic_rate: float | None
    reading: Reading | None
    base_decay: float | None
    birth_weight: float | None
    active: float | None
    stale: float | None
    fading: float | None
    profile: str | None
