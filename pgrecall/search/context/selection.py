"""Selection of hits for a prompt within a token budget, by maximal marginal relevance.

Of the hits that are left, the next to try is the one with the largest (Carbonell and Goldstein, SIGIR 1998)

    lambda * score / best score  -  (1 - lambda) * similarity to the nearest memory chosen

where a similarity below 0 counts as 0. Scores are divided by the best one, so that lambda means the same for
a weak query as for a strong one. A hit is shown whole or left out: because it nearly repeats a chosen memory,
it is hardly relevant, its layer is full, or it exceeds the budget. The best hit is shown whatever its
relevance, and truncated if it exceeds the budget: an answer is worth more than what would fit next to it.

Instructions and preferences have a block of their own before the other memories, and so has what changed
lately. Each has at most its share of the budget, and what it leaves is for the memories that answer: these
are left out, or cut, before a higher block gives up a memory.

A summary and a memory that it is derived from are never both shown: the one that is tried first is, unless
the source changed after the summary; then the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pgrecall.nouns.context.models import (
    DIRECTIVE_SHARE,
    ContextBlock,
    ContextRequest,
    ContextSource,
    LeftOut,
    Reason,
)
from pgrecall.nouns.links.models import Derivation
from pgrecall.nouns.search.models import Hit
from pgrecall.search.context.budget import ContextBudget
from pgrecall.search.context.derivations import (
    Likeness,
    changed_sources,
    notes_on_summaries,
    summaries_of_pairs,
)
from pgrecall.search.context.similarity import Pairs, adds_details

Successors = Mapping[int, Sequence[int]]
"""The ids of the memories that supersede a memory, the newest last."""


def select_memories(
    hits: Sequence[Hit],
    request: ContextRequest,
    *,
    similarities: Pairs | None = None,
    successors: Successors | None = None,
    derived: Sequence[Derivation] = (),
    lately: Sequence[Hit] = (),
) -> ContextBlock:
    """Selects hits and renders them. Their order does not matter: ties go to the smaller id.

    Args:
        similarities: cosines between hits; a pair that is missing counts as 0.
        successors: the memories that supersede a hit; of a chain only the newest hit can be chosen.
        derived: the sources of the hits that are summaries.
        lately: what changed lately, newest first, for a block of its own; hits may be among them.

    Raises:
        InvalidInput: the token counter returned something that is not a count.
    """
    ranked = sorted(hits, key=lambda hit: (-hit.score, hit.id))
    replaced = {old: newer for old, newer in (successors or {}).items() if newer}
    outdated = _outdated(ranked)
    left_out = _excluded(ranked, request)
    if not request.both_sides:
        left_out |= outdated | _superseded(ranked, replaced)
    left_out |= _stale([hit for hit in ranked if hit.id not in left_out], derived)
    earlier = {
        hit.newer_version: hit.happened_at for hit in ranked if hit.newer_version and hit.id in outdated
    }
    budget = ContextBudget(
        request, {old: newer[-1] for old, newer in replaced.items()}, earlier, notes_on_summaries(derived)
    )
    alike = Likeness(similarities or {}, summaries_of_pairs(derived))
    there = [hit for hit in ranked if hit.id not in left_out]
    left_out |= _add_directives(budget, there, request, alike)
    _add_lately(budget, [hit for hit in lately if hit.id not in left_out], request, alike)
    known = {entry.hit.id for entry in budget.shown}
    there = [hit for hit in there if not hit.is_directive and hit.id not in known]
    excluded = [hit for hit in ranked if hit.id in left_out and left_out[hit.id].reason == "excluded"]
    skipped = _add_best(budget, there, request, alike, excluded)
    left_out |= _add_by_relevance(budget, there, request, alike)
    if not budget.shown:
        skipped = _truncate_another(budget, ranked, left_out, request.budget_tokens)
    shown = {entry.hit.id for entry in budget.shown}
    return ContextBlock(
        text=budget.text,
        tokens=budget.tokens,
        sources=tuple(
            ContextSource(
                number, entry.hit.id, entry.hit.key, entry.hit.title, entry.cut is not None, entry.hit.tenant
            )
            for number, entry in enumerate(budget.shown, 1)
        ),
        left_out=tuple(left_out[hit.id] for hit in ranked if hit.id not in shown),
        hits=tuple(entry.hit for entry in budget.shown),
        skipped=skipped,
    )


def _outdated(ranked: Sequence[Hit]) -> dict[int, LeftOut]:
    """The hits that a later hit states with another value."""
    there = {hit.id for hit in ranked}
    return {
        hit.id: _left(hit, "superseded", f"id {hit.newer_version} is newer", hit.newer_version)
        for hit in ranked
        if hit.newer_version in there
    }


def _stale(there: Sequence[Hit], derived: Sequence[Derivation]) -> dict[int, LeftOut]:
    """The summaries with a source among the hits that changed after them."""
    changed = changed_sources(there, derived)
    return {
        hit.id: _left(hit, "derived", f"its source id {changed[hit.id]} changed after it", changed[hit.id])
        for hit in there
        if hit.id in changed
    }


def _excluded(ranked: Sequence[Hit], request: ContextRequest) -> dict[int, LeftOut]:
    """The hits that the caller leaves out."""
    if request.exclude is None:
        return {}
    return {
        hit.id: _left(hit, "excluded", "left out by the caller") for hit in ranked if request.exclude(hit)
    }


def _add_directives(
    budget: ContextBudget, ranked: Sequence[Hit], request: ContextRequest, alike: Likeness
) -> dict[int, LeftOut]:
    """Shows instructions and preferences, the best first, in their share of the budget."""
    left_out: dict[int, LeftOut] = {}
    chosen: list[Hit] = []
    part = DIRECTIVE_SHARE if request.directive_share is None else request.directive_share
    share = int(request.budget_tokens * part)
    for hit in ranked:
        if not hit.is_directive:
            continue
        problem = _rejection(hit, chosen, request, alike)
        left = share - budget.tokens
        if problem is None and (needed := budget.add_directive(hit, share)) > left:
            detail = f"over budget: it needs {needed:,} tokens, {max(left, 0):,} were left for directives"
            problem = _left(hit, "over_budget", detail)
        if problem is not None:
            left_out[hit.id] = problem
        else:
            chosen.append(hit)
    return left_out


def _add_lately(
    budget: ContextBudget, lately: Sequence[Hit], request: ContextRequest, alike: Likeness
) -> None:
    """Shows what changed lately in its share of the budget, newest first."""
    limit = budget.tokens + int(request.budget_tokens * (request.state_share or 0))
    for hit in lately:
        if hit.id in _excluded([hit], request):
            continue
        if _repetition(hit, [entry.hit for entry in budget.shown], request, alike) is None:
            budget.add_whole(hit, limit=min(limit, request.budget_tokens), lately=True)


def _superseded(ranked: Sequence[Hit], replaced: Successors) -> dict[int, LeftOut]:
    """The hits that another hit supersedes."""
    there = {hit.id for hit in ranked}
    left_out = {}
    for hit in ranked:
        if newer := [one for one in replaced.get(hit.id, ()) if one in there]:
            left_out[hit.id] = _left(hit, "superseded", f"superseded by id {newer[-1]}", newer[-1])
    return left_out


def _add_best(
    budget: ContextBudget,
    ranked: Sequence[Hit],
    request: ContextRequest,
    alike: Likeness,
    excluded: Sequence[Hit],
) -> tuple[str, ...]:
    """Shows the best hit, cut if it does not fit whole; returns a note on it."""
    if not ranked or request.per_layer.get(ranked[0].layer) == 0:
        return ()
    if excluded and excluded[0].score > ranked[0].score and ranked[0].relevance < request.min_relevance:
        return ()  # the caller has the answer; the best of the rest is none
    if alike.told_by(ranked[0], [entry.hit for entry in budget.shown]):  # of a directive
        return ()
    budget.add_whole(ranked[0])
    if not budget.shown and (unit := budget.add_beginning(ranked[0])):
        return (_cut(ranked[0], request.budget_tokens, unit),)
    return ()


def _cut(hit: Hit, limit: int, unit: str) -> str:
    return f"whole memories: id {hit.id} does not fit into {limit:,} tokens, so it was cut after a {unit}"


def _add_by_relevance(
    budget: ContextBudget, ranked: Sequence[Hit], request: ContextRequest, alike: Likeness
) -> dict[int, LeftOut]:
    """Tries every other hit once, in order of marginal relevance; returns those left out, with reasons."""
    left_out: dict[int, LeftOut] = {}
    chosen = [entry.hit for entry in budget.shown]
    relevance = _shares_of_best(ranked)
    nearest = {number: max([0.0, *(alike.cosine(number, one.id) for one in chosen)]) for number in relevance}
    waiting = [hit for hit in ranked if hit not in chosen]
    while waiting:
        gains = [
            request.mmr_lambda * relevance[hit.id] - (1 - request.mmr_lambda) * nearest[hit.id]
            for hit in waiting
        ]
        hit = waiting.pop(gains.index(max(gains)))
        problem = _rejection(hit, chosen, request, alike) or _too_large(hit, budget)
        if problem is not None:
            left_out[hit.id] = problem
            continue
        chosen.append(hit)
        for other in waiting:
            nearest[other.id] = max(nearest[other.id], alike.cosine(hit.id, other.id))
    return left_out


def _shares_of_best(ranked: Sequence[Hit]) -> dict[int, float]:
    best = ranked[0].score if ranked else 0.0
    return {hit.id: hit.score / best if best > 0 else 0.0 for hit in ranked}


def _rejection(hit: Hit, chosen: Sequence[Hit], request: ContextRequest, alike: Likeness) -> LeftOut | None:
    """Why a hit is left out regardless of the budget: it is told, hardly relevant, or over its quota."""
    if (told := _repetition(hit, chosen, request, alike)) is not None:
        return told
    if hit.relevance < request.min_relevance:
        return _left(hit, "irrelevant", f"relevance {hit.relevance:.2f} is below {request.min_relevance:g}")
    quota = request.per_layer.get(hit.layer)
    if quota is not None and sum(other.layer == hit.layer for other in chosen) >= quota:
        return _left(hit, "quota", f"quota: at most {quota} of the layer {hit.layer}")
    return None


def _repetition(hit: Hit, chosen: Sequence[Hit], request: ContextRequest, alike: Likeness) -> LeftOut | None:
    """Which chosen memory says what a hit says: a near-duplicate, or its summary or source."""
    if told := alike.told_by(hit, chosen):
        return _left(hit, "derived", told[1], told[0])
    likeness = {other.id: alike.cosine(hit.id, other.id) for other in chosen}
    repeated = [
        other
        for other in chosen
        if likeness[other.id] >= request.duplicate_at and not adds_details(hit, other)
    ]
    if repeated:
        like = max(repeated, key=lambda other: (likeness[other.id], -other.id)).id
        return _left(hit, "near_duplicate", f"near-duplicate of id {like} ({likeness[like]:.2f})", like)
    return None


def _too_large(hit: Hit, budget: ContextBudget) -> LeftOut | None:
    left = budget.left
    needed = budget.add_whole(hit)
    if needed <= left:
        return None
    return _left(hit, "over_budget", f"over budget: it needs {needed:,} tokens, {left:,} were left")


def _truncate_another(
    budget: ContextBudget, ranked: Sequence[Hit], left_out: Mapping[int, LeftOut], limit: int
) -> tuple[str, ...]:
    """Shows the beginning of the best hit whose beginning fits, if nothing else does; returns a note."""
    unfit = [hit for hit in ranked if left_out[hit.id].reason == "over_budget"]
    for hit in unfit:
        if hit.is_directive:
            budget.add_directive(hit, limit)
            if budget.shown:
                return ()
        elif unit := budget.add_beginning(hit):
            return (_cut(hit, limit, unit),)
    return (f"the text: not even the beginning of a memory fits into {limit:,} tokens",) if unfit else ()


def _left(hit: Hit, reason: Reason, detail: str, other: int | None = None) -> LeftOut:
    return LeftOut(hit.id, hit.key, hit.title, reason, other, detail)
