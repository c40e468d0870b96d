"""Words in one form however wide or composed they are written, and identifiers by all of their parts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.databases import Query
from tests.integration.search.search_tools import law
from tests.integration.search.test_split_words import found, remember

FORMS = [
    ("ＰＯＳＴＧＲＥＳ１７の設定", "postgres17"),
    ("postgres17 settings", "ｐｏｓｔｇｒｅｓ１７"),
    ("ﾃﾞｰﾀﾍﾞｰｽの設計", "データベース"),
    ("データベースの設計", "ﾃﾞｰﾀﾍﾞｰｽ"),
    (unicodedata.normalize("NFD", "서울에서 만났어요"), "서울"),
    (unicodedata.normalize("NFD", "Käse aus dem Allgäu"), "Käse"),
    ("Käse aus dem Allgäu", unicodedata.normalize("NFD", "Käse")),
    ("an oﬀshore ﬁshery", "offshore fishery"),
    ("made by Acme™ on 40m²…then sold", "acme sold"),
]

IDENTIFIERS = [
    (
        "componentEmit",
        ["componentEmit", "componentemit", "component emit", "component-emit"],
    ),
    ("see HTTPServer2 there", ["HTTPServer2", "http server", "server", "HttpServer"]),
    ("snake_case_name", ["snake_case_name", "snake", "case name", "SnakeCaseName"]),
    ("kebab-case-name", ["kebab-case-name", "kebab", "kebabCaseName"]),
    ("dotted.name", ["dotted.name", "dotted", "name"]),
    ("Path::toFile", ["Path::toFile", "path", "file"]),
    ("release v1.2.3", ["v1.2.3", "release"]),
    ("parseURLs", ["parse", "parseURLs"]),
]


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("body", "question"), FORMS)
def test_words_are_found_however_they_are_written(
    query: Query, body: str, question: str, counted: bool
) -> None:
    remember(query, "it", body)
    remember(query, "other", "the harbour is closed in winter")
    if counted:
        query("SELECT recall.refresh_lexemes()")

    assert found(query, question) == {"it"}
    assert found(query, f"harbour {question}", hints=[question.split()[0]]) == {"it"}
    assert query("SELECT body FROM recall.memory WHERE key = 'it'") == [{"body": body}]


@pytest.mark.parametrize(("body", "questions"), IDENTIFIERS)
def test_an_identifier_is_found_whole_and_by_its_parts(query: Query, body: str, questions: list[str]) -> None:
    remember(query, "it", body)
    remember(query, "other", "the harbour is closed in winter")
    query("SELECT recall.refresh_lexemes()")

    for question in questions:
        assert found(query, question) == {"it"}, question


@pytest.mark.parametrize(
    ("whole", "apart"),
    [
        ("componentEmit", "the component must emit"),
        ("snake_case", "a case of the snake"),
        ("kebab-case", "a case for a kebab"),
        ("HTTPServer2", "a server speaks http"),
    ],
)
def test_the_whole_form_ranks_first(query: Query, whole: str, apart: str) -> None:
    remember(query, "apart", f"{apart} again and again")
    remember(query, "whole", f"{whole} is called by the scheduler")
    query("SELECT recall.refresh_lexemes()")

    rows = query("SELECT key FROM recall.search(%s) ORDER BY rank", (whole,))

    assert [row["key"] for row in rows] == ["whole", "apart"]


@pytest.mark.parametrize("word", ["PDFs", "URLs", "GmbH", "eBay", "iPhone", "McDonald", "Abc-Team"])
def test_ordinary_words_with_capitals_stay_whole(query: Query, word: str) -> None:
    remember(query, "it", f"about {word} and more")
    remember(query, "other", "the harbour is closed in winter")

    assert found(query, word) == {"it"}
    assert found(query, word.lower()) == {"it"}


def test_names_tags_and_periods_are_folded(query: Query) -> None:
    remember(query, "tanaka", "keeps the light", title="ﾀﾅｶ", layer="entity", aliases=["Ｔａｎａｋａ"])
    remember(query, "june", "a note", tags=["ｔｉｄｅ"])

    assert "tanaka" in found(query, "タナカ")
    assert "tanaka" in found(query, "what did Tanaka say")
    assert found(query, "tide") == {"june"}
    [row] = query("SELECT * FROM recall_private.period_in_query('in ２０２４', now())")
    assert row["since"].year == 2024
    [rest] = query("SELECT query, names FROM recall.queries_without_names(ARRAY['did Ｔａｎａｋａ call Bo'])")
    assert rest == {"query": "did call Bo", "names": ["tanaka"]}


@law
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60))
def test_folding_twice_is_folding_once(query: Query, text: str) -> None:
    [row] = query(
        "SELECT recall_private.folded(%s) AS once, recall_private.folded(recall_private.folded(%s)) AS twice",
        (text, text),
    )

    assert row["once"] == row["twice"]


@law
@given(st.lists(st.sampled_from(["parse", "emit", "HTTP", "user", "node"]), min_size=2, max_size=4))
def test_each_part_of_an_identifier_is_a_word_of_it(query: Query, parts: list[str]) -> None:
    for whole in ("".join(part.capitalize() for part in parts), "_".join(parts), ".".join(parts)):
        [row] = query(
            "SELECT tsvector_to_array(recall_private.text_words('recall.simple', %s)) AS words", (whole,)
        )
        assert {part.lower() for part in parts} <= set(row["words"])


def test_a_long_text_of_identifiers_has_a_bounded_number_of_words(query: Query) -> None:
    """Each identifier adds itself and its parts, so terms grow with the text and no faster."""
    names = [f"fetch{letters}HTTPServer{n}" for n, letters in enumerate(map("Q{:04d}x".format, range(4000)))]

    [row] = query(
        "SELECT length(recall_private.body_words('recall.simple', %s)) AS words, "
        "length(recall_private.body_words("
        "'recall.simple', %s)) AS fewer",
        (" ".join(names), " ".join(names[:400])),
    )

    assert row["fewer"] <= 5 * 400
    assert row["words"] <= 11 * row["fewer"]
