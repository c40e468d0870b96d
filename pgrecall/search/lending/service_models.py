"""The embedder and the reranker of a running service, used instead of loading the same models here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pgrecall.errors import EmbedderError, RerankerError
from pgrecall.models.embedding import TokenSigns
from pgrecall.search.embed.embedder import (
    Embedder,
    Vectors,
    check_vectors,
    embed_with_tokens,
    make_embedder,
)
from pgrecall.search.lending.service_client import MODELS, ModelService, ModelServiceError
from pgrecall.search.rerank.batching import BatchingRules, Scorer, rerank_in_batches
from pgrecall.search.rerank.local import CHARACTERS_PER_TOKEN
from pgrecall.search.rerank.reranker import Reranker, make_reranker
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, Scale
from pgrecall.settings import Settings

MAX_TEXTS = 64
MAX_CHARACTERS = 1_000_000
"""Limits of one request, within those of the service."""

ANSWER_SECONDS = 10.0
"""Seconds for an answer, besides the time for its texts: about as long as loading a model takes."""

_TEXTS_A_SECOND = 8
_LATER = 0.5  # seconds after a deadline, when nobody waits for the answer any more
_PAIRS = 25  # a request; as many as a local reranker sorts by length together

Report = Callable[[str], None]


class ServiceEmbedder:
    """The embedder of a service. After a failure it is not asked again: the one
    of the settings is loaded, and
    ``report`` gets the reason."""

    def __init__(
        self, service: ModelService, offer: Mapping[str, Any], settings: Settings, report: Report
    ) -> None:
        self.name: str = str(offer["name"])
        self.dimensions: int = offer["dimensions"]
        self._service = service
        self._settings = settings
        self._report = report
        self._own: Embedder | None = None

    def __repr__(self) -> str:
        return f"ServiceEmbedder({self._service.shown!r}, {self.name!r})"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return [vector for vector, _ in self.embed_with_tokens(texts, 1)]

    def embed_with_tokens(self, texts: Sequence[str], most: int) -> list[tuple[list[float], TokenSigns]]:
        made: list[tuple[list[float], TokenSigns]] = []
        for part in _parts(texts):
            made += self._embed_part(part, most)
        return made

    def _embed_part(self, texts: Sequence[str], most: int) -> list[tuple[list[float], TokenSigns]]:
        if self._own is None:
            try:
                return self._request(texts, most)
            except ModelServiceError as error:
                self._report(
                    f"The service at {self._service.shown} {error}; its embedder is loaded here instead."
                )
                self._own = make_embedder(self._settings)
                assert self._own is not None  # the service had one like it
        return [(one.vector, one.tokens or ()) for one in embed_with_tokens(self._own, texts, most)]

    def _request(self, texts: Sequence[str], most: int) -> list[tuple[list[float], TokenSigns]]:
        seconds = ANSWER_SECONDS + len(texts) / _TEXTS_A_SECOND
        answer = self._service.ask(f"{MODELS}/embed-tokens", {"inputs": list(texts), "most": most}, seconds)
        try:
            vectors = [list(item["vector"]) for item in answer]
            signs = [tuple(bytes.fromhex(token) for token in item["tokens"] or ()) for item in answer]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelServiceError("answered with something that is not vectors") from error
        try:
            checked = check_vectors(vectors, len(texts), self.dimensions, self.name)
        except EmbedderError as error:
            raise ModelServiceError(f"gave no usable vectors ({error.message.rstrip('.')})") from error
        return list(zip(checked, signs, strict=True))


class ServiceReranker:
    """The reranker of a service, with the same fallback."""

    def __init__(
        self, service: ModelService, offer: Mapping[str, Any], settings: Settings, report: Report
    ) -> None:
        self.name: str = str(offer["name"])
        self.scale: Scale = "probability" if offer["scale"] == "probability" else "logit"
        self._service = service
        self._settings = settings
        self._report = report
        self._own: Reranker | None = None

    def __repr__(self) -> str:
        return f"ServiceReranker({self._service.shown!r}, {self.name!r})"

    def rerank(
        self, query: str, candidates: Sequence[RerankCandidate], *, top_n: int, deadline: float | None = None
    ) -> RerankOutcome:
        began = time.monotonic()
        if self._own is None:
            try:
                return self._request(query, candidates, top_n, deadline)
            except RerankerError as error:
                self._report(f"{error.message} Its reranker is loaded here instead.")
                self._own = make_reranker(self._settings)
                assert self._own is not None  # the service had one like it
        left = None if deadline is None else deadline - (time.monotonic() - began)
        return self._own.rerank(query, candidates, top_n=top_n, deadline=left)

    def _request(
        self, query: str, candidates: Sequence[RerankCandidate], top_n: int, deadline: float | None
    ) -> RerankOutcome:
        settings = self._settings
        rules = BatchingRules(
            self.name,
            "logit",
            pairs=settings.reranker_pairs,
            group=_PAIRS,
            characters=CHARACTERS_PER_TOKEN * settings.reranker_tokens,
        )

        def score(question: str, texts: Sequence[str]) -> object:
            return self._scores(
                question, texts, ANSWER_SECONDS + len(texts) if deadline is None else deadline + _LATER
            )

        return rerank_in_batches(
            rules, lambda: Scorer(score, _PAIRS), query, candidates, top_n=top_n, deadline=deadline
        )

    def _scores(self, query: str, texts: Sequence[str], timeout: float) -> list[object]:
        body = {"query": query, "texts": list(texts), "raw_scores": True, "truncate": True}
        try:
            answer = self._service.ask(f"{MODELS}/rerank", body, timeout)
            scores = {item["index"]: item["score"] for item in answer}
            return [scores[place] for place in range(len(texts))]
        except ModelServiceError as error:
            raise RerankerError(f"The service at {self._service.shown} {error}.") from error
        except (KeyError, TypeError) as error:
            raise RerankerError(
                f"The service at {self._service.shown} answered with something other than scores."
            ) from error


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts split into requests within the limits."""
    start = characters = 0
    for place, text in enumerate(texts):
        if place > start and (place - start == MAX_TEXTS or characters + len(text) > MAX_CHARACTERS):
            yield texts[start:place]
            start, characters = place, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]
