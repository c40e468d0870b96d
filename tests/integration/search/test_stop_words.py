"""Questions of stop words alone: searched by meaning, or refused where there is no vector."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from pgrecall import InvalidInput, Memory
from pgrecall.arguments import SearchOptions
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query

pytestmark = pytest.mark.in_turns

QUESTION = "Where are they?"
VECTOR = HashEmbedder(DIMENSIONS).embed([QUESTION])[0]


def test_a_question_of_stop_words_is_searched_by_meaning(memory: Memory) -> None:
    memory.remember("the oysters are at Pellworth", key="oysters")

    found = memory.search(QUESTION)

    assert [hit.key for hit in found.hits] == ["oysters"]
    assert found.skipped == ()
    assert "lexical" not in found.hits[0].explanation["arms"]
    assert memory.context(QUESTION).skipped == ()


def test_sql_answers_it_with_a_vector_and_refuses_it_without(query: Query, memory: Memory) -> None:
    memory.remember("the oysters are at Pellworth", key="oysters")

    [row] = query("SELECT key FROM recall.search(%s, p_embedding => %s::halfvec)", (QUESTION, str(VECTOR)))

    assert row["key"] == "oysters"
    with pytest.raises(psycopg.Error, match=r"holds only stop words\.") as refused:
        query("SELECT key FROM recall.search(%s)", (QUESTION,))
    assert "needs an embedding" in (refused.value.diag.message_hint or "")


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"weights": {"semantic": 0.0}}, "only stop words"),
        ({"queries": ["?!"]}, "'\\?!' holds no letter or digit"),
    ],
)
def test_without_meaning_or_without_a_letter_it_is_refused(
    memory: Memory, options: SearchOptions, refused: str
) -> None:
    memory.remember("harbour")

    with pytest.raises(InvalidInput, match=refused):
        memory.search(QUESTION, **options)


@pytest.mark.parametrize("question", ["\N{OYSTER}", "\N{OYSTER}\N{WATER WAVE}", "\u2764\ufe0f", "=>"])
def test_symbols_alone_are_searched_by_meaning(memory: Memory, settings: Settings, question: str) -> None:
    memory.remember("the oysters are at Pellworth", key="oysters")

    found = memory.search(question)

    assert [hit.key for hit in found.hits] == ["oysters"]
    assert found.skipped == ()
    assert [hit.key for hit in memory.search("", queries=[question]).hits] == ["oysters"]
    with (
        Memory(settings=replace(settings, embedder="none")) as wordless,
        pytest.raises(InvalidInput, match="Symbols alone are searched by meaning, which needs an embedding"),
    ):
        wordless.search(question)


@pytest.mark.parametrize("question", ["?! ...", "\u00a0\u2003", "\u201e\u2026\u201c"])
def test_punctuation_is_refused_with_a_vector_too(memory: Memory, question: str) -> None:
    memory.remember("harbour")

    with pytest.raises(InvalidInput, match="no letter or digit") as told:
        memory.search(question)
    assert "embedding" not in str(told.value)


def test_a_client_without_an_embedder_says_what_is_missing(settings: Settings) -> None:
    with Memory(settings=replace(settings, embedder="none")) as memory:
        memory.remember("harbour")
        with pytest.raises(InvalidInput, match="Stop words alone are searched by meaning"):
            memory.search(QUESTION)
