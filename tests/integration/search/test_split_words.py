"""Words that Postgres' parser hides: parts of compounds, and scripts without spaces between words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.databases import Query

NOTES = {
    "code": "getUserName in schema/functions calls src/main.rs, since v1.2.3",
    "mail": "write to anna.berg@example.com or see https://docs.example.org/library/asyncio.html",
    "weather": "東京の天気は晴れ。猫が好き。Postgresデータベース",
    "meeting": "我们明天在上海开会",
    "seoul": "서울에서 만났어요",
    "dog": "犬",
    "plain": "The harbour is closed in winter",
}


def remember(query: Query, key: str, body: str, **fields: Any) -> None:
    values = {"key": key, "body": body, **fields}
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    query(f"SELECT recall.remember({call})", values)


def found(query: Query, question: str, **options: Any) -> set[str]:
    call = "".join(f", p_{name} => %({name})s" for name in options)
    rows = query(f"SELECT key FROM recall.search(%(question)s{call})", {"question": question, **options})
    return {row["key"] for row in rows}


@pytest.fixture(params=["before they are counted", "after they are counted"])
def notes(query: Query, request: pytest.FixtureRequest) -> Query:
    for key, body in NOTES.items():
        remember(query, key, body)
    if request.param.startswith("after"):
        query("SELECT recall.refresh_lexemes()")
    return query


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("functions", "code"),
        ("the function of a schema", "code"),
        ("user name", "code"),
        ("getUserName", "code"),
        ("schema/functions", "code"),
        ("other/functions", "code"),
        ("main.rs", "code"),
        ("v1.2.3", "code"),
        ("berg", "mail"),
        ("anna.berg@example.com", "mail"),
        ("asyncio library", "mail"),
        ("天気", "weather"),
        ("東京の天気はどうですか", "weather"),
        ("猫", "weather"),
        ("猫は", "weather"),
        ("データベース", "weather"),
        ("上海", "meeting"),
        ("在上海开会吗", "meeting"),
        ("서울", "seoul"),
        ("犬を", "dog"),
        ("harbour", "plain"),
    ],
)
def test_a_part_finds_the_whole_and_the_whole_its_parts(notes: Query, question: str, expected: str) -> None:
    assert found(notes, question) == {expected}


def test_hints_and_names_are_read_in_the_same_way(notes: Query) -> None:
    remember(notes, "sato", "the keeper of the light", title="佐藤", layer="entity")

    assert found(notes, "harbour weather 天気", hints=["猫"]) == {"weather"}
    assert found(notes, "harbour 天気", hints=["天気は"]) == {"weather"}
    assert "sato" in found(notes, "昨日佐藤さんに会った")


@pytest.mark.parametrize("language", ["simple", "german", "english"])
def test_two_languages_live_in_one_tenant(query: Query, language: str) -> None:
    query("SELECT recall.set_language(%s)", (language,))
    remember(query, "german", "Der Leuchtturm steht am Hafen, der Wärter heißt Jürgen")
    remember(query, "english", "The lighthouse is in the harbour; its keeper is called Jürgen")

    assert found(query, "Wo steht der Leuchtturm?") == {"german"}
    assert "english" in found(query, "Where is the lighthouse?")
    assert found(query, "Jürgen") == {"german", "english"}


# Bad input


@pytest.mark.parametrize(
    "body",
    [
        "x" * 1_000_000,
        "harbour " * 125_000,
        "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(1_000_000)),
        "猫" * 1_000_000,
        "".join(chr(0x20000 + n % 40_000) + "ab " for n in range(250_000)),
        "a/b.c_D" * 140_000,
        "\N{OYSTER}" * 100_000,
    ],
    ids=["one-word", "one-word-repeated", "han", "one-letter", "rare-han", "compounds", "emoji"],
)
def test_a_memory_of_a_million_characters_is_stored_and_others_are_found(query: Query, body: str) -> None:
    remember(query, "long", body, context=body[:10_000])
    remember(query, "short", "the harbour is closed, 猫")

    assert "short" in found(query, "is the harbour closed")
    assert "short" in found(query, "猫")


@pytest.mark.parametrize("question", ["東" * 1_000, "東京の天気" * 200, "\U00020000" * 1_000, "a/B" * 300])
def test_a_long_question_is_answered(notes: Query, question: str) -> None:
    assert found(notes, question) <= set(NOTES)
