"""What an embedder makes of a text."""

from __future__ import annotations

from typing import NamedTuple

TokenSigns = tuple[bytes, ...]
"""For each token kept, the signs of its state: a bit for each number; all of one length."""


class EmbeddedPassage(NamedTuple):
    """The unit vector of a passage, which is these characters of a body, from 0; ``end`` excluded."""

    start: int
    end: int
    vector: list[float]


class Embedded(NamedTuple):
    """The unit vector of a text, and the signs of its tokens; None from an embedder that gives none.

    ``passages`` are those of a memory, none if the embedder reads it whole; None for a query.
    """

    vector: list[float]
    tokens: TokenSigns | None = None
    passages: tuple[EmbeddedPassage, ...] | None = None

    def unread(self, body: str) -> int:
        """Characters at the end of the body of this memory that no vector covers."""
        return max(len(body.rstrip()) - self.passages[-1].end, 0) if self.passages else 0
