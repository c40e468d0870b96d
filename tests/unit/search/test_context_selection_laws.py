"""Laws of a block of context: what holds for every set of hits, every budget and every counter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall import ContextBlock, ContextRequest, Hit, InvalidInput
from pgrecall.nouns.links.models import Derivation
from pgrecall.search.context.rendering import Entry, estimate_tokens, render
from pgrecall.search.context.selection import select_memories
from pgrecall.search.context.similarity import adds_details, pair_key
from tests.scale import SCALE
from tests.unit.search.hits import LAYERS, hit, pairs_of, several

Case = tuple[list[Hit], ContextRequest, dict[str, Any]]
law = settings(max_examples=60 * SCALE, deadline=None)
OF_EVERY_BLOCK: list[Callable[[Case, ContextBlock], None]] = []


def of_every_block(kept: Callable[[Case, ContextBlock], None]) -> Callable[[Case, ContextBlock], None]:
    """A law that needs nothing but a case and its block: to draw them takes most of the time."""
    OF_EVERY_BLOCK.append(kept)
    return kept


COUNTERS: dict[str, Callable[[str], int]] = {
    "estimate": estimate_tokens,
    "characters": len,
    "words": lambda text: len(text.split()),
    "rounded up to tens": lambda text: math.ceil(len(text) / 100) * 10,
}


@st.composite
def requests(draw: st.DrawFn, **fixed: Any) -> ContextRequest:
    chosen = {
        "budget_tokens": draw(st.integers(1, 2000)),
        "per_layer": draw(st.dictionaries(st.sampled_from(LAYERS), st.integers(0, 3))),
        "order": draw(st.sampled_from(["score", "time"])),
        "mmr_lambda": draw(st.floats(0, 1)),
        "duplicate_at": draw(st.sampled_from([0.5, 0.92, 1.0])),
        "min_relevance": 0.0,
        "count_tokens": COUNTERS[draw(st.sampled_from([*COUNTERS]))],
    }
    return ContextRequest(**(chosen | fixed))


@st.composite
def cases(draw: st.DrawFn, **fixed: Any) -> Case:
    """Hits, a request, and how alike the hits are and which replace which."""
    found = draw(several)
    numbers = sorted(one.id for one in found)
    random = draw(st.randoms(use_true_random=False))
    alike = {pair_key: random.choice([0.5, 0.92, 1.0, random.uniform(-1, 1)]) for pair_key in pairs_of(found)}
    cosines = {pair_key: cosine for pair_key, cosine in alike.items() if random.random() < 0.7}
    chains = {
        older: tuple(numbers[place + 1 : place + 1 + random.randint(1, 3)])
        for place, older in enumerate(numbers[:-1])
        if random.random() < 0.2
    }
    derived = [
        Derivation(*random.sample(both, 2), random.choice(["current", "changed", "forgotten"]))
        for both in pairs_of(found)
        if random.random() < 0.1
    ]
    known = {"similarities": cosines, "successors": chains, "derived": derived}
    return found, draw(requests(**fixed)), known


def shown(block: ContextBlock) -> set[int]:
    return {one.id for one in block.hits}


def best(found: list[Hit]) -> Hit:
    return min(found, key=lambda one: (-one.score, one.id))


@of_every_block
def the_budget_is_never_exceeded(case: Case, block: ContextBlock) -> None:
    _found, request, _known = case
    assert block.tokens == (request.count_tokens(block.text) if block.text else 0)
    assert block.tokens <= request.budget_tokens


@of_every_block
def a_summary_and_its_source_are_never_both_shown(case: Case, block: ContextBlock) -> None:
    _found, _request, known = case
    for one in known["derived"]:
        assert not {one.summary, one.source} <= shown(block)


@of_every_block
def every_hit_is_shown_or_left_out_with_a_reason(case: Case, block: ContextBlock) -> None:
    found, _request, _known = case
    assert sorted([*shown(block), *(one.id for one in block.left_out)]) == sorted(one.id for one in found)
    assert [source.id for source in block.sources] == [one.id for one in block.hits]
    assert [source.number for source in block.sources] == [*range(1, len(block.hits) + 1)]
    assert bool(block.text) == bool(block.hits)


@of_every_block
def near_duplicates_are_never_both_shown(case: Case, block: ContextBlock) -> None:
    _found, request, known = case
    for a in block.hits:
        for b in block.hits:
            if a.id < b.id and not (adds_details(a, b) or adds_details(b, a)):
                assert known["similarities"].get(pair_key(a.id, b.id), 0) < request.duplicate_at
    for one in block.left_out:
        if one.reason == "near_duplicate":
            assert one.other in shown(block)
            assert known["similarities"][pair_key(one.id, one.other)] >= request.duplicate_at


@law
@given(cases(budget_tokens=10**7, per_layer={}))
def test_what_repeats_nothing_is_shown_where_there_is_room(case: Any) -> None:
    found, request, known = case
    block = select_memories(found, request, **known)
    assert {one.reason for one in block.left_out} <= {"near_duplicate", "superseded", "derived"}
    apart = select_memories(found, replace(request, duplicate_at=1.0), successors=known["successors"])
    assert {one.reason for one in apart.left_out} <= {"superseded"}


@of_every_block
def of_a_chain_only_the_newest_hit_is_shown(case: Case, block: ContextBlock) -> None:
    found, _request, known = case
    there = {one.id for one in found}
    replaced = {old for old, newer in known["successors"].items() if there & set(newer)}
    assert shown(block) & replaced == set()
    assert {one.id for one in block.left_out if one.reason == "superseded"} == replaced & there


@of_every_block
def quotas_hold(case: Case, block: ContextBlock) -> None:
    found, request, _known = case
    counts = Counter(one.layer for one in block.hits)
    assert all(counts[layer] <= most for layer, most in request.per_layer.items())
    for one in block.left_out:
        if one.reason == "quota":
            layer = next(hit.layer for hit in found if hit.id == one.id)
            assert counts[layer] == request.per_layer[layer]


@law
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_hits_changes_nothing(case: Any, random: Any) -> None:
    found, request, known = case
    shuffled = random.sample(found, len(found))
    pairs = [*known["similarities"].items()]
    random.shuffle(pairs)
    assert select_memories(shuffled, request, **{**known, "similarities": dict(pairs)}) == select_memories(
        found, request, **known
    )


@law
@given(cases(), st.integers(0, 3000))
def test_a_larger_budget_keeps_the_best(case: Any, more: int) -> None:
    found, request, known = case
    block = select_memories(found, request, **known)
    whole = {source.id for source in block.sources if not source.cut}
    if found and best(found).id in whole:
        larger = select_memories(found, replace(request, budget_tokens=request.budget_tokens + more), **known)
        assert best(found).id in {source.id for source in larger.sources if not source.cut}


@of_every_block
def only_the_best_is_cut_where_another_memory_fits_whole(case: Case, block: ContextBlock) -> None:
    found, request, known = case
    cut = [source.id for source in block.sources if source.cut]
    assert len(cut) <= 1
    left = {one.id for one in block.left_out if one.reason in ("superseded", "quota", "derived")}
    there = [one for one in found if one.id not in left]
    assert bool(block.skipped) == bool(cut or (there and not block.hits))
    if (cut and cut != [best(there).id]) or not block.hits:
        for one in there:
            alone = select_memories([one], request, successors=known["successors"])
            assert all(source.cut for source in alone.sources)


@settings(max_examples=120 * SCALE, deadline=None)
@given(cases())
def test_every_block_keeps_its_laws(case: Case) -> None:
    found, request, known = case
    block = select_memories(found, request, **known)
    for kept in OF_EVERY_BLOCK:
        kept(case, block)


@law
@given(several, st.integers(1, 1000))
def test_by_score_alone_each_that_fits_is_shown(found: list[Hit], budget: int) -> None:
    kept: list[Hit] = []
    for one in sorted(found, key=lambda one: (-one.score, one.id)):
        if estimate_tokens(render([Entry(other) for other in [*kept, one]])) <= budget:
            kept.append(one)
    block = select_memories(found, ContextRequest(budget, mmr_lambda=1.0, min_relevance=0))
    if kept and kept[0].id == best(found).id:
        assert [*block.hits] == kept


@pytest.mark.parametrize("counted", [-1, 1.5, None, "4", True])
def test_a_counter_that_does_not_count_is_refused(counted: Any) -> None:
    with pytest.raises(InvalidInput, match="token counter gave"):
        select_memories([hit(1)], ContextRequest(count_tokens=lambda _: counted))
