"""The difference between two texts, word by word, and what it may cost."""

from __future__ import annotations

import random
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.nouns.history.word_differences import MAX_WORDS, Comparison
from tests.scale import SCALE


def runs_of(earlier: str, later: str) -> list[list[str]]:
    """The runs of a difference, as lists."""
    return [[words.change, words.text] for words in Comparison().words(earlier, later)]


TEXTS = st.text(st.sampled_from("ab \nc.é"), max_size=60)


@given(TEXTS, TEXTS)
@settings(max_examples=80 * SCALE)
def test_runs_make_both_texts(earlier: str, later: str) -> None:
    runs = runs_of(earlier, later)
    assert "".join(text for change, text in runs if change != "added") == earlier
    assert "".join(text for change, text in runs if change != "removed") == later
    assert all(one[0] != two[0] for one, two in pairwise(runs))
    assert all(text for _, text in runs)


LINE = " ".join(f"w{n} and" for n in range(600))
"""More words than are compared each with each."""


@pytest.mark.parametrize(
    ("earlier", "later", "runs"),
    [
        ("", "", []),
        ("a key", "a key", [["same", "a key"]]),
        (
            "The gauge key is with Tomas",
            "The gauge key is with Mira.",
            [["same", "The gauge key is with "], ["removed", "Tomas"], ["added", "Mira."]],
        ),
        (
            "one\nthe old line\nthree\n",
            "one\nthe new line\nthree\n",
            [["same", "one\nthe "], ["removed", "old"], ["added", "new"], ["same", " line\nthree\n"]],
        ),
        (
            "# Ink\n\n\n- Website: ink.example\n\n\n\n## Plugins\n",
            "# Ink\n\n\n\n## Plugins\n\n- Website: ink.example\n",
            [
                ["same", "# Ink\n\n\n"],
                ["removed", "- Website: ink.example\n\n\n\n"],
                ["added", "\n"],
                ["same", "## Plugins\n"],
                ["added", "\n- Website: ink.example\n"],
            ],
        ),
        ("by me\n\n\nnow", "by me\nnow", [["same", "by me\n"], ["removed", "\n\n"], ["same", "now"]]),
        (
            f"One {LINE} two.",
            f"Eins {LINE} zwei.",
            [
                ["removed", "One"],
                ["added", "Eins"],
                ["same", f" {LINE} "],
                ["removed", "two"],
                ["added", "zwei"],
                ["same", "."],
            ],
        ),
        ("x " * 600, "y " * 600, [["removed", "x " * 599 + "x"], ["added", "y " * 599 + "y"], ["same", " "]]),
    ],
)
def test_words_that_differ(earlier: str, later: str, runs: list[list[str]]) -> None:
    assert runs_of(earlier, later) == runs


def _lists(count: int) -> dict[str, tuple[list[str], list[str]]]:
    """Pairs of texts of so many words that once took the square of their number, or might."""
    words = [f"w{place}" for place in range(count)]
    dice = random.Random(7)
    few = [[dice.choice("abcd") for _ in words] for _ in range(2)]
    nested = [f"n{min(place, count - place)}" for place in range(count)]
    return {
        "other words": (words, [f"v{place}" for place in range(count)]),
        "shuffled": (words, dice.sample(words, count)),
        "edited": (words, [f"x{place}" if place % 50 == 0 else word for place, word in enumerate(words)]),
        "few words": (few[0], few[1]),
        "anchors": tuple(
            [words[place] if place % 450 == 0 else word for place, word in enumerate(side)] for side in few
        ),  # type: ignore[dict-item]  # two
        "nested": (nested, [f"n{place}" for place in range(count)]),
        "moved": (words, [*words[count // 2 :], *words[: count // 2]]),
    }


@pytest.mark.parametrize("between", [" ", "\n"])
@pytest.mark.parametrize("name", _lists(10))
def test_long_texts_take_a_second_or_two(name: str, between: str) -> None:
    """By processor time of this process, so that a busy machine does not matter."""
    one, two = (between.join(side) for side in _lists(130_000)[name])
    began = process_time()
    runs = runs_of(one, two)
    assert process_time() - began < 6
    assert "".join(text for change, text in runs if change != "added") == one
    assert "".join(text for change, text in runs if change != "removed") == two


def test_the_rest_of_long_texts_is_compared() -> None:
    """What both have at their beginning and end does not count as compared."""
    long = "".join(f"line {number}\n" for number in range(2 * MAX_WORDS))
    runs = runs_of(f"{long}the old one\n{long}", f"{long}the new one\n{long}")
    assert [run for run in runs if run[0] != "same"] == [["removed", "old"], ["added", "new"]]


def test_many_texts_together_cost_no_more() -> None:
    one, two = (" ".join(side) for side in _lists(4_000)["anchors"])
    shared = Comparison(steps=500_000)
    began = process_time()
    found = [shared.words(one, two) for _ in range(50)]
    assert process_time() - began < 6
    assert len(found[0]) > len(found[-1])
