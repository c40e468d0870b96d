"""Routes that lend the service's loaded models, in the form of Text Embeddings Inference."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import APIRouter
from starlette.requests import Request

from pgrecall import __version__
from pgrecall.errors import InvalidInput
from pgrecall.faces.http.request_handling import ModelRoute
from pgrecall.faces.http.schemas import Body, response_list, response_model
from pgrecall.faces.http.service import get_service
from pgrecall.search.embed.embedder import Embedder, Vectors, embed_with_tokens
from pgrecall.search.lending.service_client import embedder_identity, reranker_identity
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, Scale
from pgrecall.settings import Settings

MAX_TEXTS = 1000
"""Texts in one request."""

MAX_TOKENS = 32
"""Tokens of a text whose signs are returned."""

M = TypeVar("M")

router = APIRouter(prefix="/v1/models", route_class=ModelRoute, tags=["models"])


@dataclass(frozen=True, slots=True)
class LentEmbedder:
    """An embedder that clients may use.

    Attributes:
        name: stored with each vector.
        identity: embedders with the same identity give the same vectors; null when it cannot be lent.
        dimensions: length of each vector.
    """

    name: str
    identity: str | None
    dimensions: int


@dataclass(frozen=True, slots=True)
class LentReranker:
    """A reranker that clients may use.

    Attributes:
        name: the name that coefficients are fitted for.
        identity: rerankers with the same identity give the same scores; null when it cannot be lent.
        scale: scale of the model's scores.
    """

    name: str
    identity: str | None
    scale: Scale


@dataclass(frozen=True, slots=True)
class LentModels:
    """The models of a service.

    Attributes:
        version: version of pgrecall.
        ready: whether the models are loaded.
        embedder: null without one.
        reranker: null without one.
    """

    version: str
    ready: bool
    embedder: LentEmbedder | None
    reranker: LentReranker | None


@dataclass(frozen=True, slots=True)
class EmbedBody:
    """Texts to embed.

    Attributes:
        inputs: one text, or up to 1,000.
        normalize: must be true; vectors have unit length.
        truncate: has no effect; long texts are always truncated.
    """

    inputs: str | tuple[str, ...]
    normalize: bool = True
    truncate: bool = True


@dataclass(frozen=True, slots=True)
class EmbedTokensBody:
    """Texts to embed, with the signs of their tokens.

    Attributes:
        inputs: up to 1,000 texts.
        most: maximum number of tokens of a text, 1 to 32.
    """

    inputs: tuple[str, ...]
    most: int = 32


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """What the embedder makes of a text.

    Attributes:
        vector: of unit length.
        tokens: the signs of each token, as hexadecimal digits; null from an embedder that gives none.
    """

    vector: list[float]
    tokens: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RerankBody:
    """A question and texts to score.

    Attributes:
        query: the question.
        texts: up to 1,000 texts.
        raw_scores: return logits instead of probabilities.
        truncate: has no effect; long texts are always truncated.
        model: the reranker's name, if given.
    """

    query: str
    texts: tuple[str, ...]
    raw_scores: bool = False
    truncate: bool = True
    model: str | None = None


@dataclass(frozen=True, slots=True)
class TextScore:
    """How well a text answers the question.

    Attributes:
        index: position among the texts, from 0.
        score: a logit or a probability.
    """

    index: int
    score: float


@router.get("", response_model=response_model(LentModels))
async def models(request: Request) -> LentModels:
    """Return the models of this service. No memory is read."""
    service = get_service(request)
    embedder, reranker = service.memory.embedder, service.memory.reranker
    return LentModels(
        __version__,
        service.models_loaded,
        None if embedder is None else await asyncio.to_thread(_lent_embedder, embedder, service.settings),
        None
        if reranker is None
        else LentReranker(reranker.name, reranker_identity(service.settings), reranker.scale),
    )


def _lent_embedder(embedder: Embedder, settings: Settings) -> LentEmbedder:
    """Reading the dimensions may load a model or call an endpoint."""
    return LentEmbedder(embedder.name, embedder_identity(settings), embedder.dimensions)


@router.post("/embed", response_model=Vectors)
async def embed(request: Request, body: Annotated[EmbedBody, Body(EmbedBody)]) -> Vectors:
    """Return a unit vector for each text, in order."""
    embedder = _require_model(get_service(request).memory.embedder, "embedder")
    if not body.normalize:
        raise InvalidInput("These vectors have unit length.", hint="Leave normalize out, or set it to true.")
    texts = (body.inputs,) if isinstance(body.inputs, str) else body.inputs
    return await asyncio.to_thread(embedder.embed, _require_few(texts))


@router.post("/embed-tokens", response_model=response_list(EmbeddedText))
async def embed_tokens(
    request: Request, body: Annotated[EmbedTokensBody, Body(EmbedTokensBody)]
) -> tuple[EmbeddedText, ...]:
    """Return a unit vector and the signs of the tokens for each text, in order."""
    embedder = _require_model(get_service(request).memory.embedder, "embedder")
    if not 1 <= body.most <= MAX_TOKENS:
        raise InvalidInput(f"most is {body.most}; it must lie between 1 and {MAX_TOKENS}.")
    made = await asyncio.to_thread(embed_with_tokens, embedder, _require_few(body.inputs), body.most)
    return tuple(
        EmbeddedText(one.vector, None if one.tokens is None else tuple(signs.hex() for signs in one.tokens))
        for one in made
    )


@router.post("/rerank", response_model=response_list(TextScore))
async def rerank(request: Request, body: Annotated[RerankBody, Body(RerankBody)]) -> tuple[TextScore, ...]:
    """Return a score for each text, best first: a logit with `raw_scores`, else a probability."""
    service = get_service(request)
    reranker = _require_model(service.memory.reranker, "reranker")
    if body.model not in (None, reranker.name):
        raise InvalidInput(
            f"This service has the reranker {reranker.name}, not {body.model}.", hint="Leave model out."
        )
    texts, size = _require_few(body.texts), service.settings.reranker_pairs
    scores: list[TextScore] = []
    for start in range(0, len(texts), size):
        candidates = [
            RerankCandidate(start + position, text)
            for position, text in enumerate(texts[start : start + size])
        ]
        outcome: RerankOutcome = await asyncio.to_thread(
            reranker.rerank, body.query, candidates, top_n=len(candidates)
        )
        scores += [TextScore(one.id, one.score) for one in outcome.scores]
    best = sorted(scores, key=lambda one: (-one.score, one.index))
    return tuple(one if body.raw_scores else TextScore(one.index, _sigmoid(one.score)) for one in best)


def _require_model(model: M | None, noun: str) -> M:
    if model is None:
        raise InvalidInput(
            f"This service has no {noun}.", hint=f"Start it with PGRECALL_{noun.upper()} set to one."
        )
    return model


def _require_few(texts: tuple[str, ...]) -> tuple[str, ...]:
    if len(texts) > MAX_TEXTS:
        raise InvalidInput(
            f"{len(texts):,} texts are too many for one request.", hint=f"Send at most {MAX_TEXTS:,}."
        )
    return texts


def _sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))
