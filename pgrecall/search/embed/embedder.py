"""Embedders: texts become unit vectors, by a local model, over HTTP, or by hashing their words."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, assert_never

from pgrecall.errors import EmbedderError, InvalidInput, RecallError
from pgrecall.search.embed.local import DEFAULT_DIMENSIONS, LocalEmbedder
from pgrecall.search.embed.vectors import Vectors, check_vectors
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall.search.embed.http import HttpEmbedder

__all__ = [
    "Embedder",
    "HashEmbedder",
    "HttpEmbedder",
    "LocalEmbedder",
    "Vectors",
    "check_vectors",
    "dimensions_of",
    "embed_texts",
    "embedding_text",
    "make_embedder",
]

_WORD = re.compile(r"\w+")


class Embedder(Protocol):
    """What turns texts into unit vectors; may be shared between threads."""

    @property
    def name(self) -> str:
        """Stored beside each vector; vectors of two names are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of every vector; may load a model or ask an endpoint the first time."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text, in the order of the texts.

        Raises:
            EmbedderError: there are no vectors, or not the promised ones.
        """


def embedding_text(title: str, body: str) -> str:
    """What is embedded of a memory; its context and author are for the words index only."""
    return f"{title}\n{body}" if title else body


def dimensions_of(embedder: Embedder | None) -> int:
    """How many dimensions a new database is made for: the embedder's, else those of the default model."""
    return embedder.dimensions if embedder else DEFAULT_DIMENSIONS


def make_embedder(settings: Settings) -> Embedder | None:
    """The embedder the settings name, or None for ``none``. No model is loaded, nothing is sent.

    Raises:
        InvalidInput: ``http`` lacks its URL or its model.
        MissingExtra: ``local`` without pgrecall[local].
    """
    match settings.embedder:
        case "none":
            return None
        case "hash":
            return HashEmbedder(settings.embedder_dimensions or 64)
        case "local":
            return LocalEmbedder(
                settings.embedder_model, settings.embedder_batch, dimensions=settings.embedder_dimensions
            )
        case "http":
            from pgrecall.search.embed.http import HttpEmbedder

            return HttpEmbedder(
                _required(settings.embedder_url, "PGRECALL_EMBEDDER_URL"),
                _required(settings.embedder_model, "PGRECALL_EMBEDDER_MODEL"),
                dimensions=settings.embedder_dimensions,
                key=settings.embedder_key,
                timeout=settings.embedder_timeout,
                batch=settings.embedder_batch,
            )
    assert_never(settings.embedder)


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Checked vectors of these texts. An embedder of the user's own may fail in any way and return anything.

    Raises:
        EmbedderError: it failed, or did not return one vector of the promised length for each text.
    """
    return check_vectors(_embedded(embedder, texts), len(texts), embedder.dimensions, embedder.name)


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    try:
        return [list(map(float, vector)) for vector in embedder.embed(texts)]
    except RecallError:
        raise
    except Exception as error:  # one of somebody's own fails in any way it likes
        said = (str(error).strip().splitlines() or [""])[0].rstrip(".")
        raise EmbedderError(
            f"The embedder {embedder.name} failed: {type(error).__name__}{f': {said}' if said else ''}.",
            hint="Correct it, or choose another with PGRECALL_EMBEDDER.",
        ) from error


def __getattr__(name: str) -> object:
    if name != "HttpEmbedder":
        raise AttributeError(f"module 'pgrecall.search.embed.embedder' has no attribute {name!r}")
    from pgrecall.search.embed.http import HttpEmbedder

    return HttpEmbedder


def _required(value: str | None, variable: str) -> str:
    if not value:
        raise InvalidInput(
            f"The http embedder needs {variable}.",
            hint="Set it, or choose another embedder with PGRECALL_EMBEDDER.",
        )
    return value


class HashEmbedder:
    """Deterministic vectors from the words alone: texts that share words are near. For tests."""

    def __init__(self, dimensions: int = 64) -> None:
        if dimensions < 1:
            raise InvalidInput(f"A vector cannot have {dimensions} dimensions.", hint="Give at least 1.")
        self.dimensions = dimensions
        self.name = f"hash-{dimensions}"

    def __repr__(self) -> str:
        return f"HashEmbedder({self.dimensions})"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        folded = text.casefold()
        for word in _WORD.findall(folded) or folded.split():  # a lone emoji or sign counts as a word
            digest = hashlib.blake2b(
                _singular(word).encode("utf-8", "surrogatepass"), digest_size=16
            ).digest()
            # Four places a word: two words that collide in one still differ in the others.
            for start in range(0, 16, 4):
                place = int.from_bytes(digest[start : start + 4], "little")
                vector[(place >> 1) % self.dimensions] += 1.0 if place & 1 else -1.0
        length = math.hypot(*vector)
        if length == 0.0:  # no words, or words that cancel each other
            return [1.0] + [0.0] * (self.dimensions - 1)
        return [value / length for value in vector]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
