"""The target of a calibration: terms, coefficients in force, and the assessment of a fit. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.nouns.calibration.models import Calibration, Fitted, JudgedQuery, RelevanceModel, RerankModel
from pgrecall.nouns.search.models import Hit, SearchRequest, SearchResult
from pgrecall.search.calibration.examples import Examples
from pgrecall.search.calibration.fitting import (
    Fitter,
    Terms,
    fit,
    fit_relevance,
    held_out,
    relevance_row,
    relevance_terms,
    rerank_terms,
)
from pgrecall.search.calibration.reliability import agreement_of, gain, reliability

CANDIDATES = 50
"""Hits of each query that are examples. For more, search would gather otherwise than it does."""

RERANK_SECONDS = 600.0
"""A long deadline for the reranker, because nobody waits for an answer."""


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What to fit, to what, and when to store it; ``progress`` is called with 1 for each query searched.

    With ``reranker`` it is how the scores of the client's reranker are read, else the profile.
    """

    qrels: Path | Sequence[JudgedQuery]
    profile: str
    reranker: bool
    dry_run: bool
    force: bool
    progress: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class FitTarget:
    """The target of a fit: its terms, the coefficients in force, and the design row of a candidate.

    ``profile`` is the profile of the searches.
    """

    fitted: Fitted
    name: str
    profile: str
    terms: Terms
    fitter: Fitter
    current: Mapping[str, float]
    row: Callable[[Mapping[str, float]], list[float]]


def relevance_target(profile: str, models: Sequence[RelevanceModel], author_weight: float) -> FitTarget:
    """A profile's coefficients. The ridge pulls towards those that ship, which never saw these queries.

    ``models`` are those of the profile, the one in force first.
    """
    if not models:
        raise InvalidInput(
            f"There is no profile {profile!r}.", hint="`SELECT * FROM recall.relevance_models()` lists them."
        )
    current = models[0]
    if current.form != "logistic":
        raise InvalidInput(
            f"Profile {profile} is a fixed formula ({current.form}) and has no coefficients to fit.",
            hint="Calibrate another profile.",
        )
    shipped = next((model for model in models if model.source == "database"), current)
    row = partial(relevance_row, graph=current.coefficients["graph"], author=author_weight)
    terms = relevance_terms(shipped.coefficients)
    return FitTarget("relevance", profile, profile, terms, fit_relevance, current.coefficients, row)


def rerank_target(reranker: str, profile: str, models: Sequence[RerankModel]) -> FitTarget:
    """The target for a reranker: its score combined with the relevance of the profile."""
    mine = [model for model in models if model.reranker == reranker]
    known = [*mine, *(model for model in models if model.reranker == "*")]
    shipped = next(model for model in known if model.source == "database")
    terms = rerank_terms(shipped.coefficients)
    return FitTarget("rerank", reranker, profile, terms, fit, known[0].coefficients, _no_row)


def _no_row(_: Mapping[str, float]) -> list[float]:
    raise AssertionError("the rows of a reranker need two searches: reranked_rows")


def plain(request: SearchRequest, profile: str) -> SearchRequest:
    """The request as any search, except that vitality has no weight and nothing is logged as shown."""
    return replace(
        request,
        k=CANDIDATES,
        profile=profile,
        vitality_mode="off",
        min_relevance=0.0,
        explain=True,
        log=False,
        plan=False,
        rerank=False,
    )


def reranked_rows(fused: SearchResult, reread: SearchResult, query: str) -> list[tuple[Hit, list[float]]]:
    """The candidates the reranker has read, each with its logit and that of its relevance without it."""
    if reread.hits and not reread.reranked:
        raise RerankerError(
            f"No candidate of {query[:100]!r} was read: {'; '.join(reread.skipped)}.",
            hint="Nothing was stored.",
        )
    scores = {hit.id: hit.reranked.score for hit in reread.hits if hit.reranked is not None}
    return [
        (hit, [1.0, scores[hit.id], hit.explanation["relevance"]["logit"]])
        for hit in fused.hits
        if hit.id in scores
    ]


def assess(target: FitTarget, examples: Examples) -> Calibration:
    """Coefficients fitted to all examples, and how those fitted without each query do on it."""
    terms, current = target.terms, target.current
    coefficients = target.fitter(examples, terms)
    before = terms.log_odds(examples.design, terms.values(current))
    after = held_out(examples, terms, target.fitter)
    gained, low, high = gain(examples, before, after)
    return Calibration(
        fitted=target.fitted,
        name=target.name,
        queries=len(np.unique(examples.query)),
        candidates=len(examples),
        relevant=int(examples.relevant.sum()),
        current={name: current[name] for name in terms.names},
        coefficients=terms.named(coefficients),
        held_at_zero=terms.at_zero(coefficients),
        before=agreement_of(examples, before),
        after=agreement_of(examples, after),
        gain=gained,
        gain_low=low,
        gain_high=high,
        reliability_before=reliability(examples, before),
        reliability_after=reliability(examples, after),
    )


def describe(done: Calibration) -> str:
    """The origin of coefficients, as stored with them."""
    return (
        f"{done.queries} judged queries, {done.candidates} candidates, {done.relevant} relevant; "
        f"held-out log loss {done.after.log_loss:.4f}, before {done.before.log_loss:.4f}"
    )
