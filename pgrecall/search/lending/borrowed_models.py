"""Models of a running service in place of those that would have to be loaded here: the same, only warm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pgrecall.errors import EmbedderError, RerankerError
from pgrecall.search.embed.embedder import Embedder, make_embedder
from pgrecall.search.embed.vectors import Vectors, check_vectors
from pgrecall.search.lending.service_client import MODELS, Lender, NotLent
from pgrecall.search.rerank.batches import Rules, Scorer, rerank_in_batches
from pgrecall.search.rerank.local import CHARACTERS_PER_TOKEN
from pgrecall.search.rerank.reranker import Reranker, make_reranker
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, Scale
from pgrecall.settings import Settings

MOST_TEXTS = 64
MOST_CHARACTERS = 1_000_000
"""Of one request, so that it stays within what a service takes."""

PATIENCE = 10.0
"""Seconds for an answer, and one more for every so many texts: about as long as loading a model takes."""

_TEXTS_A_SECOND = 8
_LATER = 0.5  # seconds after a deadline: by then nobody waits for the answer, and nobody hears of it
_PAIRS = 25  # a request; as many as a local reranker sorts by length together

Tell = Callable[[str], None]


class BorrowedEmbedder:
    """The embedder of a service. One that fails is not asked again: the settings' own is loaded then, and
    ``tell`` hears why."""

    def __init__(self, lender: Lender, offer: Mapping[str, Any], settings: Settings, tell: Tell) -> None:
        self.name: str = str(offer["name"])
        self.dimensions: int = offer["dimensions"]
        self._lender = lender
        self._settings = settings
        self._tell = tell
        self._own: Embedder | None = None

    def __repr__(self) -> str:
        return f"BorrowedEmbedder({self._lender.shown!r}, {self.name!r})"

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = []
        for part in _parts(texts):
            vectors += self._part(part)
        return vectors

    def _part(self, texts: Sequence[str]) -> Vectors:
        if self._own is None:
            try:
                return self._asked(texts)
            except NotLent as error:
                self._tell(
                    f"The service at {self._lender.shown} {error}; its embedder is loaded here instead."
                )
                self._own = make_embedder(self._settings)
                assert self._own is not None  # there was one to borrow
        return self._own.embed(texts)

    def _asked(self, texts: Sequence[str]) -> Vectors:
        body = {"inputs": list(texts), "normalize": True, "truncate": True}
        answer = self._lender.ask(f"{MODELS}/embed", body, PATIENCE + len(texts) / _TEXTS_A_SECOND)
        if not isinstance(answer, list) or not all(isinstance(vector, list) for vector in answer):
            raise NotLent("answered with something that is not vectors")
        try:
            return check_vectors(answer, len(texts), self.dimensions, self.name)
        except EmbedderError as error:
            raise NotLent(f"gave no usable vectors ({error.message.rstrip('.')})") from error


class BorrowedReranker:
    """The reranker of a service, with the same fallback."""

    def __init__(self, lender: Lender, offer: Mapping[str, Any], settings: Settings, tell: Tell) -> None:
        self.name: str = str(offer["name"])
        self.scale: Scale = "probability" if offer["scale"] == "probability" else "logit"
        self._lender = lender
        self._settings = settings
        self._tell = tell
        self._own: Reranker | None = None

    def __repr__(self) -> str:
        return f"BorrowedReranker({self._lender.shown!r}, {self.name!r})"

    def rerank(
        self, query: str, candidates: Sequence[RerankCandidate], *, top_n: int, deadline: float | None = None
    ) -> RerankOutcome:
        began = time.monotonic()
        if self._own is None:
            try:
                return self._asked(query, candidates, top_n, deadline)
            except RerankerError as error:
                self._tell(f"{error.message} Its reranker is loaded here instead.")
                self._own = make_reranker(self._settings)
                assert self._own is not None  # there was one to borrow
        left = None if deadline is None else deadline - (time.monotonic() - began)
        return self._own.rerank(query, candidates, top_n=top_n, deadline=left)

    def _asked(
        self, query: str, candidates: Sequence[RerankCandidate], top_n: int, deadline: float | None
    ) -> RerankOutcome:
        settings = self._settings
        rules = Rules(
            self.name,
            "logit",
            pairs=settings.reranker_pairs,
            group=_PAIRS,
            characters=CHARACTERS_PER_TOKEN * settings.reranker_tokens,
        )

        def score(question: str, texts: Sequence[str]) -> object:
            return self._scores(
                question, texts, PATIENCE + len(texts) if deadline is None else deadline + _LATER
            )

        return rerank_in_batches(
            rules, lambda: Scorer(score, _PAIRS), query, candidates, top_n=top_n, deadline=deadline
        )

    def _scores(self, query: str, texts: Sequence[str], patience: float) -> list[object]:
        body = {"query": query, "texts": list(texts), "raw_scores": True, "truncate": True}
        try:
            answer = self._lender.ask(f"{MODELS}/rerank", body, patience)
            scores = {item["index"]: item["score"] for item in answer}
            return [scores[place] for place in range(len(texts))]
        except NotLent as error:
            raise RerankerError(f"The service at {self._lender.shown} {error}.") from error
        except (KeyError, TypeError) as error:
            raise RerankerError(
                f"The service at {self._lender.shown} answered with something other than scores."
            ) from error


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in requests that a service takes."""
    start = characters = 0
    for place, text in enumerate(texts):
        if place > start and (place - start == MOST_TEXTS or characters + len(text) > MOST_CHARACTERS):
            yield texts[start:place]
            start, characters = place, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]
