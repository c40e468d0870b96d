"""What each arm finds, alone and with the others, judged in a real Postgres."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.integration.search.search_tools import (
    TINY,
    count_words,
    idf,
    keys,
    relevances,
    remember,
    search,
    vector,
)


def test_words_alone_find_a_memory(query: Query) -> None:
    remember(query, "The harbour contract is signed on Friday", key="contract")
    remember(query, "Gulls nest under the crane", key="gulls")

    (hit,) = search(query, "who signs contracts?")

    assert hit["key"] == "contract"
    assert set(hit["explanation"]["arms"]) == {"lexical"}
    assert set(hit["explanation"]["arms"]["lexical"]["words"]) == {"sign", "contract"}


def test_meaning_alone_finds_a_paraphrase(query: Query) -> None:
    remember(query, "Swap the sensor credentials", key="paraphrase", embedding=vector((0, 0.9)))
    remember(query, "Gulls nest under the crane", key="other", embedding=vector((1, 0.9)))

    first, second = search(query, "how are passwords renewed", embedding=vector((0, 1.0)))

    assert (first["key"], second["key"]) == ("paraphrase", "other")
    assert first["explanation"]["arms"]["semantic"]["similarity"] == pytest.approx(0.9, abs=1e-3)
    assert set(first["explanation"]["arms"]) == {"semantic"}


@pytest.mark.parametrize(
    ("question", "likeness"),
    [
        ("Cedric Hurst", 1),
        ("cedric   HURST", 1),
        ("what is Cedric Hurst like to deal with, and does he answer his letters", 1),
        ("what are Cedric Hurst's phone preferences these days", 1),
        ("Ceddy", 1),
        ("people/cedric", 1),
        (" people/cedric ", 1),
        ("Cedrci Hurst", 0.5),
        ("when does Cedrci Hurst come to the office with the forms", 0.5),
    ],
)
def test_a_name_or_a_key_alone_finds_its_entity(query: Query, question: str, likeness: float) -> None:
    remember(
        query, "A customer.", title="Cedric Hurst", key="people/cedric", layer="entity", aliases=["Ceddy"]
    )
    remember(query, "A colleague.", title="Odile Fontaine", key="people/odile", layer="entity")
    remember(query, "Where forms for the office are kept", key="forms")

    best = search(query, question)[0]

    assert best["key"] == "people/cedric"
    assert best["explanation"]["arms"]["name"]["likeness"] >= likeness


@pytest.mark.parametrize(
    "title",
    [
        "The Old Lighthouse at Harbour Point",
        "St. Mary's",
        "C++",
        "AT&T (Europe)",
        "O'Brien & Sons, Ltd.",
        "It",
        "Þóra Ægisdóttir",
        "Людмила",
    ],
)
def test_an_entity_is_found_by_its_exact_title_whatever_it_is_called(query: Query, title: str) -> None:
    remember(query, "Something else.", title="Odile Fontaine", key="odile", layer="entity")
    remember(query, "An entity.", title=title, key="wanted", layer="entity")

    best = search(query, title)[0]

    assert best["key"] == "wanted"
    assert best["explanation"]["arms"]["name"]["likeness"] == 1


def test_a_key_is_found_even_when_it_is_a_stop_word(query: Query) -> None:
    remember(query, "Everything at once", key="all")

    assert keys(search(query, "all")) == ["all"]


@pytest.mark.parametrize("arm", ["semantic", "lexical", "name"])
def test_a_memory_found_by_one_arm_alone_can_be_first(query: Query, arm: str) -> None:
    for number in range(5):  # weak answers that two arms agree on
        remember(query, f"boats and weather {number}", key=f"weak-{number}", embedding=vector((0, 0.3)))
    remember(query, "An unlike text", key="semantic", embedding=vector((0, 0.95)))
    remember(query, "Zanzibar cardamom inventory", key="lexical", embedding=vector((9, 0.9)))
    remember(query, "A person", title="Quill Zephyr", key="name", layer="entity", embedding=vector((9, 0.9)))
    question = {
        "semantic": "boats",
        "lexical": "zanzibar cardamom inventory boats",
        "name": "quill zephyr boats",
    }

    best = search(
        query, question[arm], embedding=vector((0, 1.0)) if arm == "semantic" else vector((20, 1.0))
    )[0]

    assert best["key"] == arm
    assert arm in best["explanation"]["arms"]


@pytest.mark.parametrize("counted", [False, True])
def test_a_rare_word_outweighs_a_common_one(query: Query, counted: bool) -> None:
    for number in range(9):
        remember(query, f"The harbour in month {number}", key=f"common-{number}")
    remember(query, "The anemometer on the mole", key="rare")
    if counted:
        count_words(query)

    hits = search(query, "harbour anemometer", k=20)

    assert hits[0]["key"] == "rare"
    assert len(hits) == 10
    words = hits[0]["explanation"]["arms"]["lexical"]["words"]
    assert words == {"anemomet": pytest.approx(idf(1, 10), abs=1e-3)}
    assert hits[1]["explanation"]["arms"]["lexical"]["words"]["harbour"] == pytest.approx(
        idf(9, 10), abs=1e-3
    )


def test_statistics_change_no_answer_when_they_are_fresh(query: Query) -> None:
    for number, body in enumerate(["tide gauge", "tide table", "gauge house", "gauge gauge tide"]):
        remember(query, body, key=str(number))
    before = relevances(search(query, "tide gauge house"))

    count_words(query)

    assert relevances(search(query, "tide gauge house")) == pytest.approx(before, abs=TINY)


def test_a_word_newer_than_the_statistics_still_finds(query: Query) -> None:
    remember(query, "tide gauge", key="old")
    count_words(query)
    remember(query, "theodolite", key="new")

    assert keys(search(query, "the tide at the theodolite"))[0] == "new"


def test_unknown_words_do_not_hide_a_common_one(query: Query) -> None:
    query(
        "INSERT INTO recall.lexeme (tenant, word, documents) "
        "VALUES ('acme', '', 9000), ('acme', 'harbour', 5000)"
    )
    remember(query, "The harbour", key="harbour")

    assert keys(search(query, "qwertyuiop harbour")) == ["harbour"]


def test_a_long_question_of_unknown_words_still_finds_by_the_known_ones(query: Query) -> None:
    remember(query, "The anemometer on the mole", key="mole")
    count_words(query)

    assert keys(search(query, " ".join(f"unheard{n}" for n in range(40)) + " anemometer mole")) == ["mole"]


def test_more_matching_words_are_more_relevant(query: Query) -> None:
    remember(query, "tide", key="one")
    remember(query, "tide and surge", key="two")
    remember(query, "tide and surge and swell", key="three")

    assert keys(search(query, "tide surge swell")) == ["three", "two", "one"]


def test_the_body_outweighs_the_context(query: Query) -> None:
    remember(query, "theodolite", key="body")
    remember(query, "something else", context="theodolite", key="context")

    hits = search(query, "theodolite")

    assert keys(hits) == ["body", "context"]
    assert hits[0]["relevance"] > hits[1]["relevance"]


@pytest.mark.parametrize("field", ["title", "author", "context", "tags", "aliases"])
def test_every_described_field_is_searched_by_words(query: Query, field: str) -> None:
    value: Any = ["theodolite"] if field in ("tags", "aliases") else "theodolite"
    remember(query, "A text", key="wanted", **{field: value})

    assert keys(search(query, "where was the theodolite left")) == ["wanted"]


def test_an_author_named_in_the_question_counts(query: Query) -> None:
    remember(query, "I mended the pump", author="Mira Okafor", key="mira")
    remember(query, "I mended the pump", author="Tomas Lindqvist", key="tomas")

    hits = search(query, "did Tomas mend the pump")

    assert hits[0]["key"] == "tomas"
    assert hits[0]["explanation"]["relevance"]["author"] > 0
    assert hits[1]["explanation"]["relevance"]["author"] == 0


def test_a_memory_without_embedding_is_found_beside_embedded_ones(query: Query) -> None:
    remember(query, "the anemometer", key="bare")
    remember(query, "gulls", key="embedded", embedding=vector((0, 0.9)))

    hits = search(query, "anemometer", embedding=vector((0, 1.0)))

    assert set(keys(hits)) == {"bare", "embedded"}
    assert "semantic" not in next(h for h in hits if h["key"] == "bare")["explanation"]["arms"]


def test_a_zero_vector_makes_no_memory_win(query: Query) -> None:
    zero = "[" + ",".join(["0"] * DIMENSIONS) + "]"
    remember(query, "tide", key="zero", embedding=vector((1, 0.5)))
    query("UPDATE recall.vector_shared SET embedding = %s", (zero,))
    remember(query, "tide", key="near", embedding=vector((0, 0.99)))

    hits = search(query, "tide", embedding=vector((0, 1.0)))

    assert keys(hits) == ["near", "zero"]
    assert all(math.isfinite(hit["score"]) for hit in hits)


def test_a_question_that_is_nothing_but_a_name_is_about_it(query: Query) -> None:
    remember(query, "He sails.", title="Cedric Hurst", key="cedric", layer="entity")
    remember(query, "The storm of the year.", title="Storm Ylva", key="storm")
    remember(query, "storm storm storm ylva ylva ylva retro", title="Retro after Storm Ylva", key="retro")
    query("SELECT recall.refresh_lexemes()")
    assert keys(search(query, "Cedrik Hirst"))[0] == "cedric"
    assert keys(search(query, "storm  ylva"))[0] == "storm"
    [hit] = [row for row in search(query, "storm ylva") if row["key"] == "storm"]
    assert hit["explanation"]["arms"]["name"] == {"likeness": 1, "alone": True}
