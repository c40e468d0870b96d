"""Which of a search's hits go into a prompt: a pure choice under a budget.

Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): of the memories that wait, the next to be
tried is the one with the largest

    lambda * score / best score  -  (1 - lambda) * similarity to the nearest memory chosen

where a similarity below 0 counts as 0. The score is taken as a share of the best one, so that lambda means
the same for a weak question as for a strong one. What is tried is taken whole or left out: it nearly repeats
a chosen memory, its layer is full, or there is no room for it. Only when no memory fits whole is the best
one that can be begun cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pgrecall.models.context import ContextBlock, ContextRequest, ContextSource, LeftOut, Reason
from pgrecall.models.search import Hit
from pgrecall.search.context.budget import Room
from pgrecall.search.context.similarity import Pairs, adds_particulars, pair

Successors = Mapping[int, Sequence[int]]
"""The ids of what replaces a memory, the newest last."""


def compose(
    hits: Sequence[Hit],
    request: ContextRequest,
    *,
    similarities: Pairs | None = None,
    successors: Successors | None = None,
) -> ContextBlock:
    """The block these hits make. The order of the hits does not matter: ties go to the smaller id.

    Args:
        similarities: cosines between hits; a pair that is not there counts as 0.
        successors: what replaces a hit; of a chain only its newest hit can be chosen.

    Raises:
        InvalidInput: the token counter gave something that is no count.
    """
    ranked = sorted(hits, key=lambda hit: (-hit.score, hit.id))
    replaced = {old: newer for old, newer in (successors or {}).items() if newer}
    left_out = _superseded(ranked, replaced)
    room = Room(request, {old: newer[-1] for old, newer in replaced.items()})
    left_out |= _fill(room, [hit for hit in ranked if hit.id not in left_out], request, similarities or {})
    skipped = () if room.shown else _cut(room, ranked, left_out, request.budget_tokens)
    shown = {entry.hit.id for entry in room.shown}
    return ContextBlock(
        text=room.text,
        tokens=room.tokens,
        sources=tuple(
            ContextSource(number, entry.hit.id, entry.hit.key, entry.hit.title, entry.cut is not None)
            for number, entry in enumerate(room.shown, 1)
        ),
        left_out=tuple(left_out[hit.id] for hit in ranked if hit.id not in shown),
        hits=tuple(entry.hit for entry in room.shown),
        skipped=skipped,
    )


def _superseded(ranked: Sequence[Hit], replaced: Successors) -> dict[int, LeftOut]:
    """The hits that another hit replaces."""
    there = {hit.id for hit in ranked}
    left_out = {}
    for hit in ranked:
        if newer := [one for one in replaced.get(hit.id, ()) if one in there]:
            left_out[hit.id] = _left(hit, "superseded", f"superseded by id {newer[-1]}", newer[-1])
    return left_out


def _fill(room: Room, ranked: Sequence[Hit], request: ContextRequest, pairs: Pairs) -> dict[int, LeftOut]:
    """Tries every hit once, that with most marginal relevance first; what was not taken, and why."""
    left_out: dict[int, LeftOut] = {}
    chosen: list[Hit] = []
    worth = _shares_of_best(ranked)
    nearest = dict.fromkeys(worth, 0.0)
    waiting = list(ranked)
    while waiting:
        gains = [
            request.mmr_lambda * worth[hit.id] - (1 - request.mmr_lambda) * nearest[hit.id] for hit in waiting
        ]
        hit = waiting.pop(gains.index(max(gains)))
        problem = _unwanted(hit, chosen, request, pairs) or _too_large(hit, room)
        if problem is not None:
            left_out[hit.id] = problem
            continue
        chosen.append(hit)
        for other in waiting:
            nearest[other.id] = max(nearest[other.id], pairs.get(pair(hit.id, other.id), 0.0))
    return left_out


def _shares_of_best(ranked: Sequence[Hit]) -> dict[int, float]:
    best = ranked[0].score if ranked else 0.0
    return {hit.id: hit.score / best if best > 0 else 0.0 for hit in ranked}


def _unwanted(hit: Hit, chosen: Sequence[Hit], request: ContextRequest, pairs: Pairs) -> LeftOut | None:
    """Why a hit is not wanted beside those that were chosen, however much room there is."""
    likeness = {other.id: pairs.get(pair(hit.id, other.id), 0.0) for other in chosen}
    repeated = [
        other
        for other in chosen
        if likeness[other.id] >= request.duplicate_at and not adds_particulars(hit, other)
    ]
    if repeated:
        like = max(repeated, key=lambda other: (likeness[other.id], -other.id)).id
        return _left(hit, "near_duplicate", f"near-duplicate of id {like} ({likeness[like]:.2f})", like)
    most = request.per_layer.get(hit.layer)
    if most is not None and sum(other.layer == hit.layer for other in chosen) >= most:
        return _left(hit, "quota", f"quota: at most {most} of the layer {hit.layer}")
    return None


def _too_large(hit: Hit, room: Room) -> LeftOut | None:
    left = room.left
    needed = room.take(hit)
    if needed <= left:
        return None
    return _left(hit, "over_budget", f"over budget: it needs {needed:,} tokens, {left:,} were left")


def _cut(room: Room, ranked: Sequence[Hit], left_out: Mapping[int, LeftOut], budget: int) -> tuple[str, ...]:
    """Shows the beginning of the best hit that can be begun, when none fits whole; says so."""
    unfit = [hit for hit in ranked if left_out[hit.id].reason == "over_budget"]
    for hit in unfit:
        if unit := room.take_beginning(hit):
            told = f"none fits into {budget:,} tokens, so id {hit.id} was cut after a {unit}"
            return (f"whole memories: {told}",)
    return (f"the text: not even the beginning of a memory fits into {budget:,} tokens",) if unfit else ()


def _left(hit: Hit, reason: Reason, detail: str, other: int | None = None) -> LeftOut:
    return LeftOut(hit.id, hit.key, hit.title, reason, other, detail)
