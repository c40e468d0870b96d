"""The adapter of queries: a small linear map between the vectors of queries and those of memories.

What applies to a query often looks unlike it: "give version numbers when I ask about libraries" and "which
libraries do we use?". The adapter moves a query q to q + (q A) B, at length 1, where A has few columns and
B as many rows. Vectors of memories stay as they are, so it may change without embedding anything again. Each
model has its own, fitted to our own judged queries and pairs (`benchmarks/query_adapter.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pgrecall.nouns.embedding import TokenSigns
from pgrecall.search.embed.embedder import TokenEmbedder, Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ADAPTER = Path(__file__).with_name("minilm_queries.npy")
"""A, and B transposed, of all-MiniLM-L6-v2."""


class AdaptedQueries:
    """Embeds queries with an embedder of memories, and adapts their vectors; token signs stay.

    Args:
        embedder: gives the vectors of memories, those of all-MiniLM-L6-v2.
        name: the name of the embedder.
        dimensions: the length of its vectors.
    """

    def __init__(self, embedder: TokenEmbedder, name: str, dimensions: int) -> None:
        self._embedder = embedder
        self.name = name
        self.dimensions = dimensions

    def __repr__(self) -> str:
        return f"AdaptedQueries({self._embedder!r})"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return [vector for vector, _ in self.embed_with_tokens(texts, 0)]

    def embed_with_tokens(self, texts: Sequence[str], max_signs: int) -> list[tuple[list[float], TokenSigns]]:
        import numpy as np

        made = self._embedder.embed_with_tokens(texts, max_signs)
        if not made:
            return []
        plain = np.array([vector for vector, _ in made], dtype=np.float32)
        moved = adapted(plain, ADAPTER).tolist()
        return [(vector, signs) for vector, (_, signs) in zip(moved, made, strict=True)]


def adapted(vectors: NDArray[np.float32], adapter: Path) -> NDArray[np.float32]:
    """The unit vectors to which the adapter in this file moves the vectors of queries, both one a row."""
    import numpy as np

    first, second = _factors(adapter)
    moved = vectors + vectors @ first @ second.T
    unit: NDArray[np.float32] = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


@cache
def _factors(adapter: Path) -> NDArray[np.float32]:
    import numpy as np

    factors: NDArray[np.float32] = np.load(adapter, allow_pickle=False)
    return factors
