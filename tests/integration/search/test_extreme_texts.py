"""Texts at the edge: a million characters, one word over and over, turns that say nothing, any script."""

from __future__ import annotations

import pytest

from pgrecall import Memory
from tests.databases import Query

MILLION = 1_000_000
SCRIPTS = {
    "Latin": "gull ",
    "Chinese": "\u6e2f\u53e3\u5f88\u5b89\u9759\u3002",
    "Cyrillic": "\u0447\u0430\u0439\u043a\u0430 ",
}


@pytest.mark.parametrize(
    ("filler", "length"),
    [
        (SCRIPTS[name], length)
        for name, length in (*((name, 100_000) for name in SCRIPTS), ("Latin", MILLION))
    ],
)
def test_the_last_word_of_a_text_is_found_however_long_it_is(
    memory: Memory, filler: str, length: int
) -> None:
    memory.remember((filler * (length // len(filler) + 1))[: length - 8] + " pelican", key="long")
    memory.remember("An albatross", key="short")
    memory.maintenance.refresh_statistics()

    found = memory.search("pelican", weights={"semantic": 0.0}).hits

    assert [hit.key for hit in found] == ["long"]


def test_no_word_is_cut_where_a_long_text_is_read_in_parts(query: Query) -> None:
    """Parts of 30,000 characters: the border lies within each word once."""
    for shift in range(9):
        text = " " * (29_990 + shift) + " albatross pelican" + " ." * 20
        [row] = query("SELECT tsvector_to_array(recall_private.body_words('simple', %s)) AS words", (text,))
        assert row["words"] == ["albatross", "pelican"]


def test_parts_of_a_long_text_have_the_words_of_the_whole(query: Query) -> None:
    text = " ".join(f"keeper{n % 700} getUserName{n % 90}" for n in range(4_000))
    [row] = query(
        "SELECT tsvector_to_array(recall_private.body_words('english', %(t)s)) = "
        "tsvector_to_array(recall_private.text_words('english', %(t)s)) AS same",
        {"t": text},
    )
    assert len(text) > 60_000
    assert row["same"]


@pytest.mark.parametrize("link", ["a_", "a@1", "./", "/~", "x-1-", "a_a-1@", "<!-- "])
def test_no_chain_of_words_is_longer_than_fifty(memory: Memory, query: Query, link: str) -> None:
    """The parser of Postgres takes the square of its length: this text would not be stored today."""
    text = "An albatross " + link * (MILLION // len(link) - 20) + " pelican"
    [row] = query("SELECT recall_private.spaced(%s) AS text", (text,))
    assert max(sum(word.count(each) for each in "_@/~.-") for word in row["text"].split()) <= 51
    assert row["text"].replace(" ", "") == text.replace(" ", "")
    assert row["text"].count("<!--") - row["text"].count("-->") <= 1
    memory.remember(text, key="long", compare=False)
    assert [hit.key for hit in memory.search("albatross", weights={"semantic": 0.0}).hits] == ["long"]
    assert [hit.key for hit in memory.search(text[:10_000], weights={"semantic": 0.0}).hits] == ["long"]


def test_chains_that_people_write_stay_whole(query: Query) -> None:
    for text in (
        "https://example.org/a_long-path/of.many~parts?q=1&" * 4,
        "\n".join(f"| {'-' * 40} | keeper_of.the@harbour-{n}.example |" for n in range(90)),
        "a <!-- b --> c - " * 60,
        '{"a.b":' + '"c_d","e-f":' * 400 + "1}",
    ):
        assert query("SELECT recall_private.spaced(%s) AS text", (text,)) == [{"text": text}]


MANY_WORDS = {
    "Latin": "".join(f"{number:06x} " for number in range(75_000)),
    "Chinese": "".join(chr(0x4E00 + (number * 2_654_435_761 >> 7) % 20_000) for number in range(150_000)),
}


@pytest.mark.parametrize("body", MANY_WORDS.values(), ids=MANY_WORDS)
def test_more_words_than_a_text_index_holds_can_be_stored(memory: Memory, body: str) -> None:
    """A tsvector holds a megabyte; what does not fit is left out."""
    others = "".join(chr(0x4E00 + number * 7_919 % 20_000) for number in range(10_000))
    memory.remember(body, title=others[:1_000], context=others, tags=[others[:4_000]], key="long")
    memory.maintenance.refresh_statistics()

    found = memory.search(body[:40], weights={"semantic": 0.0}).hits

    assert [hit.key for hit in found] == ["long"]


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
