"""Embedders that treat queries and memories differently: by a prefix (E5, nomic), or an input type
(Cohere)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgrecall.nouns.embedding import TokenSigns
from pgrecall.search.embed.embedder import Embedder, TokenEmbedder, Vectors
from pgrecall.search.embed.passages import counts_pieces


def with_prefixes(
    memories: Embedder, queries: Embedder, *, memory_prefix: str = "", query_prefix: str = ""
) -> Embedder:
    """Returns an embedder for both, which share one vector space.

    Args:
        memories: gives the vectors of memories, and the name of the whole.
        queries: gives the vectors of queries; may be the same one.
        memory_prefix: put before each memory; part of the name, because it changes every stored vector.
        query_prefix: put before each query.
    """
    name = f"{memories.name}, after {memory_prefix!r}" if memory_prefix else memories.name
    kind: type[PrefixedEmbedder] = PrefixedEmbedder
    if isinstance(memories, TokenEmbedder):
        kind = PrefixedPieceEmbedder if counts_pieces(memories) else PrefixedTokenEmbedder
    return kind(memories, memory_prefix, name, kind(queries, query_prefix, name))


class PrefixedEmbedder:
    """Puts a prefix before each text. ``for_queries`` is the embedder of queries, by default this one."""

    def __init__(
        self, inner: Embedder, prefix: str, name: str, for_queries: PrefixedEmbedder | None = None
    ) -> None:
        self._inner: Any = inner
        self._prefix = prefix
        self.name = name
        self.for_queries: Embedder = for_queries or self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r}, {self._prefix!r})"

    @property
    def dimensions(self) -> int:
        length: int = self._inner.dimensions
        return length

    @property
    def known_dimensions(self) -> int | None:
        """The dimensions, None if only the model can tell."""
        known: int | None = getattr(self._inner, "known_dimensions", None)
        return known

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = self._inner.embed(self._prefixed(texts))
        return vectors

    def close(self) -> None:
        """Closes the connections of both."""
        for embedder in {self._inner, getattr(self.for_queries, "_inner", self._inner)}:
            if hasattr(embedder, "close"):
                embedder.close()

    def _prefixed(self, texts: Sequence[str]) -> list[str]:
        return [self._prefix + text for text in texts]


class PrefixedTokenEmbedder(PrefixedEmbedder):
    """The same with token signs, those of the prefix included."""

    def embed_with_tokens(
        self, texts: Sequence[str], max_signs: int
    ) -> Sequence[tuple[list[float], TokenSigns]]:
        made: Sequence[tuple[list[float], TokenSigns]] = self._inner.embed_with_tokens(
            self._prefixed(texts), max_signs
        )
        return made


class PrefixedPieceEmbedder(PrefixedTokenEmbedder):
    """A PrefixedEmbedder with the places of tokens, without those of the prefix."""

    @property
    def max_tokens(self) -> int:
        left: int = self._inner.max_tokens - len(self._inner.token_spans(self._prefix))
        return left

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = self._inner.token_spans(text)
        return spans
