"""The HTTP embedder: any endpoint that speaks OpenAI's ``POST /v1/embeddings``."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.search.embed.embedder import Vectors
from pgrecall.search.embed.vector_checks import check_vectors
from pgrecall.search.endpoint_limits import MORE_BYTES
from pgrecall.search.http_endpoint import Endpoint, ErrorWording
from pgrecall.search.http_service import HttpService, address_of
from pgrecall.setting_types import Secret

_PREFIX = "PGRECALL_EMBEDDER"
_WORDING = ErrorWording(
    noun="embedder",
    prefix=_PREFIX,
    error=EmbedderError,
    slow=f"Raise {_PREFIX}_TIMEOUT or lower {_PREFIX}_BATCH.",
    refused=f"Check {_PREFIX}_URL, {_PREFIX}_MODEL and the length of the texts.",
)


_NUMBER_BYTES, _NUMBERS = 32, 4_096
"""Bytes of a number as some servers print it, and how many a vector may have at least: fewer would hide that
a model has other dimensions."""


class HttpEmbedder(HttpService):
    """Embeds over HTTP; connections are kept until ``close()``, and threads may share one.

    ``url`` is a base URL, with or without ``/v1``, or a full URL that ends in ``/embeddings``.
    Without ``dimensions`` they are learned from the first answer. Lost connections, timeouts, 429
    and 5xx are retried, ``attempts`` times in all; ``timeout`` is in seconds, for each attempt.
    ``fields`` are sent with each request and are part of the name: ``input_type``, by which Cohere and Voyage
    tell a query from a document, or ``dimensions``, to which OpenAI shortens vectors.

        with HttpEmbedder("http://localhost:11434", "nomic-embed-text") as embedder:
            embedder.embed(["a note"])

    Raises:
        InvalidInput: the URL, the key or a number cannot be used.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dimensions: int | None = None,
        key: Secret | None = None,
        timeout: float = 30.0,
        batch: int = 64,
        attempts: int = 3,
        fields: Mapping[str, str | int] | None = None,
    ) -> None:
        if batch < 1 or attempts < 1 or timeout <= 0:
            raise InvalidInput(
                f"The embedder's batch is {batch}, its attempts {attempts} and its timeout {timeout} s.",
                hint="Give a batch and attempts of at least 1, and a timeout above 0.",
            )
        self._request = {"model": model, **(fields or {})}
        self.name = ", ".join([model, *(f"{field} {value}" for field, value in (fields or {}).items())])
        self._dimensions = dimensions
        self._batch = batch
        self._learning = threading.Lock()
        address = address_of(url, _PREFIX, "/embeddings", "/v1")
        self._endpoint = Endpoint(address, _WORDING, key=key, timeout=timeout, attempts=attempts)

    @property
    def dimensions(self) -> int:
        if self._dimensions is not None:
            return self._dimensions
        return len(self.embed(["dimensions"])[0])

    @property
    def known_dimensions(self) -> int | None:
        """The dimensions, None before the first answer."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = []
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            answer = self._endpoint.post(
                {**self._request, "input": list(part)},
                texts=len(part),
                answer_bytes=MORE_BYTES + len(part) * _NUMBER_BYTES * max(self._dimensions or 0, _NUMBERS),
            )
            answered = self._in_order(answer, len(part))
            vectors += check_vectors(answered, len(part), self._dimensions or len(answered[0]), self.name)
            with self._learning:
                self._dimensions = self._dimensions or len(answered[0])
        return vectors

    def _in_order(self, answer: Any, count: int) -> Vectors:
        """Returns the vectors as received, one for each text in their order; the values are not validated."""
        items = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(items, list) or not all(_is_embedding(item) for item in items):
            raise EmbedderError(
                f"The embedder at {self._endpoint.shown} answered with something "
                "that is not a list of embeddings.",
                hint="Check that PGRECALL_EMBEDDER_URL speaks the OpenAI embeddings API.",
            )
        if sorted(item["index"] for item in items) != list(range(count)):
            raise EmbedderError(
                f"The embedder at {self._endpoint.shown} returned {len(items)} embeddings for {count} texts, "
                f"or did not number them 0 to {count - 1}.",
                hint="Check that it embeds lists of texts, or set PGRECALL_EMBEDDER_BATCH to 1.",
            )
        return [item["embedding"] for item in sorted(items, key=lambda item: item["index"])]


def _is_embedding(item: object) -> bool:
    return (
        isinstance(item, dict) and type(item.get("index")) is int and isinstance(item.get("embedding"), list)
    )
