"""The default embedder adapts the vectors of queries to those of the memories that answer them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.search.embed import multilingual, query_adapter
from pgrecall.search.embed.embedder import embed_texts, embed_with_tokens, for_queries
from pgrecall.search.embed.local import LocalEmbedder
from pgrecall.search.embed.prefixes import with_prefixes

QUERY = "which libraries do we use?"


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.mark.parametrize(("adapter", "rank"), [(query_adapter.ADAPTER, 8), (multilingual.ADAPTER, 16)])
def test_the_map_is_small(adapter: Path, rank: int) -> None:
    """It moves queries a little, so that what was fitted to their similarities holds."""
    first, second = np.load(adapter, allow_pickle=False)
    assert first.shape == second.shape == (384, rank)
    assert 0.3 < np.linalg.norm(first @ second.T) < rank / 4


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
@settings(max_examples=25)
def test_any_query_has_a_unit_vector_near_to_that_of_its_text(texts: list[str]) -> None:
    embedder = LocalEmbedder()
    adapted, plain = embed_texts(for_queries(embedder), texts), embed_texts(embedder, texts)
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-5) for vector in adapted)
    assert all(np.dot(one, other) > 0.8 for one, other in zip(adapted, plain, strict=True))


def test_only_vectors_are_adapted(embedder: LocalEmbedder) -> None:
    queries = for_queries(embedder)
    assert (queries.name, queries.dimensions) == (embedder.name, embedder.dimensions)
    assert for_queries(queries) is queries
    assert queries.embed([]) == []
    [adapted], [plain] = (embed_with_tokens(one, [QUERY], 16) for one in (queries, embedder))
    assert adapted.tokens == plain.tokens
    assert adapted.vector != plain.vector
    assert queries.embed([QUERY]) == [pytest.approx(adapted.vector, abs=1e-6)]


def test_other_queries_are_as_their_texts(embedder: LocalEmbedder) -> None:
    """With a prefix the model gives other vectors than those the map was fitted to."""
    prefixed = with_prefixes(embedder, embedder, query_prefix="query: ")
    assert for_queries(prefixed).embed([QUERY]) == embedder.embed([f"query: {QUERY}"])
