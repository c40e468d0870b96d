"""Routes of models: what the service has loaded does its work for others, the command line among them."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated, TypeVar

from fastapi import APIRouter
from starlette.requests import Request

from pgrecall import __version__
from pgrecall.errors import InvalidInput
from pgrecall.faces.http.bodies import (
    EmbedderOffer,
    Offered,
    RerankerOffer,
    TextScore,
    TextsToEmbed,
    TextsToRerank,
)
from pgrecall.faces.http.request_guard import LendingRoute
from pgrecall.faces.http.schemas import Given, shown, shown_many
from pgrecall.faces.http.service import service_of
from pgrecall.search.embed.embedder import Embedder, Vectors
from pgrecall.search.lending.service_client import embedder_identity, reranker_identity
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome
from pgrecall.settings import Settings

MOST_TEXTS = 1000
"""In one request."""

M = TypeVar("M")

router = APIRouter(prefix="/v1/models", route_class=LendingRoute, tags=["models"])


@router.get("", response_model=shown(Offered))
async def models(request: Request) -> Offered:
    """The models of this service. Nothing that the caller remembers is looked at."""
    service = service_of(request)
    embedder, reranker = service.memory.embedder, service.memory.reranker
    return Offered(
        __version__,
        service.warm,
        None if embedder is None else await asyncio.to_thread(_offer, embedder, service.settings),
        None
        if reranker is None
        else RerankerOffer(reranker.name, reranker_identity(service.settings), reranker.scale),
    )


def _offer(embedder: Embedder, settings: Settings) -> EmbedderOffer:
    """Its dimensions may take a model, or an endpoint, to be known."""
    return EmbedderOffer(embedder.name, embedder_identity(settings), embedder.dimensions)


@router.post("/embed", response_model=Vectors)
async def embed(request: Request, asked: Annotated[TextsToEmbed, Given(TextsToEmbed)]) -> Vectors:
    """A unit vector for each text, in their order."""
    embedder = _there(service_of(request).memory.embedder, "embedder")
    if not asked.normalize:
        raise InvalidInput("These vectors have unit length.", hint="Leave normalize out, or give true.")
    texts = (asked.inputs,) if isinstance(asked.inputs, str) else asked.inputs
    return await asyncio.to_thread(embedder.embed, _few(texts))


@router.post("/rerank", response_model=shown_many(TextScore))
async def rerank(
    request: Request, asked: Annotated[TextsToRerank, Given(TextsToRerank)]
) -> tuple[TextScore, ...]:
    """A score for each text, best first: a logit with `raw_scores`, else a probability."""
    service = service_of(request)
    reranker = _there(service.memory.reranker, "reranker")
    if asked.model not in (None, reranker.name):
        raise InvalidInput(
            f"This service has the reranker {reranker.name}, not {asked.model}.", hint="Leave model out."
        )
    texts, size = _few(asked.texts), service.settings.reranker_pairs
    found: list[TextScore] = []
    for start in range(0, len(texts), size):
        candidates = [
            RerankCandidate(start + place, text) for place, text in enumerate(texts[start : start + size])
        ]
        outcome: RerankOutcome = await asyncio.to_thread(
            reranker.rerank, asked.query, candidates, top_n=len(candidates)
        )
        found += [TextScore(one.id, one.score) for one in outcome.scores]
    best = sorted(found, key=lambda one: (-one.score, one.index))
    return tuple(one if asked.raw_scores else TextScore(one.index, _probability(one.score)) for one in best)


def _there(model: M | None, noun: str) -> M:
    if model is None:
        raise InvalidInput(
            f"This service has no {noun}.", hint=f"Start it with PGRECALL_{noun.upper()} set to one."
        )
    return model


def _few(texts: tuple[str, ...]) -> tuple[str, ...]:
    if len(texts) > MOST_TEXTS:
        raise InvalidInput(
            f"{len(texts):,} texts are too many for one request.",
            hint=f"Send up to {MOST_TEXTS:,} at a time.",
        )
    return texts


def _probability(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))
