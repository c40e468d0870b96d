"""Which models of a running service are those that would have to be loaded here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall.search.embed.local import DEFAULT_DIMENSIONS, DEFAULT_MODEL
from pgrecall.search.lending.service_client import MODELS, Lender, NotLent
from pgrecall.settings import Settings


def embedder_identity(settings: Settings) -> str | None:
    """What two processes have in common whose embedders give the same vectors; None where there is nothing
    to lend: another endpoint is asked, or none is wanted. A digest: it tells nobody of folders."""
    match settings.embedder:
        case "local":
            return _digest("local", _source(settings.embedder_model, DEFAULT_MODEL))
        case "hash":
            return _digest("hash", settings.embedder_dimensions or 64)
        case _:
            return None


def reranker_identity(settings: Settings) -> str | None:
    """The same for rerankers and the scores they give."""
    if settings.reranker not in ("local", "onnx"):
        return None
    return _digest(
        settings.reranker,
        _source(settings.reranker_model, ""),
        settings.reranker_tokens,
        settings.reranker_precision,
        settings.reranker_scale or "logit",
    )


def _source(model: str | None, default: str) -> str:
    """A model by its folder, wherever the process stands, or by its name."""
    if not model or model == f"sentence-transformers/{DEFAULT_MODEL}":
        return default
    folder = Path(model).expanduser()
    return str(folder.resolve()) if folder.is_dir() else model


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Offer:
    """What a service lends: names, lengths and scales. None where it has no such model."""

    version: str
    ready: bool
    embedder: Mapping[str, Any] | None
    reranker: Mapping[str, Any] | None


def offer_of(lender: Lender, patience: float) -> Offer:
    """Asks a service what it lends.

    Raises:
        NotLent: it does not answer, or not like a service of ours.
    """
    answer = lender.ask(MODELS, None, patience)
    try:
        offer = Offer(answer["version"], answer["ready"], answer["embedder"], answer["reranker"])
        for model, number in ((offer.embedder, "dimensions"), (offer.reranker, "scale")):
            _ = model and (model["name"], model["identity"], model[number])
    except (KeyError, TypeError) as error:
        raise NotLent("is no service of pgrecall, or of another version") from error
    return offer


def fits_embedder(settings: Settings, offer: Offer) -> bool:
    """Whether the embedder offered gives the vectors that the one named by the settings would give."""
    model = offer.embedder
    wanted = embedder_identity(settings)
    if wanted is None or model is None or model["identity"] != wanted:
        return False
    length = model["dimensions"]
    known = settings.embedder_dimensions or _known_dimensions(settings)
    return type(length) is int and 0 < length <= 16_384 and known in (None, length)


def fits_reranker(settings: Settings, offer: Offer) -> bool:
    """The same for the reranker."""
    model = offer.reranker
    wanted = reranker_identity(settings)
    return wanted is not None and model is not None and model["identity"] == wanted


def _known_dimensions(settings: Settings) -> int | None:
    if settings.embedder == "hash":
        return 64
    return DEFAULT_DIMENSIONS if _source(settings.embedder_model, DEFAULT_MODEL) == DEFAULT_MODEL else None
