"""Embedders that read queries in another way than memories, and embedders that are down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from pgrecall import EmbedderError, EmbedderMismatch, InvalidInput, Memory
from pgrecall.search.embed.embedder import HashEmbedder, TokenEmbedder, for_queries
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.embed.http import HttpEmbedder
from pgrecall.search.embed.prefixes import with_prefixes
from pgrecall.settings import Settings
from tests.http_endpoint import Endpoint, Reply

DOWN = "http://127.0.0.1:1"


def hashed(request: dict[str, Any]) -> Reply:
    """An OpenAI-style answer with the vectors of the words."""
    vectors = HashEmbedder(request.get("dimensions", 64)).embed(request["input"])
    items = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return Reply(body=json.dumps({"data": items}).encode())


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint(hashed)
    yield made
    made.stop()


def at(url: str, **settings: Any) -> Settings:
    return Settings(embedder="http", embedder_url=url, embedder_model="m", **settings)


def http_embedder(url: str, **settings: Any) -> HttpEmbedder:
    made = make_embedder(at(url, **settings))
    assert isinstance(made, HttpEmbedder)
    return made


def test_prefixes_and_input_types_go_with_queries_and_memories(
    settings: Settings, endpoint: Endpoint
) -> None:
    chosen = replace(
        settings,
        embedder="http",
        embedder_url=endpoint.url,
        embedder_model="m",
        embedder_dimensions=None,
        embedder_query_prefix="query: ",
        embedder_memory_prefix="passage: ",
        embedder_query_type="search_query",
        embedder_memory_type="search_document",
    )
    with Memory(settings=chosen) as memory:
        memory.remember("Mira mends the winch.")
        found = memory.search("Who mends it?")
        assert memory.status().embedder == "m, input_type search_document, after 'passage: '"
    assert [hit.body for hit in found.hits] == ["Mira mends the winch."]
    assert [(each["input_type"], each["input"]) for each in endpoint.requests] == [
        ("search_document", ["passage: Mira mends the winch."]),
        ("search_query", ["query: Who mends it?"]),
    ]


def test_a_prefix_of_queries_alone_leaves_the_name_of_stored_vectors() -> None:
    embedder = make_embedder(Settings(embedder="hash", embedder_query_prefix="query: "))
    assert embedder is not None
    assert embedder.name == "hash-64"
    assert embedder.embed(["text"]) == HashEmbedder(64).embed(["text"])
    assert for_queries(embedder).embed(["text"]) == HashEmbedder(64).embed(["query: text"])
    assert isinstance(embedder, TokenEmbedder)


def test_without_prefixes_it_is_the_embedder_itself() -> None:
    assert type(make_embedder(Settings(embedder="hash"))) is HashEmbedder
    own = HashEmbedder(8)
    assert for_queries(own) is own


def test_an_embedder_without_token_signs_gets_none() -> None:
    class Bare:
        name, dimensions = "bare", 2

        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, float(text.startswith("q "))] for text in texts]

    made = with_prefixes(Bare(), Bare(), query_prefix="q ")
    assert not isinstance(made, TokenEmbedder)
    assert for_queries(made).embed(["x"]) == [[1.0, 1.0]]
    assert made.embed(["x"]) == [[1.0, 0.0]]


def test_an_endpoint_is_asked_to_shorten(endpoint: Endpoint) -> None:
    with closing(http_embedder(endpoint.url, embedder_dimensions=16, embedder_shorten=True)) as embedder:
        assert embedder.name == "m, dimensions 16"
        assert len(embedder.embed(["text"])[0]) == 16
    assert endpoint.requests[0]["dimensions"] == 16


def test_dimensions_alone_are_not_sent(endpoint: Endpoint) -> None:
    with closing(http_embedder(endpoint.url, embedder_dimensions=64)) as embedder:
        embedder.embed(["text"])
    assert set(endpoint.requests[0]) == {"model", "input"}


def test_shortening_needs_a_length() -> None:
    with pytest.raises(InvalidInput, match="PGRECALL_EMBEDDER_SHORTEN") as caught:
        make_embedder(at(DOWN, embedder_shorten=True))
    assert "PGRECALL_EMBEDDER_DIMENSIONS" in caught.value.hint


def test_a_client_opens_and_searches_by_words_while_the_embedder_is_down(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        memory.remember("Mira mends the winch.")
    down = replace(
        settings, embedder="http", embedder_url=DOWN, embedder_model="hash-64", embedder_dimensions=None
    )
    with Memory(settings=down) as memory:
        found = memory.search("winch")
        assert [hit.body for hit in found.hits] == ["Mira mends the winch."]
        assert any(
            reason.startswith("meaning: The embedder at http://127.0.0.1:1") for reason in found.skipped
        )
        with pytest.raises(EmbedderError):
            memory.remember("The ferry was late.")
        assert memory.status().memories == 1


def test_other_dimensions_are_refused_once_they_are_known(settings: Settings, endpoint: Endpoint) -> None:
    endpoint.replies = [lambda request: hashed(request | {"dimensions": 32})]
    other = replace(
        settings, embedder="http", embedder_url=endpoint.url, embedder_model="m", embedder_dimensions=None
    )
    with Memory(settings=other) as memory:
        assert endpoint.requests == []
        for use in (lambda: memory.remember("text"), lambda: memory.search("text")):
            with pytest.raises(EmbedderMismatch, match="m has 32 dimensions, this database 64"):
                use()
        assert memory.status().memories == 0
