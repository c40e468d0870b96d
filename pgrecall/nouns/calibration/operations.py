"""SQL calls for fitted coefficients."""

from __future__ import annotations

from collections.abc import Mapping

from pgrecall.encoding import require_text, to_json
from pgrecall.nouns.calibration.models import RelevanceModel, RerankModel
from pgrecall.nouns.operation import Operation, read_bool, rows_of


def relevance_models(profile: str | None = None) -> Operation[tuple[RelevanceModel, ...]]:
    """Lists the relevance models of one or all profiles; by profile, the one in force first."""
    return rows_of("relevance_models", RelevanceModel, profile=profile)


def store_relevance_model(
    profile: str, embedder: str | None, coefficients: Mapping[str, float], fitted_on: str
) -> Operation[None]:
    """Stores coefficients of a profile for the tenant and puts them in force."""
    model = {
        "profile": profile,
        "embedder": embedder,
        "coefficients": dict(coefficients),
        "fitted_on": fitted_on,
    }
    return Operation(
        "SELECT recall.store_relevance_model(%(model)s::jsonb)",
        {"model": to_json(model)},
        lambda _: None,
        repeatable=True,
    )


def reset_relevance_model(profile: str) -> Operation[bool]:
    """Deletes the tenant's own coefficients of a profile; returns whether there were any."""
    require_text(profile, "The profile")
    return Operation(
        "SELECT recall.reset_relevance_model(%(profile)s)",
        {"profile": profile},
        read_bool,
    )


def rerank_models() -> Operation[tuple[RerankModel, ...]]:
    """Lists the rerank models; by reranker, the one in force first."""
    return rows_of("rerank_models", RerankModel)


def store_rerank_model(reranker: str, coefficients: Mapping[str, float], fitted_on: str) -> Operation[None]:
    """Stores coefficients of a reranker for the tenant and puts them in force."""
    model = {"reranker": reranker, "coefficients": dict(coefficients), "fitted_on": fitted_on}
    return Operation(
        "SELECT recall.store_rerank_model(%(model)s::jsonb)",
        {"model": to_json(model)},
        lambda _: None,
        repeatable=True,
    )


def reset_rerank_model(reranker: str) -> Operation[bool]:
    """Deletes the tenant's own coefficients of a reranker; returns whether there were any."""
    require_text(reranker, "The name of the reranker")
    return Operation(
        "SELECT recall.reset_rerank_model(%(reranker)s)",
        {"reranker": reranker},
        read_bool,
    )
