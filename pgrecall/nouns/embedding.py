"""The results of embedding a text."""

from __future__ import annotations

from typing import NamedTuple

TokenSigns = tuple[bytes, ...]
"""For each token kept, the signs of its vector, a bit for each dimension; all of one length."""


class EmbeddedPassage(NamedTuple):
    """The unit vector of a passage: the characters from ``start`` (from 0) to ``end`` (excluded) of a
    body."""

    start: int
    end: int
    vector: list[float]


class Embedded(NamedTuple):
    """The unit vector of a text, and the signs of its tokens; None if the embedder returns none.

    ``passages`` are those of a memory, empty if the embedder reads it whole; None for a query. ``embedder``
    is the name of the one whose memories a query can be compared with; None for a memory.
    """

    vector: list[float]
    tokens: TokenSigns | None = None
    passages: tuple[EmbeddedPassage, ...] | None = None
    embedder: str | None = None

    def unread(self, body: str) -> int:
        """Returns the number of characters at the end of the body of this memory that no vector covers."""
        return max(len(body.rstrip()) - self.passages[-1].end, 0) if self.passages else 0
