"""Why a memory was found: explanations, the names in a question, and what was skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pgrecall import Memory
from pgrecall.errors import EmbedderError
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.integration.search.search_tools import remember, search

pytestmark = pytest.mark.in_turns


def test_an_explanation_can_be_left_out(query: Query) -> None:
    remember(query, "harbour", key="a")

    with_it, without = search(query, "harbour")[0], search(query, "harbour", explain=False)[0]

    assert without["explanation"] is None
    assert with_it | {"explanation": None} == without


@pytest.mark.parametrize(
    ("question", "embedded", "names"),
    [
        ("what does Cedric Hurst pay", "what does pay", ["cedric hurst"]),
        ("what did Mira Okafor say about the pump", "what did say about the pump", ["mira okafor", "mira"]),
        ("what did mira say about the pump", "what did say about the pump", ["mira"]),
        ("where is Mira's pump", "where is pump", ["mira"]),
        ("where is Mira’s pump", "where is pump", ["mira"]),
        ("Ceddy pays for the pump", "pays for the pump", ["ceddy"]),
        ("the miracle at the pump", "the miracle at the pump", []),
        (
            "is the pump at J. R. (Bob) Dobbs+Sons* [Ltd]?",
            "is the pump at J. R. (Bob) Dobbs+Sons* [Ltd]?",
            [],
        ),
        ("the pump of dr.no-one", "the pump of", ["dr.no-one"]),
        ("the pump of drxno-one", "the pump of drxno-one", []),
        ("Cedric Hurst and Mira Okafor", "Cedric Hurst and Mira Okafor", []),
        ("who is Mira?", "who is Mira?", []),
    ],
)
def test_names_are_taken_out_of_the_embedded_question(
    query: Query, question: str, embedded: str, names: list[str]
) -> None:
    remember(query, "A", title="Cedric Hurst", layer="entity", aliases=["Ceddy"])
    remember(query, "B", title="J. R. (Bob) Dobbs+Sons* [Ltd]", layer="entity")
    remember(query, "C", title="Dr.No-One", layer="entity")
    remember(query, "The pump is mended", author="Mira Okafor")

    (answer,) = query("SELECT query, names FROM recall.queries_without_names(ARRAY[%s])", (question,))

    assert answer == {"query": embedded, "names": names}


class Recording(HashEmbedder):
    """A hash embedder that keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(DIMENSIONS)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.extend(texts)
        return super().embed(texts)


def test_the_client_embeds_the_question_without_names(memory: Memory, settings: Settings) -> None:
    memory.remember("The pump is mended", author="Mira Okafor", key="pump")
    embedder = Recording()

    with Memory(settings=settings, embedder=embedder) as client:
        found = client.search("what did Mira Okafor mend at the pump")

    assert embedder.asked == ["what did mend at the pump"]
    assert found.names == ("mira okafor", "mira")
    assert found.skipped == ()
    assert found.hits[0].key == "pump"


class Down(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        del texts
        raise EmbedderError("The endpoint does not answer.")


def test_words_answer_when_the_embedder_is_down(memory: Memory, settings: Settings) -> None:
    memory.remember("the harbour contract", key="contract")

    with Memory(settings=settings, embedder=Down(DIMENSIONS)) as client:
        found = client.search("harbour contract")

    assert [hit.key for hit in found.hits] == ["contract"]
    assert found.skipped == ("meaning: The endpoint does not answer.",)
    assert "semantic" not in found.hits[0].explanation["arms"]


def test_words_answer_without_an_embedder(memory: Memory, settings: Settings) -> None:
    memory.remember("the harbour contract", key="contract")

    with Memory(settings=replace(settings, embedder="none")) as client:
        client.remember("the harbour crane", key="crane")
        found = client.search("harbour contract")

    assert [hit.key for hit in found.hits] == ["contract", "crane"]
    assert found.skipped == ("meaning: no embedder is configured",)
