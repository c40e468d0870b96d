"""A question after one without a name takes one round trip, with the answer of two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from pgrecall import AsyncMemory, Hit, Memory
from pgrecall.nouns.search.models import SearchResult
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.search.rerank.reranker import CallableReranker
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.integration.search.test_search_explained import Recording

QUESTIONS = (
    "what is mended at the harbour",
    "which pump is new",
    "what did Mira Okafor say about the pump",
    "what did mira mend",
    "who pays for  the   pump ",
    "what does Cedric Hurst pay",
    "where is the harbour\tcrane",
    "where is the crane",
    "Mira Okafor",
)


@pytest.fixture(autouse=True)
def _memories(memory: Memory) -> None:
    memory.remember("Cedric Hurst pays for the pump", title="Cedric Hurst", layer="entity")
    memory.remember("The pump at the harbour is mended", author="Mira Okafor", key="pump")
    memory.remember("The crane of the harbour is new", key="crane")
    memory.remember("Mira likes tea", author="Mira Okafor", key="tea")


@contextmanager
def client(settings: Settings, embedder: HashEmbedder | None = None) -> Iterator[Memory]:
    with Memory(settings=settings, embedder=embedder or HashEmbedder(DIMENSIONS)) as opened:
        yield opened


def judged(hits: Sequence[Hit]) -> list[tuple[int, float]]:
    return [(hit.id, round(hit.relevance, 12)) for hit in hits]


def looked_up(result: SearchResult) -> bool:
    """Whether a round trip was spent on names."""
    return "names" in result.timings


def test_every_question_is_answered_as_by_a_new_client(settings: Settings) -> None:
    spared = 0
    with client(settings) as kept:
        for question in QUESTIONS:
            with client(settings) as new:
                expected = new.search(question, log=False)
            found = kept.search(question, log=False)
            assert looked_up(expected)
            assert (judged(found.hits), found.names) == (judged(expected.hits), expected.names), question
            spared += not looked_up(found)
    assert spared == 5  # of those, two in vain


def test_the_asynchronous_client_does_the_same(settings: Settings) -> None:
    async def ask() -> list[SearchResult]:
        async with AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
            return [await memory.search(question, log=False) for question in QUESTIONS]

    import asyncio

    with client(settings) as kept:
        for question, found in zip(QUESTIONS, asyncio.run(ask()), strict=True):
            expected = kept.search(question, log=False)
            assert (judged(found.hits), found.names) == (judged(expected.hits), expected.names)
            assert looked_up(found) == looked_up(expected)


def test_a_name_after_a_nameless_question_costs_a_second_embedding(settings: Settings) -> None:
    embedder = Recording()
    with client(settings, embedder) as memory:
        memory.search("which pump is new")
        memory.search("what did Mira Okafor mend")
        memory.search("what did Mira Okafor mend")
    assert embedder.asked == [
        "which pump is new",
        "what did Mira Okafor mend",  # in vain
        "what did mend",
        "what did mend",
    ]


def test_a_search_that_a_name_ends_is_logged_once(settings: Settings, query: Query) -> None:
    with client(settings) as memory:
        memory.search("which pump is new")
        memory.search("what did Mira Okafor mend")
    rows = query("SELECT query FROM recall.search_log ORDER BY id")
    assert [row["query"] for row in rows] == ["which pump is new", "what did Mira Okafor mend"]


def test_tenants_are_told_apart(settings: Settings) -> None:
    with client(settings) as memory:
        memory.search("which pump is new")
        assert looked_up(memory.for_tenant("other").search("which pump is new"))
        assert not looked_up(memory.search("which pump is new"))


def test_sub_queries_count_too(settings: Settings) -> None:
    queries = ["which crane is new", "what did Mira Okafor mend"]
    with client(settings) as kept, client(settings) as new:
        kept.search("which pump is new")
        found = kept.search("pump", queries=queries, log=False)
        expected = new.search("pump", queries=queries, log=False)
    assert (judged(found.hits), found.names) == (judged(expected.hits), expected.names)
    assert found.names == ("mira okafor", "mira")


def test_reranked_searches_do_the_same(settings: Settings) -> None:
    def read(question: str, texts: Sequence[str]) -> list[float]:
        return [float(len(set(question.split()) & set(text.split()))) for text in texts]

    results = []
    for before in ((), ("which pump is new",)):
        reranker = CallableReranker(read, "letters", "logit")
        with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS), reranker=reranker) as memory:
            for question in before:
                memory.search(question, rerank=True)
            results.append(memory.search("what did Mira Okafor mend", rerank=True, log=False))
    assert results[0].reranked
    assert judged(results[0].hits) == judged(results[1].hits)
    assert results[0].names == results[1].names == ("mira okafor", "mira")


def test_sql_reports_names_instead_of_searching(query: Query) -> None:
    asked = '{"query": "what did Mira mend", "queries": ["the crane"]}'
    before = query("SELECT count(*) AS n FROM recall.search_log")
    for call in ("find(%s, p_unless_named => true)", "search_and_log(%s, p_unless_named => true)"):
        (row,) = query(f"SELECT * FROM recall.{call}", (asked,))
        assert row["id"] is None
        assert row["summary"] == {"named": [["what did mend", ["mira"]], ["the crane", []]]}
        assert row.get("search_id") is None
    assert query("SELECT count(*) AS n FROM recall.search_log") == before


def test_sql_searches_where_nothing_is_named(query: Query) -> None:
    asked = '{"query": "which crane is new"}'
    plain = query("SELECT id, score FROM recall.find(%s)", (asked,))
    assert query("SELECT id, score FROM recall.find(%s, p_unless_named => true)", (asked,)) == plain
    assert plain
