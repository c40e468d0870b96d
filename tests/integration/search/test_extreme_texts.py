"""Texts at the edge: a million characters, one word over and over, turns that say nothing, any script."""

from __future__ import annotations

import pytest

from pgrecall import Memory

MILLION = 1_000_000
READ = 100_000
"""Characters of a body of which the words are read, as docs/explanation/ranking.md tells."""


def test_words_are_found_as_far_as_a_text_is_read(memory: Memory) -> None:
    lead = "gull " * ((READ - 10) // 5)
    memory.remember(f"{lead}pelican", key="within")
    memory.remember(f"{lead}gull gull gull pelican", key="beyond")
    memory.maintenance.refresh_statistics()

    found = memory.search("pelican", weights={"semantic": 0.0}).hits

    assert [hit.key for hit in found] == ["within"]


def test_a_word_repeated_to_a_million_characters_is_no_better_than_said_once(memory: Memory) -> None:
    memory.remember("tide", key="once")
    memory.remember("tide " * (MILLION // 5), key="over and over")
    memory.maintenance.refresh_statistics()

    for question in ("tide", "tide tide tide"):
        once, often = memory.search(question).hits

        assert (once.key, often.key) == ("once", "over and over")
        assert once.relevance >= often.relevance


def test_a_turn_that_says_nothing_changes_nothing_for_the_next(memory: Memory) -> None:
    for key, before in (("alone", None), ("after", "...")):
        memory.remember("Yes, on Friday at nine.", key=key, session_id=key)
        if before:
            memory.remember(before, key="nothing", session_id=key)
            memory.link("nothing", key, "next")

    hits = {hit.key: hit for hit in memory.search("on Friday?").hits}

    tokens = [hits[key].explanation["relevance"]["token_similarity"] for key in ("alone", "after")]
    assert tokens[0] == tokens[1]


@pytest.mark.parametrize(
    ("text", "other", "question"),
    [
        ("ამწე შეაკეთა თამაზმა პარასკევს", "დღეს წვიმს და ქარია", "ვინ შეაკეთა ამწე?"),
        ("ክሬኑ አርብ ቀን ተጠገነ", "ዛሬ ዝናብ ነው", "ክሬኑ መቼ ተጠገነ?"),
        ("تم إصلاح الرافعة يوم الجمعة", "الجو ممطر اليوم", "متى تم إصلاح الرافعة؟"),
    ],
)
def test_a_language_without_statistics_is_found_by_its_words(
    memory: Memory, text: str, other: str, question: str
) -> None:
    memory.remember(text, key="right")
    memory.remember(other, key="wrong")

    assert memory.search(question, weights={"semantic": 0.0}).hits[0].key == "right"
