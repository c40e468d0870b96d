"""Requests for a block of context, and the block that results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pgrecall.nouns.search.models import Hit
from pgrecall.nouns.search.plan import ModelUse, SearchPlan

Order = Literal["score", "time"]
Reason = Literal["superseded", "near_duplicate", "irrelevant", "quota", "over_budget", "excluded", "derived"]

MMR_LAMBDA, VARIED = 0.8, 0.6
"""Weight of the score against difference from memories already chosen: the default, and where the plan of the
search wants a list."""

DIRECTIVE_SHARE = 0.2
"""Of the budget, for instructions and preferences, unless a request or the settings say otherwise."""

MIN_RELEVANCE = 0.05
"""Less relevant memories are filler. Measured on the judged queries of examples/."""


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """Limits and preferences for a block of context.

    Attributes:
        budget_tokens: maximum number of tokens, markers and sources included; 1 to 10,000,000.
        per_layer: maximum number of memories by layer; other layers have no limit.
        order: ``score`` shows the best first, ``time`` the oldest.
        mmr_lambda: weight of the score against difference from memories already chosen; 1 uses only the
            score. Measured on chats: 0.6 to 0.9 makes little difference; 0.5 and less loses answers.
        duplicate_at: cosine, above 0 and at most 1, from which a memory is left out as a near-duplicate of a
            chosen one, unless it adds a number or a name. Measured with MiniLM: paraphrases lie above
            0.93, different statements below 0.88.
        min_relevance: relevance below which a memory is filler, 0 to 1. The best one is shown in any case.
        count_tokens: returns the number of tokens of a text; called at least once for each candidate. None:
            :func:`pgrecall.search.context.rendering.estimate_tokens`.
        min_confidence: confidence below which the block is empty, 0 to 1; None leaves it to
            ``require_answer``, which takes the tenant's setting.
        exclude: whether a hit is left out, as one that the conversation has seen; None leaves none out.
        both_sides: shows what a newer memory replaces beside it.
        directive_share: the most of the budget for instructions and preferences, 0 to 1; None is
            ``PGRECALL_CONTEXT_DIRECTIVES``.
        state_share: the most of it for what changed lately, 0 to 1, whether it answers or not; None is
            ``PGRECALL_CONTEXT_STATE``.
    """

    budget_tokens: int = 2000
    per_layer: Mapping[str, int] = field(default_factory=dict)
    order: Order = "score"
    mmr_lambda: float = MMR_LAMBDA
    duplicate_at: float = 0.92
    min_relevance: float = MIN_RELEVANCE
    count_tokens: Callable[[str], int] | None = None
    min_confidence: float | None = None
    exclude: Callable[[Hit], bool] | None = None
    both_sides: bool = False
    directive_share: float | None = None
    state_share: float | None = None


@dataclass(frozen=True, slots=True)
class ContextSource:
    """The memory that a marker such as ``[1]`` refers to; ``cut`` if only its beginning is shown.

    ``tenant`` is the shared tenant that it lives in, if not the own one.
    """

    number: int
    id: int
    key: str | None
    title: str
    cut: bool = False
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that was found but left out of the block.

    Attributes:
        other: the memory that supersedes it, that it nearly repeats, or that says it: its summary or source.
        detail: the reason in words: ``over budget: it needs 412 tokens, 96 were left``.
    """

    id: int
    key: str | None
    title: str
    reason: Reason
    other: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """Text to put into a prompt, with its sources.

    Attributes:
        text: the text; empty if no memory answers.
        tokens: number of tokens of the text.
        sources: the memory of each marker, in the order shown.
        left_out: memories that were found but are not in the text, best first.
        hits: the memories in the text, in the order shown.
        skipped: a sentence for each step that did not run.
        search_id: id for ``used`` and ``rejected``; None if the search was not logged.
        confidence: that of the search.
        plan: that of the search.
        model_use: that of the search.
    """

    text: str
    tokens: int
    sources: tuple[ContextSource, ...]
    left_out: tuple[LeftOut, ...]
    hits: tuple[Hit, ...]
    skipped: tuple[str, ...] = ()
    search_id: int | None = None
    confidence: float | None = None
    plan: SearchPlan | None = None
    model_use: ModelUse | None = None
