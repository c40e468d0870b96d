"""What a plan changes in a search and in a context: one table of needs, and where it is applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from pgrecall.nouns.context.models import VARIED, ContextRequest
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.plan import Need, SearchPlan

_ADVICE_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class NeedEffect:
    """When a query has a need, and what follows.

    Attributes:
        when: a clause that the language model reads.
        effect: what is done, for people.
        judge: what the language model is told when it judges memories.
        search, context: fields of a :class:`SearchRequest` and of a :class:`ContextRequest`, where the caller
            left them as they are.
    """

    when: str
    effect: str
    judge: str
    search: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)


NEEDS: Mapping[Need, NeedEffect] = {
    "ambiguity": NeedEffect(
        "it can mean several things",
        "a context prefers memories that differ, so that each reading is there",
        "Judge a memory by the reading that it fits best.",
        context={"mmr_lambda": VARIED},
    ),
    "contradiction": NeedEffect(
        "it compares what was said at different times, or asks what changed",
        "replaced and invalid memories are searched too, and a context shows both sides",
        "The older and the newer statement both apply.",
        search={"include_superseded": True, "include_invalid": True},
        context={"both_sides": True, "duplicate_at": 1.0},
    ),
    "follow_up_failure": NeedEffect(
        "something that the assistant advised did not work",
        "the last turn of the assistant is searched too, and links count double, for earlier advice and what "
        "was said after it",
        "Earlier advice applies, and what became of it.",
        search={"weights": {"graph": 2.0}},
    ),
    "loop": NeedEffect(
        "the conversation goes in circles",
        "use does not count, and a context prefers memories that differ: others than before",
        "What was not said in the conversation yet applies more.",
        search={"vitality_mode": "off"},
        context={"mmr_lambda": VARIED},
    ),
    "high_stakes": NeedEffect(
        "a wrong memory could harm health, safety, money or rights",
        "the reranker reads the candidates, and nothing is returned if probably nothing answers",
        "Where you are in doubt, judge lower.",
        search={"rerank": True, "require_answer": True},
    ),
    "mode_shift": NeedEffect(
        "it begins another topic or task than the turns before",
        "it is searched without its conversation",
        "The conversation does not matter.",
    ),
    "frustration": NeedEffect(
        "the user is annoyed, or corrects the assistant",
        "instructions and preferences get up to two fifths of a context",
        "Instructions and preferences of the user apply more.",
        context={"directive_share": 0.4},
    ),
    "sensitive_context": NeedEffect(
        "it touches health, grief, faith or secrets",
        "memories with a relevance below .1 are left out",
        "Only what clearly applies applies.",
        search={"min_relevance": 0.1},  # .3 loses an eighth and more of what answers
        context={"min_relevance": 0.1},
    ),
    "under_specified": NeedEffect(
        "it lacks what an answer would need",
        "what changed lately gets up to a tenth of a context",
        "What tells of the present state applies more.",
        context={"state_share": 0.1},
    ),
}

R = TypeVar("R", SearchRequest, ContextRequest)


def with_plan(request: SearchRequest, plan: SearchPlan, *, narrow: bool = True) -> SearchRequest:
    """The request with a plan; without its roles and its period if it shall not ``narrow``."""
    changes: dict[str, Any] = {}
    if not request.queries:
        changes["queries"] = (*plan.queries, *_advice(request, plan)) or None
    if "mode_shift" in plan.needs:
        changes["conversation"] = None
    if narrow and plan.roles and not request.roles:
        changes["roles"] = plan.roles
    if narrow and request.since is None and request.until is None:
        changes |= {"since": plan.since, "until": plan.until}
    effects = _effects(request, [NEEDS[need].search for need in plan.needs])
    return replace(request, **changes, **effects)


def context_with_plan(request: ContextRequest, plan: SearchPlan) -> ContextRequest:
    """The request for a context with what a plan needs."""
    effects = [NEEDS[need].context for need in plan.needs]
    if plan.wants == "list":
        effects.append({"mmr_lambda": VARIED})
    return replace(request, **_effects(request, effects))


def _effects(request: R, effects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """These effects on fields that have their defaults: what a caller gives comes first."""
    free = {f.name for f in fields(request) if getattr(request, f.name) == f.default}
    return {name: value for effect in effects for name, value in effect.items() if name in free}


def _advice(request: SearchRequest, plan: SearchPlan) -> tuple[str, ...]:
    """The last turn of the assistant, if what it advised did not work."""
    said = [turn.content for turn in request.conversation or () if turn.role == "assistant"]
    return (said[-1][:_ADVICE_CHARACTERS],) if said and "follow_up_failure" in plan.needs else ()
