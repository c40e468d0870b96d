"""Passages: parts of a long text, each with its own vector, so that an embedder reads all of it.

A text that fits into the embedder's window has none. Another is cut at paragraphs, else at lines, sentences
or spaces, so that each passage with the title in front of it fits. The passages that the vector of the memory
itself has read are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeGuard

from pgrecall.nouns.embedding import EmbeddedPassage
from pgrecall.search.embed.embedder import (
    TEXT_TOKENS,
    Embedder,
    as_embedder_error,
    embed_texts,
    embed_with_tokens,
    embedding_text,
)

if TYPE_CHECKING:
    from pgrecall.nouns.embedding import Embedded

MAX_CHARACTERS = 1_000_000
"""Of a body: a longer one is refused."""

MAX_PASSAGES = 1_200
"""Of one memory: a million characters of English, or 300,000 of Chinese. Only words find the text beyond."""

MAX_WINDOW = 510
"""Pieces of a passage: embedders that read more lose the details of long texts in one vector."""

WINDOW = 250
"""Pieces of a passage where the embedder does not say how many it reads."""

# Without a tokenizer: about as many pieces as WordPiece makes of English, and one for every other character.
_PIECE = re.compile(r"[A-Za-z]{1,6}|[0-9]{1,2}|[^\sA-Za-z0-9]")
# The best border first: a paragraph, a line, a sentence, a space.
_BORDERS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"[.!?\u2026][\"')\]\u2019\u201d]*\s+|[\u3002\uff01\uff1f]\s*"),
    re.compile(r"\s+"),
)


class PieceEmbedder(Embedder, Protocol):
    """An embedder that knows how much of a text it reads."""

    @property
    def max_tokens(self) -> int:
        """The most tokens of a text that it reads."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token of the whole text, in characters, in ascending order.

        Raises:
            EmbedderError: the tokenizer failed.
        """


def counts_pieces(embedder: Embedder) -> TypeGuard[PieceEmbedder]:
    """Whether an embedder is a PieceEmbedder. Its class answers, so that no model is loaded."""
    return hasattr(type(embedder), "token_spans")


class Span(NamedTuple):
    """Characters of a body, from 0; ``end`` excluded."""

    start: int
    end: int


def embed_memories(embedder: Embedder, texts: Sequence[tuple[str, str]]) -> list[Embedded]:
    """Checked vectors of memories, given as title and body, with token signs and passages.

    Raises:
        EmbedderError: the embedder failed, or did not return one vector of its dimensions for each text.
    """
    made = embed_with_tokens(embedder, [embedding_text(*text) for text in texts], TEXT_TOKENS)
    spans = passage_spans(embedder, texts)
    passages = [
        passage_text(title, body, span)
        for (title, body), found in zip(texts, spans, strict=True)
        for span in found
    ]
    vectors = iter(embed_texts(embedder, passages) if passages else ())
    return [
        embedded._replace(passages=tuple(EmbeddedPassage(*span, next(vectors)) for span in found))
        for embedded, found in zip(made, spans, strict=True)
    ]


def passage_spans(embedder: Embedder, texts: Sequence[tuple[str, str]]) -> list[tuple[Span, ...]]:
    """The passages of each memory, given as title and body, that the embedder does not read at its head.

    Raises:
        EmbedderError: the tokenizer failed.
    """
    bodies = [body[:MAX_CHARACTERS].rstrip() for _, body in texts]
    parts = [part for (title, _), body in zip(texts, bodies, strict=True) for part in (title[:200], body)]
    if counts_pieces(embedder):
        with as_embedder_error(embedder):
            window = min(embedder.max_tokens, MAX_WINDOW)
            ends = [[end for _, end in embedder.token_spans(part)] for part in parts]
    else:
        window, ends = WINDOW, [estimated_ends(part) for part in parts]
    return [
        _spans(body, of_body, window, len(of_title))
        for body, of_title, of_body in zip(bodies, ends[::2], ends[1::2], strict=True)
    ]


def passage_text(title: str, body: str, span: Span) -> str:
    """The text of a passage to embed: after the title, or its first 200 characters."""
    return embedding_text(title[:200].rstrip(), body[span.start : span.end])


def estimated_ends(text: str) -> list[int]:
    """Where pieces of a text end, about as a tokenizer would cut it."""
    return [match.end() for match in _PIECE.finditer(text)]


def _spans(body: str, ends: Sequence[int], window: int, title: int) -> tuple[Span, ...]:
    if title + len(ends) <= window:
        return ()
    read = ends[max(window - title, 1) - 1]
    spans = split(body, ends, max(window - title, window // 2))
    return tuple(span for span in spans if span.end > read)


def split(body: str, ends: Sequence[int], window: int) -> tuple[Span, ...]:
    """Cuts a text into at most 1,200 spans without space at either end.

    Args:
        ends: where the pieces of the text end, ascending.
        window: the most pieces of a span, at least 1.
    """
    cuts, start = [0], 0
    while start < len(body) and len(cuts) <= MAX_PASSAGES:
        first = bisect_right(ends, start)
        left = len(ends) - first
        if left <= window:
            start = len(body)
        else:
            # The last two share what is left, so that no passage is a scrap.
            longest = min(window, left // 2 + window // 4 + 1)
            start = _border(body, ends[first + max(1, longest // 2) - 1], ends[first + longest - 1])
        cuts.append(start)
    return tuple(span for span in (_trimmed(body, *cut) for cut in pairwise(cuts)) if span.start < span.end)


def _border(body: str, low: int, high: int) -> int:
    """Returns the last place of the best kind to cut within these characters, ``low`` excluded."""
    for pattern in _BORDERS:
        found = [match.end() for match in pattern.finditer(body, low, high) if match.end() > low]
        if found:
            return found[-1]
    return high


def _trimmed(body: str, start: int, end: int) -> Span:
    text = body[start:end]
    return Span(start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip()))
