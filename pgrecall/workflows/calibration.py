"""From judged queries to coefficients: search for each, fit, compare, and store what predicts better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from pgrecall.errors import EmbedderError, InvalidInput, RerankerError
from pgrecall.importers.qrels import read_qrels
from pgrecall.models.calibration import Calibration, Fitted, JudgedQuery, RelevanceModel, RerankModel
from pgrecall.models.search import Hit, SearchRequest, SearchResult
from pgrecall.operations import calibration, settings
from pgrecall.operations.status import status
from pgrecall.search.calibration.examples import Examples, JudgedCandidates
from pgrecall.search.calibration.fitting import (
    Fitter,
    Terms,
    fit,
    fit_relevance,
    held_out,
    relevance_row,
    relevance_terms,
    require_calibration,
    rerank_terms,
)
from pgrecall.search.calibration.reliability import agreement_of, gain, reliability
from pgrecall.workflows.base import Aside, Flow
from pgrecall.workflows.search import Abilities, search

CANDIDATES = 50
"""Hits of each question that are examples. For more, search would gather otherwise than it does."""
RERANK_SECONDS = 600.0
"""The reranker may take its time: nobody waits for an answer."""

Ask = Callable[[SearchRequest], Flow[list[tuple[Hit, list[float]]]]]
"""The candidates of a question, each with its row of the design."""


@dataclass(frozen=True, slots=True)
class CalibrationRequest:
    """What to fit, to what, and when to store it; ``progress`` is called with 1 for each question asked.

    With ``reranker`` it is how the scores of the driver's reranker are read, else the profile.
    """

    qrels: Path | Sequence[JudgedQuery]
    profile: str
    reranker: bool
    dry_run: bool
    force: bool
    progress: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is fitted: its terms and how, the coefficients in force, and how to get candidates."""

    fitted: Fitted
    name: str
    terms: Terms
    fitter: Fitter
    current: Mapping[str, float]
    ask: Ask


def calibrate(request: CalibrationRequest, embedder: str | None, abilities: Abilities) -> Flow[Calibration]:
    """Fits what the request asks for, and stores it as the request says."""
    if request.dry_run and request.force:
        raise InvalidInput("A dry run stores nothing, and force stores.", hint="Give one of them.")
    require_calibration()
    qrels = request.qrels
    judged = (yield Aside(partial(read_qrels, qrels))) if isinstance(qrels, Path) else qrels
    space = yield from _vector_space(embedder)
    if request.reranker:
        subject = yield from _reranker(request.profile, abilities)
    else:
        subject = yield from _relevance(request.profile, abilities)
    done = yield from _calibrated(subject, judged, request)
    if done.stored and not request.reranker:
        yield calibration.store_relevance_model(done.name, space, done.coefficients, _told(done))
    elif done.stored:
        yield calibration.store_rerank_model(done.name, done.coefficients, _told(done))
    return done


def _vector_space(embedder: str | None) -> Flow[str | None]:
    """The embedder of this database, which must be the one that embeds the questions."""
    known: str | None = (yield status(None)).embedder
    if known is not None and known != embedder:
        raise InvalidInput(
            f"The memories are embedded with {known}, and questions with {embedder or 'nothing'}.",
            hint="Calibrate with the embedder that searches use.",
        )
    return known


def _relevance(profile: str, abilities: Abilities) -> Flow[Subject]:
    """A profile's coefficients. The ridge pulls towards those that ship, which never saw these questions."""
    current, shipped = _models_of(profile, (yield calibration.relevance_models(profile)))
    tuned = {setting.name: setting.value for setting in (yield settings.settings())}
    row = partial(relevance_row, graph=current.coefficients["graph"], author=tuned["search.author_weight"])

    def ask(question: SearchRequest) -> Flow[list[tuple[Hit, list[float]]]]:
        result = yield from _answers(_plain(question, profile), abilities)
        return [(hit, row(hit.explanation["relevance"])) for hit in result.hits]

    terms = relevance_terms(shipped.coefficients)
    return Subject("relevance", profile, terms, fit_relevance, current.coefficients, ask)


def _models_of(profile: str, models: Sequence[RelevanceModel]) -> tuple[RelevanceModel, RelevanceModel]:
    """The model in force, and the one that ships."""
    if not models:
        raise InvalidInput(
            f"There is no profile {profile!r}.", hint="`SELECT * FROM recall.relevance_models()` lists them."
        )
    if models[0].form != "logistic":
        raise InvalidInput(
            f"The profile {profile} is a fixed formula ({models[0].form}): it has nothing to fit.",
            hint="Calibrate another profile.",
        )
    return models[0], next((model for model in models if model.source == "database"), models[0])


def _reranker(profile: str, abilities: Abilities) -> Flow[Subject]:
    """How a reranker's score is read beside the relevance that the profile gives."""
    if abilities.reranker is None:
        raise InvalidInput("No reranker is configured.", hint="Set PGRECALL_RERANKER.")
    current, shipped = _readings_of(abilities.reranker, (yield calibration.rerank_models()))
    terms = rerank_terms(shipped.coefficients)
    ask = partial(_reread, profile=profile, abilities=abilities)
    return Subject("rerank", abilities.reranker, terms, fit, current.coefficients, ask)


def _readings_of(reranker: str, models: Sequence[RerankModel]) -> tuple[RerankModel, RerankModel]:
    """The model in force for this reranker, and the one that ships for it or for any."""
    mine = [model for model in models if model.reranker == reranker]
    known = [*mine, *(model for model in models if model.reranker == "*")]
    return known[0], next(model for model in known if model.source == "database")


def _reread(
    question: SearchRequest, profile: str, abilities: Abilities
) -> Flow[list[tuple[Hit, list[float]]]]:
    """The candidates the reranker has read, each with its logit and that of its relevance without it."""
    request = _plain(question, profile)
    fused = yield from _answers(request, abilities)
    reread = yield from _answers(replace(request, rerank=True, deadline=RERANK_SECONDS), abilities)
    if reread.hits and not reread.reranked:
        raise RerankerError(
            f"No candidate of {question.query[:100]!r} was read: {'; '.join(reread.skipped)}.",
            hint="Nothing was stored.",
        )
    scores = {hit.id: hit.reranked.score for hit in reread.hits if hit.reranked is not None}
    return [
        (hit, [1.0, scores[hit.id], hit.explanation["relevance"]["logit"]])
        for hit in fused.hits
        if hit.id in scores
    ]


def _plain(question: SearchRequest, profile: str) -> SearchRequest:
    """The question as anybody would ask it, but that vitality has no say and nobody is shown anything."""
    return replace(
        question,
        k=CANDIDATES,
        profile=profile,
        vitality_mode="off",
        min_relevance=0.0,
        explain=True,
        log=False,
        rerank=False,
    )


def _answers(request: SearchRequest, abilities: Abilities) -> Flow[SearchResult]:
    result = yield from search(request, abilities)
    for step in result.skipped:
        if abilities.embeds and step.startswith("meaning"):
            raise EmbedderError(
                f"The question {request.query[:100]!r} was not embedded ({step}).", hint="Nothing was stored."
            )
    return result


def _calibrated(
    subject: Subject, judged: Sequence[JudgedQuery], request: CalibrationRequest
) -> Flow[Calibration]:
    """Coefficients fitted to the candidates of all questions that have words."""
    candidates, left_out = JudgedCandidates(), 0
    for entry in judged:
        if entry.question.asked:
            candidates.add(entry, (yield from subject.ask(entry.question)))
        else:
            left_out += 1
        request.progress(1)
    done: Calibration = yield Aside(lambda: _assessed(subject, candidates.examples()))
    stored = request.force or (done.better and not request.dry_run)
    return replace(done, missed=candidates.missed, left_out=left_out, stored=stored)


def _assessed(subject: Subject, examples: Examples) -> Calibration:
    """Coefficients fitted to all examples, and how those fitted without each question do on it."""
    terms, current = subject.terms, subject.current
    coefficients = subject.fitter(examples, terms)
    before = terms.log_odds(examples.design, terms.values(current))
    after = held_out(examples, terms, subject.fitter)
    gained, low, high = gain(examples, before, after)
    return Calibration(
        fitted=subject.fitted,
        name=subject.name,
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


def _told(done: Calibration) -> str:
    return (
        f"{done.queries} judged queries, {done.candidates} candidates, {done.relevant} relevant; "
        f"held-out log loss {done.after.log_loss:.4f}, before {done.before.log_loss:.4f}"
    )
