"""Which hits of a search go into a prompt, within a token budget: maximal marginal relevance.

Of the hits that are left, the next to try is the one with the largest (Carbonell and Goldstein, SIGIR 1998)

    lambda * score / best score  -  (1 - lambda) * similarity to the nearest memory chosen

where a similarity below 0 counts as 0. Scores are divided by the best one, so that lambda means the same for
a weak query as for a strong one. A hit is shown whole or left out: because it nearly repeats a chosen memory,
it is hardly relevant, its layer is full, or it exceeds the budget. The best hit is shown whatever its
relevance, and truncated if it exceeds the budget: an answer is worth more than what fits beside it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from pgrecall.errors import InvalidInput
from pgrecall.models.context import ContextBlock, ContextRequest, ContextSource, LeftOut, Order, Reason
from pgrecall.models.search import Hit
from pgrecall.search.context.rendering import (
    Entry,
    estimate_tokens,
    passage_start,
    render,
    sentence_ends,
    word_ends,
)
from pgrecall.search.context.similarity import Pairs, adds_details, pair_key

LARGEST_BUDGET = 10_000_000
MAX_CANDIDATES = 200

_ORDERS: tuple[Order, ...] = get_args(Order)

Successors = Mapping[int, Sequence[int]]
"""The ids of the memories that supersede a memory, the newest last."""


def select_memories(
    hits: Sequence[Hit],
    request: ContextRequest,
    *,
    similarities: Pairs | None = None,
    successors: Successors | None = None,
) -> ContextBlock:
    """Choose which hits to show and render them. Their order does not matter: ties go to the smaller id.

    Args:
        similarities: cosines between hits; a pair that is missing counts as 0.
        successors: the memories that supersede a hit; of a chain only the newest hit can be chosen.

    Raises:
        InvalidInput: the token counter returned something that is no count.
    """
    ranked = sorted(hits, key=lambda hit: (-hit.score, hit.id))
    replaced = {old: newer for old, newer in (successors or {}).items() if newer}
    left_out = _superseded(ranked, replaced)
    budget = ContextBudget(request, {old: newer[-1] for old, newer in replaced.items()})
    there = [hit for hit in ranked if hit.id not in left_out]
    skipped = _add_best(budget, there, request)
    left_out |= _add_by_relevance(budget, there, request, similarities or {})
    if not budget.shown:
        skipped = _truncate_another(budget, ranked, left_out, request.budget_tokens)
    shown = {entry.hit.id for entry in budget.shown}
    return ContextBlock(
        text=budget.text,
        tokens=budget.tokens,
        sources=tuple(
            ContextSource(number, entry.hit.id, entry.hit.key, entry.hit.title, entry.cut is not None)
            for number, entry in enumerate(budget.shown, 1)
        ),
        left_out=tuple(left_out[hit.id] for hit in ranked if hit.id not in shown),
        hits=tuple(entry.hit for entry in budget.shown),
        skipped=skipped,
    )


def _superseded(ranked: Sequence[Hit], replaced: Successors) -> dict[int, LeftOut]:
    """The hits that another hit supersedes."""
    there = {hit.id for hit in ranked}
    left_out = {}
    for hit in ranked:
        if newer := [one for one in replaced.get(hit.id, ()) if one in there]:
            left_out[hit.id] = _left(hit, "superseded", f"superseded by id {newer[-1]}", newer[-1])
    return left_out


def _add_best(budget: ContextBudget, ranked: Sequence[Hit], request: ContextRequest) -> tuple[str, ...]:
    """Show the best hit, cut if it does not fit whole; returns a note on it."""
    if not ranked or request.per_layer.get(ranked[0].layer) == 0:
        return ()
    budget.add_whole(ranked[0])
    if not budget.shown and (unit := budget.add_beginning(ranked[0])):
        return (_cut(ranked[0], request.budget_tokens, unit),)
    return ()


def _cut(hit: Hit, limit: int, unit: str) -> str:
    return f"whole memories: id {hit.id} does not fit into {limit:,} tokens, so it was cut after a {unit}"


def _add_by_relevance(
    budget: ContextBudget, ranked: Sequence[Hit], request: ContextRequest, pairs: Pairs
) -> dict[int, LeftOut]:
    """Try every other hit once, in order of marginal relevance; returns what was left out and why."""
    left_out: dict[int, LeftOut] = {}
    chosen = [entry.hit for entry in budget.shown]
    relevance = _shares_of_best(ranked)
    nearest = {
        number: max([0.0, *(pairs.get(pair_key(number, one.id), 0.0) for one in chosen)])
        for number in relevance
    }
    waiting = [hit for hit in ranked if hit not in chosen]
    while waiting:
        gains = [
            request.mmr_lambda * relevance[hit.id] - (1 - request.mmr_lambda) * nearest[hit.id]
            for hit in waiting
        ]
        hit = waiting.pop(gains.index(max(gains)))
        problem = _rejection(hit, chosen, request, pairs) or _too_large(hit, budget)
        if problem is not None:
            left_out[hit.id] = problem
            continue
        chosen.append(hit)
        for other in waiting:
            nearest[other.id] = max(nearest[other.id], pairs.get(pair_key(hit.id, other.id), 0.0))
    return left_out


def _shares_of_best(ranked: Sequence[Hit]) -> dict[int, float]:
    best = ranked[0].score if ranked else 0.0
    return {hit.id: hit.score / best if best > 0 else 0.0 for hit in ranked}


def _rejection(hit: Hit, chosen: Sequence[Hit], request: ContextRequest, pairs: Pairs) -> LeftOut | None:
    """Why a hit is left out whatever the budget: near-duplicate, hardly relevant, or over its quota."""
    likeness = {other.id: pairs.get(pair_key(hit.id, other.id), 0.0) for other in chosen}
    repeated = [
        other
        for other in chosen
        if likeness[other.id] >= request.duplicate_at and not adds_details(hit, other)
    ]
    if repeated:
        like = max(repeated, key=lambda other: (likeness[other.id], -other.id)).id
        return _left(hit, "near_duplicate", f"near-duplicate of id {like} ({likeness[like]:.2f})", like)
    if hit.relevance < request.min_relevance:
        return _left(hit, "irrelevant", f"relevance {hit.relevance:.2f} is below {request.min_relevance:g}")
    most = request.per_layer.get(hit.layer)
    if most is not None and sum(other.layer == hit.layer for other in chosen) >= most:
        return _left(hit, "quota", f"quota: at most {most} of the layer {hit.layer}")
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
    """Show the beginning of the best hit whose beginning fits, if nothing else does; returns a note on it."""
    unfit = [hit for hit in ranked if left_out[hit.id].reason == "over_budget"]
    for hit in unfit:
        if unit := budget.add_beginning(hit):
            return (_cut(hit, limit, unit),)
    return (f"the text: not even the beginning of a memory fits into {limit:,} tokens",) if unfit else ()


def _left(hit: Hit, reason: Reason, detail: str, other: int | None = None) -> LeftOut:
    return LeftOut(hit.id, hit.key, hit.title, reason, other, detail)


class ContextBudget:
    """A block of context as it grows: the entries shown, their text and its tokens.

    The tokens of the whole text are counted again for each memory that is tried, so that the budget holds
    for any counter, even one that is not additive.
    """

    def __init__(self, request: ContextRequest, newest: Mapping[int, int]) -> None:
        self._request = request
        self._newest = newest
        self._count = request.count_tokens or estimate_tokens
        self.shown: tuple[Entry, ...] = ()
        self.text = ""
        self.tokens = 0

    @property
    def left(self) -> int:
        """Tokens still free."""
        return self._request.budget_tokens - self.tokens

    def add_whole(self, hit: Hit) -> int:
        """Show a memory whole if it fits; returns the tokens it needs."""
        shown, text, tokens = self._with(hit, None)
        needed = tokens - self.tokens
        if needed <= self.left:
            self.shown, self.text, self.tokens = shown, text, tokens
        return needed

    def add_beginning(self, hit: Hit) -> str:
        """Show as much of a memory as fits, from its passage on; returns the unit it is cut after, empty if
        nothing fits."""
        body, start = Entry(hit).body, passage_start(hit)
        for unit, found in (("sentence", sentence_ends(body)), ("word", word_ends(body))):
            ends = [end for end in found if end > start] + ([len(body)] if start else [])
            fitting = bisect_right(ends, 0, key=lambda end: int(self._with(hit, end)[2] > self.left))
            if fitting:
                self.shown, self.text, self.tokens = self._with(hit, ends[fitting - 1])
                return unit
        return ""

    def _with(self, hit: Hit, cut: int | None) -> tuple[tuple[Entry, ...], str, int]:
        entry = Entry(hit, self._newest.get(hit.id), cut)
        shown = tuple(sorted((*self.shown, entry), key=self._place))
        text = render(shown)
        return shown, text, require_count(self._count, text)

    def _place(self, entry: Entry) -> tuple[float, int]:
        hit = entry.hit
        return (-hit.score if self._request.order == "score" else hit.happened_at.timestamp()), hit.id


def require_count(count: Callable[[str], int], text: str) -> int:
    """The token counter's result for a text.

    Raises:
        InvalidInput: it is not a whole number of 0 or more.
    """
    tokens: object = count(text)
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise InvalidInput(
            f"The token counter gave {tokens!r} for a text of {len(text):,} characters.",
            hint="It must give a whole number of tokens, 0 or more.",
        )
    return tokens


def require_valid_request(request: ContextRequest, k: int) -> None:
    """Check a request; ``k`` is the number of memories to choose from.

    Raises:
        InvalidInput: the budget, a quota, the order, a weight, the counter or k is invalid.
    """
    if not _whole(request.budget_tokens, 1, LARGEST_BUDGET):
        raise InvalidInput(
            f"The budget is {request.budget_tokens!r} tokens; it must be a whole number between 1 and "
            f"{LARGEST_BUDGET:,}."
        )
    if not _whole(k, 1, MAX_CANDIDATES):
        raise InvalidInput(
            f"k is {k!r}; a context is chosen from 1 to {MAX_CANDIDATES} memories.",
            hint="The budget says how many of them are shown.",
        )
    if request.order not in _ORDERS:
        raise InvalidInput(f"There is no order {request.order!r}.", hint=f"Use one of {', '.join(_ORDERS)}.")
    if not _share(request.mmr_lambda):
        raise InvalidInput(f"mmr_lambda is {request.mmr_lambda!r}; it must lie between 0 and 1.")
    if not _share(request.min_relevance):
        raise InvalidInput(f"min_relevance is {request.min_relevance!r}; it must lie between 0 and 1.")
    if not _share(request.duplicate_at) or request.duplicate_at == 0:
        raise InvalidInput(f"duplicate_at is {request.duplicate_at!r}; it must lie above 0 and at most at 1.")
    if request.count_tokens is not None and not callable(request.count_tokens):
        raise InvalidInput("count_tokens cannot be called.", hint="Give a function of a text.")
    _require_quotas(request.per_layer)


def require_layers(request: ContextRequest, known: frozenset[str]) -> None:
    """Refuse a quota for an unknown layer.

    Raises:
        InvalidInput: naming the first such layer.
    """
    for name in request.per_layer:
        if name not in known:
            there = ", ".join(sorted(known))
            raise InvalidInput(f"The layer {name!r} is unknown.", hint=f"There are: {there}.")


def _require_quotas(quotas: Mapping[str, int]) -> None:
    for layer, most in quotas.items():
        if not _whole(most, 0, None):
            raise InvalidInput(
                f"The quota of the layer {layer!r} is {most!r}; it must be a whole number, 0 or more."
            )


def _whole(value: object, least: int, most: int | None) -> bool:
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and least <= value
        and (most is None or value <= most)
    )


def _share(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1
