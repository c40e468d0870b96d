"""Any text can be asked, and no answer comes from another tenant."""

from __future__ import annotations

import re

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgrecall import Memory
from tests.databases import Query
from tests.integration.search.search_tools import count_words, idf, keys, law, remember, search, vector


@pytest.fixture
def neighbours(query: Query) -> Query:
    """What tenant ``rival`` keeps; tenant ``acme`` has two memories that share some of its words."""
    remember(query, "A", title="Cedric Hurst", key="cedric", layer="entity", tenant="rival")
    for number in range(5):
        remember(
            query,
            "harbour contract",
            key=f"secret-{number}",
            author="Mira Okafor",
            embedding=vector((0, 0.9)),
            tenant="rival",
        )
    remember(query, "harbour", key="ours", embedding=vector((0, 0.2)))
    remember(query, "contract", key="ours too")
    return query


@pytest.mark.parametrize(
    "question", ["harbour contract", "Cedric Hurst", "Cedrci Hurst", "cedric", "secret-1 harbour"]
)
def test_nothing_of_another_tenant_is_found(neighbours: Query, question: str) -> None:
    hits = search(
        neighbours,
        question,
        embedding=vector((0, 1.0)),
        include_archived=True,
        include_superseded=True,
        include_invalid=True,
        k=100,
    )

    assert set(keys(hits)) <= {"ours", "ours too"}
    assert not any("name" in hit["explanation"]["arms"] for hit in hits)


def test_names_of_another_tenant_stay_in_the_question(neighbours: Query) -> None:
    question = "what does Mira Okafor say of Cedric Hurst and the pump"

    (answer,) = neighbours("SELECT query, names FROM recall.queries_without_names(ARRAY[%s])", (question,))

    assert answer == {"query": question, "names": []}


@pytest.mark.parametrize("counted", [False, True])
def test_words_of_another_tenant_do_not_count(neighbours: Query, counted: bool) -> None:
    if counted:
        count_words(neighbours)
        count_words(neighbours, "rival")

    hits = {hit["key"]: hit for hit in search(neighbours, "harbour contract")}

    assert hits["ours"]["explanation"]["arms"]["lexical"]["words"]["harbour"] == pytest.approx(
        idf(1, 2), abs=1e-3
    )


def test_an_empty_tenant_finds_nothing_and_fails_at_nothing(neighbours: Query) -> None:
    for question in ("harbour contract", "Cedric Hurst", "cedric"):
        assert search(neighbours, question, embedding=vector((0, 1.0)), tenant="nobody") == []


ODD = [
    "a & !b | (",
    "harbour & !contract | ( <-> :*",
    "'; DROP TABLE recall.memory; --",
    "it's \"quoted\" 'twice'",
    "back\\slash \\' \\\\",
    "100%_done",
    "%(query)s %s {0}",
    "snake_case __init__",
    "harbour 🙂 contract",
    "مرفأ harbour עברית",
    "\u202eharbour\u202c",
    "harbour\ttab\nnewline\r\n",
    "http://example.org/a?b=c&d=%20 harbour",
    "a@b.example -1.5e10 v1.2.3 <b>html</b>",
    "(((((((((( harbour ))))))))))",
    "[[Wiki|link]] .* ^$ {1,3} harbour+",
    "harbour " * 1249,
    ("x" * 9_000) + " harbour",
    " ".join(f"word{number}" for number in range(1000)),
    "a." * 3000 + "harbour",
]


def test_no_question_with_a_word_in_it_is_refused(memory: Memory) -> None:
    memory.remember(
        "the harbour contract", key="contract", title="Harbour", layer="entity", author="O'Neill (x)+"
    )

    for question in ODD:
        found = memory.search(question)
        assert found.skipped == (), question
        assert found.hits, question  # the embedded question is near to something


REFUSED = re.compile(r"The query (is empty\.|E?'.*' holds (only stop words|no letter or digit)\.)", re.DOTALL)


@law
@example("'")
@example("\\")
@example("''\\''")
@example("\u0085 ' \\ \u2028")
@example("a:*b & 'c\\")
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60))
def test_any_text_is_answered_or_refused_in_a_sentence(query: Query, question: str) -> None:
    if not query("SELECT FROM recall.memory LIMIT 1"):
        remember(query, "harbour", title=".*+?^${}()|[]\\", layer="entity", author="a.*(b")
    try:
        search(query, question)
        query("SELECT query, names FROM recall.queries_without_names(ARRAY[%s])", (question,))
    except psycopg.errors.InvalidParameterValue as refused:
        if not REFUSED.match(str(refused)):
            raise


@pytest.mark.parametrize(
    ("body", "question"),
    [
        ("Die Schlüssel liegen im Büro", "schlüssel büro"),
        ("Ångström is a unit", "ÅNGSTRÖM"),
        ("Ключ лежит под камнем", "где КЛЮЧ"),
        ("Το κλειδί είναι εδώ", "κλειδί"),
        ("المفتاح تحت الحجر", "المفتاح"),
        ("המפתח מתחת לאבן", "המפתח"),
        ("鍵 は 石 の 下", "鍵"),
        ("열쇠는 돌 아래에 있다", "열쇠는"),
        ("कुंजी पत्थर", "पत्थर"),
        ("snake_case_name", "snake_case_name"),
        ("see https://example.org/tide/table", "example.org/tide/table"),
        ("write to mira@example.org", "mira@example.org"),
        ("version 1.2.3 is out", "1.2.3"),
    ],
)
def test_text_of_any_script_is_found_by_its_words(query: Query, body: str, question: str) -> None:
    remember(query, "harbour", key="other")
    remember(query, body, key="wanted")

    assert keys(search(query, question)) == ["wanted"]
