"""What an embedder makes of a text."""

from __future__ import annotations

from typing import NamedTuple

TokenSigns = tuple[bytes, ...]
"""For each token kept, the signs of its state: a bit for each number; all of one length."""


class Embedded(NamedTuple):
    """The unit vector of a text, and the signs of its tokens; None from an embedder that gives none."""

    vector: list[float]
    tokens: TokenSigns | None = None
