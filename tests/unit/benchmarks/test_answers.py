"""The measures of answers, against figures worked out by hand and by what must hold of any answer."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.examples.answers import Answer, by_kind, quality, silence
from benchmarks.intervals import bootstrap_interval

KEYS = "abcdefghijkl"


def answer(
    found: str, relevant: str = "ab", *, outdated: str = "", confidence: float = 0.5, kind: str = "x"
) -> Answer:
    return Answer(kind, frozenset(relevant), frozenset(outdated), tuple(found), confidence)


answers = st.builds(
    answer,
    st.text(KEYS, max_size=10),
    st.text(KEYS, min_size=1, max_size=4),
    confidence=st.floats(0, 1),
)


def test_measures_of_one_answer() -> None:
    second_and_fourth = answer("xaybz")

    assert second_and_fourth.recall(1) == 0
    assert second_and_fourth.recall(2) == 0.5
    assert second_and_fourth.recall(5) == 1
    assert second_and_fourth.reciprocal == 0.5
    ideal = 1 + 1 / math.log2(3)
    assert second_and_fourth.ndcg == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_nothing_found_is_worth_nothing() -> None:
    silent = answer("")

    assert (silent.recall(10), silent.reciprocal, silent.ndcg, silent.up_to_date) == (0, 0, 0, True)


def test_two_parts_of_a_note_count_once_and_take_two_places() -> None:
    assert answer("aab").ndcg == answer("axb").ndcg < answer("ab").ndcg == 1
    assert answer("aab").recall(2) == 0.5


def test_more_than_ten_that_answer_can_still_be_perfect() -> None:
    assert answer(KEYS[:10], KEYS).ndcg == pytest.approx(1)


def test_an_outdated_memory_may_come_after_what_answers() -> None:
    assert answer("axo", outdated="o").up_to_date
    assert not answer("oa", outdated="o").up_to_date
    assert not answer("xo", outdated="o").up_to_date


@given(answers)
def test_an_answer_is_never_better_than_the_best_or_worse_than_none(one: Answer) -> None:
    for value in (one.recall(5), one.recall(10), one.reciprocal, one.ndcg):
        assert 0 <= value <= 1 + 1e-12
    assert one.recall(5) <= one.recall(10)
    assert (one.reciprocal == 0) == (one.recall(10) == 0) == (one.ndcg == 0)


@given(answers, st.text("xyz", max_size=5))
def test_what_does_not_answer_behind_the_rest_changes_nothing(one: Answer, tail: str) -> None:
    longer = Answer(one.kind, one.relevant, one.outdated, (*one.found, *tail), one.confidence)

    assert (longer.recall(10), longer.reciprocal, longer.ndcg) == (one.recall(10), one.reciprocal, one.ndcg)


def test_quality_is_the_mean_over_questions_that_have_an_answer() -> None:
    found = quality([answer("ab"), answer("xxxxxxa"), answer("xy", relevant="")])

    assert (found.questions, found.recall_5, found.recall_10) == (2, 0.5, 0.75)
    assert found.mrr == pytest.approx((1 + 1 / 7) / 2)
    low, high = found.recall_10_interval
    assert low <= 0.75 <= high
    with pytest.raises(ValueError, match="None of these questions"):
        quality([answer("xy", relevant="")])


def test_answers_are_sorted_by_kind() -> None:
    assert list(by_kind([answer("a", kind="z"), answer("b", kind="c"), answer("c", kind="z")])) == ["c", "z"]


def test_silence_is_judged_by_both_sorts_of_questions() -> None:
    asked = [
        answer("ab", confidence=0.9),
        answer("ab", confidence=0.04),
        answer("", relevant="", confidence=0.0),
        answer("x", relevant="", confidence=0.03),
        answer("x", relevant="", confidence=0.3),
    ]

    told = silence(asked, 0.05)
    assert (told.precision, told.recall, told.wrongly) == pytest.approx((2 / 3, 2 / 3, 0.5))
    never = silence(asked, 0.0)
    assert (never.precision, never.recall, never.wrongly) == (1, 0, 0)
    with pytest.raises(ValueError, match="with and without"):
        silence(asked[:2], 0.05)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_an_interval_lies_within_the_values(values: list[float]) -> None:
    low, high = bootstrap_interval(values)

    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert bootstrap_interval(values) == (low, high)
