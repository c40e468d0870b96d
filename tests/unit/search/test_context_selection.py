"""Composing a block of context: chosen by hand-made numbers, cut, named and counted."""

from __future__ import annotations

import math

import pytest

from pgrecall import ContextBlock, ContextRequest, InvalidInput
from pgrecall.search.context.request_checks import require_layers, require_valid_request
from pgrecall.search.context.selection import select_memories
from pgrecall.search.context.similarity import adds_details, fill_missing_similarities, trigrams
from tests.unit.search.hits import hit

LONG = "The gauge at Skarvik was read at dawn. Mira wrote the number down. Nobody has looked since."


def ids(block: ContextBlock) -> list[int]:
    return [one.id for one in block.hits]


def reasons(block: ContextBlock) -> dict[int, str]:
    return {one.id: one.reason for one in block.left_out}


def entries(text: str) -> int:
    return text.count("\n> ")


def test_marginal_relevance_by_hand() -> None:
    """With lambda 0.5: 1 first (0.5); then 3, 0.5*0.6 - 0.5*0 = 0.30, before 2, 0.5*0.9 - 0.5*0.8 = 0.05."""
    found = [hit(1, 1.0), hit(2, 0.9), hit(3, 0.6)]
    alike = {(1, 2): 0.8}
    two = ContextRequest(2, mmr_lambda=0.5, count_tokens=entries)
    assert ids(select_memories(found, two, similarities=alike)) == [1, 3]
    assert ids(
        select_memories(found, ContextRequest(2, mmr_lambda=1.0, count_tokens=entries), similarities=alike)
    ) == [1, 2]


def test_a_weak_question_is_composed_like_a_strong_one() -> None:
    alike = {(1, 2): 0.6, (1, 3): 0.1, (2, 3): 0.1}
    two = ContextRequest(2, mmr_lambda=0.7, min_relevance=0, count_tokens=entries)
    strong = select_memories([hit(1, 0.9), hit(2, 0.8), hit(3, 0.09)], two, similarities=alike)
    weak = select_memories([hit(1, 0.009), hit(2, 0.008), hit(3, 0.0009)], two, similarities=alike)
    assert ids(strong) == ids(weak) == [1, 2]


def test_likeness_below_zero_is_no_merit() -> None:
    two = ContextRequest(2, mmr_lambda=0.5, count_tokens=entries)
    block = select_memories([hit(1, 1.0), hit(2, 0.5), hit(3, 0.4)], two, similarities={(1, 3): -1.0})
    assert ids(block) == [1, 2]


def test_the_best_is_cut_rather_than_dropped_for_filler() -> None:
    found = [hit(1, 1.0, LONG * 9), hit(2, 0.5, "small"), hit(3, 0.4, "tiny")]
    block = select_memories(found, ContextRequest(120))
    assert block.hits[0].id == 1
    assert block.sources[0].cut
    assert block.tokens <= 120


def test_what_is_hardly_relevant_fills_nothing_up() -> None:
    found = [hit(1, 0.04, "tea"), hit(2, 0.03, "coffee")]
    block = select_memories(found, ContextRequest())
    assert (ids(block), reasons(block)) == ([1], {2: "irrelevant"})
    assert block.left_out[0].detail == "relevance 0.03 is below 0.05"


def test_a_repeat_of_a_second_that_did_not_fit_may_be_shown() -> None:
    found = [hit(1, 1.0, "tea"), hit(2, 0.9, LONG * 9), hit(3, 0.5, LONG)]
    block = select_memories(found, ContextRequest(130), similarities={(2, 3): 0.99})
    assert (ids(block), reasons(block)) == ([1, 3], {2: "over_budget"})


def test_a_repeat_is_left_out_even_where_there_is_room() -> None:
    found = [hit(1, 1.0, "tea at noon"), hit(2, 0.9, "at noon, tea"), hit(3, 0.1, "moon")]
    block = select_memories(found, ContextRequest(), similarities={(1, 2): 0.97})
    assert ids(block) == [1, 3]
    [left] = block.left_out
    assert (left.id, left.other, left.detail) == (2, 1, "near-duplicate of id 1 (0.97)")


@pytest.mark.parametrize(
    ("more", "less", "adds"),
    [
        ("She signs it on Monday", "She signs it on Friday", True),
        ("the office is at pier 5", "the office is at pier 4", True),
        ("ring 555-1234", "ring her", True),
        ("ring her", "ring 555-1234", False),
        ("Well, she signs it. Then tea", "she signs it", False),
        ("“Tea,” I said", "tea I said", False),
        ("call MIRA", "Mira calls", False),
        ("in Übersee", "abroad", True),
    ],
)
def test_numbers_and_names_distinguish_facts(more: str, less: str, adds: bool) -> None:
    assert adds_details(hit(1, body=more), hit(2, body=less)) is adds
    block = select_memories(
        [hit(1, 0.5, more), hit(2, 0.9, less)], ContextRequest(), similarities={(1, 2): 0.999}
    )
    assert ids(block) == ([2, 1] if adds else [2])


def test_only_the_newest_of_a_chain_is_shown_with_its_successor() -> None:
    found = [hit(1, 0.9), hit(2, 0.8), hit(4, 0.7)]
    block = select_memories(found, ContextRequest(), successors={1: (2, 3), 2: (3,), 4: (5, 6)})
    assert ids(block) == [2, 4]
    assert [(one.id, one.other, one.reason) for one in block.left_out] == [(1, 2, "superseded")]
    assert "2026-01-03 · superseded by id 3\n" in block.text
    assert "superseded by id 6\n" in block.text


def test_an_older_hit_is_not_shown_where_the_newest_does_not_fit() -> None:
    block = select_memories(
        [hit(4, 0.95, "first"), hit(1, 0.9, "old"), hit(2, 0.8, LONG * 99), hit(3, 0.1, "else")],
        ContextRequest(80),
        successors={1: (2,)},
    )
    assert (ids(block), reasons(block)) == ([4, 3], {1: "superseded", 2: "over_budget"})


def test_quotas() -> None:
    found = [hit(n, 1 - n / 10, layer="entity" if n % 2 else "knowledge") for n in range(1, 7)]
    block = select_memories(found, ContextRequest(per_layer={"entity": 1, "knowledge": 0}))
    assert ids(block) == [1]
    assert block.left_out[0].detail == "quota: at most 0 of the layer knowledge"
    assert select_memories(found, ContextRequest(per_layer={"entity": 0, "knowledge": 0})).skipped == ()


def test_what_does_not_fit_is_left_out_and_the_next_is_tried() -> None:
    block = select_memories(
        [hit(1, 0.9, "small"), hit(2, 0.8, LONG * 20), hit(3, 0.7, "small too")], ContextRequest(100)
    )
    assert ids(block) == [1, 3]
    [left] = block.left_out
    assert left.detail.startswith("over budget: it needs ")
    assert left.detail.endswith(" were left")


def test_shown_by_score_or_by_time() -> None:
    found = [hit(1, 0.2), hit(3, 0.9), hit(2, 0.5)]
    assert ids(select_memories(found, ContextRequest())) == [3, 2, 1]
    assert ids(select_memories(found, ContextRequest(order="time"))) == [1, 2, 3]


def test_nothing_found_is_an_empty_block() -> None:
    assert select_memories([], ContextRequest()) == ContextBlock("", 0, (), (), ())


@pytest.mark.parametrize(
    ("budget", "shown"),
    [
        (95, LONG),
        (67, "The gauge at Skarvik was read at dawn. Mira wrote the number down. …"),
        (62, "The gauge at Skarvik was read at dawn. …"),
        (52, "The gauge at Skarvik was …"),
    ],
)
def test_the_best_is_cut_after_a_sentence_if_nothing_fits(budget: int, shown: str) -> None:
    block = select_memories([hit(1, 0.9, LONG), hit(2, 0.3, LONG + LONG)], ContextRequest(budget))
    assert f"> {shown}\n" in block.text
    assert block.sources[0].cut == (shown != LONG)
    assert reasons(block) == {2: "over_budget"}
    if shown != LONG:
        unit = "sentence" if "." in shown else "word"
        told = f"whole memories: id 1 does not fit into {budget} tokens, so it was cut after a {unit}"
        assert block.skipped == (told,)
        assert " · cut\n" in block.text


def test_where_the_best_cannot_be_begun_the_next_one_is() -> None:
    block = select_memories([hit(1, 0.9, LONG, key="k" * 150), hit(2, 0.3, LONG)], ContextRequest(60))
    assert [(source.id, source.cut) for source in block.sources] == [(2, True)]


def test_where_not_even_a_word_fits_the_block_is_empty_and_says_so() -> None:
    block = select_memories([hit(1, 0.9, LONG)], ContextRequest(10))
    assert (block.text, block.tokens, ids(block), reasons(block)) == ("", 0, [], {1: "over_budget"})
    assert block.skipped == ("the text: not even the beginning of a memory fits into 10 tokens",)


def test_pairs_without_a_cosine_are_compared_by_their_letters() -> None:
    found = [
        hit(1, body="Tea at noon!"),
        hit(2, body="tea, at NOON"),
        hit(3, body="river"),
        hit(4, body="rivers"),
    ]
    pairs, lettered = fill_missing_similarities({(3, 4): 0.5}, found)
    assert (pairs[1, 2], pairs[3, 4], pairs[1, 3]) == (1.0, 0.5, 0.0)
    assert lettered == 2
    assert fill_missing_similarities({}, found[:1]) == ({}, 0)
    assert 0 < fill_missing_similarities({}, found)[0][3, 4] < 1


def test_trigrams_are_those_of_pg_trgm() -> None:
    assert trigrams("A cat") == {"  a", " a ", "  c", " ca", "cat", "at "}
    assert trigrams("!?") == frozenset()


@pytest.mark.parametrize(
    ("wish", "k", "part"),
    [
        (ContextRequest(0), 50, "The budget is 0 tokens"),
        (ContextRequest(-5), 50, "The budget is -5 tokens"),
        (ContextRequest(10**9), 50, "between 1 and 10,000,000"),
        (ContextRequest(2.5), 50, "whole number"),
        (ContextRequest(True), 50, "whole number"),
        (ContextRequest(per_layer={"knowledge": -1}), 50, "The quota of the layer 'knowledge' is -1"),
        (ContextRequest(order="best"), 50, "The order 'best' is unknown"),
        (ContextRequest(mmr_lambda=math.nan), 50, "mmr_lambda is nan"),
        (ContextRequest(mmr_lambda=1.5), 50, "mmr_lambda is 1.5"),
        (ContextRequest(duplicate_at=0), 50, "duplicate_at is 0"),
        (ContextRequest(count_tokens="len"), 50, "cannot be called"),
        (ContextRequest(exclude=7), 50, "cannot be called"),
        (ContextRequest(min_confidence=1.5), 50, "must lie between 0 and 1"),
        (ContextRequest(), 0, "k is 0"),
        (ContextRequest(), 201, "k is 201"),
    ],
)
def test_what_cannot_be_asked_is_refused(wish: ContextRequest, k: int, part: str) -> None:
    with pytest.raises(InvalidInput, match=part):
        require_valid_request(wish, k)


def test_what_can_be_asked_is_not() -> None:
    require_valid_request(ContextRequest(1, {"knowledge": 0}, "time", 0, 1, 1, len), 200)
    require_layers(ContextRequest(per_layer={"knowledge": 0}), frozenset({"knowledge"}))
    with pytest.raises(InvalidInput, match=r"The layer 'x' is unknown\. Choose one of: a, b\."):
        require_layers(ContextRequest(per_layer={"x": 1}), frozenset({"b", "a"}))


def test_of_a_directive_that_does_not_fit_its_sentence_is_shown_and_never_a_part_of_it() -> None:
    rule = "Never push to main unless I say so."
    told = hit(1, 0.9, f"{LONG} {rule} {LONG * 9}", speech_act="instruction", directive=rule)
    marked = hit(2, 0.8, LONG * 9, speech_act="preference")
    block = select_memories([told, marked], ContextRequest(300, directive_share=0.4))
    assert f"\n> … {rule} …\n" in block.text
    assert [(one.id, one.cut) for one in block.sources] == [(1, True)]
    assert reasons(block) == {2: "over_budget"}
    for budget in range(50, 300, 10):
        block = select_memories([told, marked], ContextRequest(budget, directive_share=0.2))
        assert block.text == "" or rule in block.text
        assert block.tokens <= budget
