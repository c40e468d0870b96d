"""Embedders: texts become unit vectors, by a local model, over HTTP, or by hashing their words."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Protocol, runtime_checkable

from pgrecall.errors import EmbedderError, InvalidInput, RecallError
from pgrecall.nouns.embedding import Embedded, TokenSigns
from pgrecall.search.embed.vector_checks import check_vectors
from pgrecall.search.foreign_words import described

Vectors = list[list[float]]

TEXT_TOKENS = 32
"""Maximum number of token signs of a memory."""

QUESTION_TOKENS = 16
"""Maximum number of token signs of a query."""

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_DIMENSIONS = 384
MULTILINGUAL_MODEL = "multilingual-e5-small"
"""The model for other languages that can be had as a package; its vectors have as many dimensions."""

_WORD = re.compile(r"\w+")


class Embedder(Protocol):
    """Turns texts into unit vectors; may be shared between threads."""

    @property
    def name(self) -> str:
        """Stored with each vector; vectors of different names are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of every vector; may load a model or ask an endpoint the first time."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text, in the order of the texts.

        Raises:
            EmbedderError: the embedder failed or returned unexpected vectors.
        """


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that also returns the signs of token states."""

    def embed_with_tokens(
        self, texts: Sequence[str], max_signs: int
    ) -> Sequence[tuple[list[float], TokenSigns]]:
        """The unit vector of each text, and at most ``max_signs`` bit strings, as bytes of one length.

        Raises:
            EmbedderError: the embedder failed or returned unexpected vectors.
        """


@runtime_checkable
class LearnsDimensions(Protocol):
    """An embedder that may know its dimensions only after loading a model or asking an endpoint."""

    @property
    def known_dimensions(self) -> int | None:
        """The dimensions, None as long as they are not known."""


def is_default_model(model: str | None) -> bool:
    """Whether the local embedder of this name is the default one, which loads in a fraction of a second."""
    return model is None or model in (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}")


def for_queries(embedder: Embedder) -> Embedder:
    """The embedder's attribute ``for_queries``: the embedder of queries, if it is another one."""
    queries: Embedder = getattr(embedder, "for_queries", embedder)
    return queries


def embedding_text(title: str, body: str) -> str:
    """The text of a memory to embed; its context and author are only in the text index."""
    return f"{title}\n{body}" if title else body


def dimensions_of(embedder: Embedder | None) -> int:
    """Dimensions of a new database: the embedder's, else those of the default model."""
    return embedder.dimensions if embedder else DEFAULT_DIMENSIONS


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Checked vectors of these texts; a user's own embedder may raise anything and return anything.

    Raises:
        EmbedderError: it failed, or did not return one vector of its dimensions for each text.
    """
    return check_vectors(_embedded(embedder, texts), len(texts), embedder.dimensions, embedder.name)


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    with as_embedder_error(embedder):
        return [list(map(float, vector)) for vector in embedder.embed(texts)]


def embed_with_tokens(embedder: Embedder, texts: Sequence[str], max_signs: int) -> list[Embedded]:
    """Checked vectors, and the signs of at most ``max_signs`` tokens of each text if the embedder has them.

    Raises:
        EmbedderError: as ``embed_texts``.
    """
    # As isinstance of TokenEmbedder would say, which costs as much as sending a query.
    embed: Callable[..., Sequence[tuple[list[float], TokenSigns]]] | None = getattr(
        embedder, "embed_with_tokens", None
    )
    if embed is None:
        return [Embedded(vector) for vector in embed_texts(embedder, texts)]
    with as_embedder_error(embedder):
        made = [(list(map(float, vector)), signs) for vector, signs in embed(texts, max_signs)]
    vectors = check_vectors([vector for vector, _ in made], len(texts), embedder.dimensions, embedder.name)
    return [Embedded(vector, signs) for vector, (_, signs) in zip(vectors, made, strict=True)]


@contextmanager
def as_embedder_error(embedder: Embedder) -> Iterator[None]:
    """Turns any error of a user's own embedder into an EmbedderError."""
    try:
        yield
    except RecallError:
        raise
    except Exception as error:  # a user's own embedder may raise anything
        raise EmbedderError(
            f"The embedder {embedder.name} failed: {described(error)}.",
            hint="Correct it, or choose another with PGRECALL_EMBEDDER.",
        ) from error


class HashEmbedder:
    """Deterministic vectors computed from words: texts that share words are similar. For tests."""

    def __init__(self, dimensions: int = 64) -> None:
        if dimensions < 1:
            raise InvalidInput(f"A vector cannot have {dimensions} dimensions.", hint="Give at least 1.")
        self.dimensions = dimensions
        self.name = f"hash-{dimensions}"

    def __repr__(self) -> str:
        return f"HashEmbedder({self.dimensions})"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return [self._embed_one(text) for text in texts]

    def embed_with_tokens(self, texts: Sequence[str], max_signs: int) -> list[tuple[list[float], TokenSigns]]:
        signs = [self._signs(text, max_signs) for text in texts]
        return list(zip(self.embed(texts), signs, strict=True))

    def _signs(self, text: str, max_signs: int) -> TokenSigns:
        """Returns a bit string for each word of four letters or more; about half of the bits of two words
        differ."""
        words = dict.fromkeys(_singular(word) for word in _WORD.findall(text.casefold()) if len(word) > 3)
        return tuple(
            hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            for word in list(words)[:max_signs]
        )

    def _embed_one(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        folded = text.casefold()
        for word in _WORD.findall(folded) or folded.split():  # a lone emoji or sign counts as a word
            for place in _places(word):
                vector[(place >> 1) % self.dimensions] += 1.0 if place & 1 else -1.0
        length = math.hypot(*vector)
        if length == 0.0:  # no words, or words that cancel each other
            return [1.0] + [0.0] * (self.dimensions - 1)
        return [value / length for value in vector]


@lru_cache(10_000)
def _places(word: str) -> tuple[int, ...]:
    """Returns four numbers of a word: words that collide in one still differ in the others."""
    digest = hashlib.blake2b(_singular(word).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return struct.unpack("<4I", digest)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
